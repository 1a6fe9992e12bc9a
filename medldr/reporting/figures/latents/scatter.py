"""Maps as figures: images as points in panels side by side, with one legend below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    COLOURS,
    GREEN,
    INK,
    LEGEND_LINE,
    MUTED,
    OLIVE,
    ORANGE,
    PINK,
    RED,
    SKY,
    add_legend,
    draw,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS: Final = 4_000
"""Points of one figure; more would make it larger than 400 kB."""
SIDE: Final = 2.35
"""Width and height of a panel, in inches."""
CLASS_COLOURS: Final = COLOURS[:-1]
DOMAIN_COLOURS: Final = (SKY, OLIVE, RED, PINK, GREEN, ORANGE, BLUE, INK)
"""Another order, so that the first domains do not look like the first classes."""
OTHERS: Final = "others"
"""What is left where there are more names than colours."""
LONGEST: Final = 26
"""Letters of a name in a legend."""

Look: TypeAlias = Mapping[str, Any]
Legend: TypeAlias = Sequence[tuple[Look, str]]
"""How each entry is drawn, and what it is."""


class Panel(NamedTuple):
    """One map.

    Attributes:
        title: Above it.
        points: Points ``(N, 2)`` and how they are drawn, one over the other.
        beside: What is said on its left.
        below: What is said below it.
    """

    title: str
    points: Sequence[tuple[NDArray[np.float64], Look]]
    beside: str = ""
    below: str = ""


def points_figure(
    name: str, lines: Sequence[Sequence[Panel]], legend: Legend, *, side: float = SIDE, **words: str
) -> Drawing:
    """Lines of panels, with a legend in as many columns as there is room for.

    Args:
        name: Unique within the page.
        lines: Panels next to each other, line by line.
        legend: What the points are.
        side: Width and height of a panel, in inches.
        words: Title, caption and alternative text.
    """
    width = side * max(map(len, lines))
    columns = max(1, int(width // (0.6 + 0.072 * max(len(text) for _, text in legend))))
    height = (side + 0.15) * len(lines) + LEGEND_LINE * -(-len(legend) // columns)
    paint = partial(_paint, lines=lines, legend=legend, columns=columns)
    return draw(name, paint, size=(width, height), **words)


def _paint(
    figure: Figure, *, lines: Sequence[Sequence[Panel]], legend: Legend, columns: int
) -> None:
    from matplotlib.lines import Line2D

    across = max(map(len, lines))
    for row, panels in enumerate(lines):
        for column, panel in enumerate(panels):
            axes = figure.add_subplot(len(lines), across, row * across + column + 1)
            for xy, look in panel.points:
                if len(xy):
                    axes.plot(xy[:, 0], xy[:, 1], ls="none", **look)
            # Coordinates have no meaning of their own, but distances have.
            axes.set_aspect("equal", adjustable="datalim")
            axes.set(xticks=[], yticks=[], ylabel=panel.beside)
            axes.set_xlabel(panel.below, fontsize=8.5)
            axes.set_title(panel.title, fontsize=9.5)
            axes.margins(0.06)
    marks = [Line2D([], [], **{"ls": "none", **look}) for look, _ in legend]
    add_legend(figure, marks, [text for _, text in legend], columns)


def dot(colour: str, *, unseen: bool = False, size: float = 3.0) -> dict[str, Any]:
    """How an image is drawn: a filled square if its domain was unseen, else an open circle."""
    face, marker = (colour, "s") if unseen else ("none", "o")
    return {"marker": marker, "ms": size, "color": colour, "mfc": face, "mew": 0.7}


def colours_of(names: Sequence[str], colours: Sequence[str]) -> dict[str, str]:
    """The colour of each name; names without a colour of their own are grey.

    Example:
        >>> list(colours_of(["a", "b", "c"], ["#0072b2", "#d55e00"]).values())
        ['#0072b2', '#5c6773', '#5c6773']
    """
    own = len(colours) if len(names) <= len(colours) else len(colours) - 1
    return {name: colours[i] if i < own else MUTED for i, name in enumerate(names)}


def name_colours(kind: str, colours: Mapping[str, str]) -> list[tuple[Look, str]]:
    """Entries of a legend: each colour once, the grey one for all that share it.

    Args:
        kind: ``class`` or ``domain``.
        colours: From `colours_of`.
    """
    texts = {colour: OTHERS if colour == MUTED else name for name, colour in colours.items()}
    return [
        ({"marker": "o", "ms": 6, "color": c, "mfc": c}, f"{kind}: {shorten(text, LONGEST)}")
        for c, text in texts.items()
    ]
