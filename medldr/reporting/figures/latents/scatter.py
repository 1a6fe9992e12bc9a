"""Points of maps: small, few enough for a page, and coloured by class or domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.reporting.figures.drawing import (
    BLUE,
    COLOURS,
    GREEN,
    LEGEND_LINE,
    MUTED,
    OLIVE,
    ORANGE,
    PINK,
    RED,
    SKY,
    add_legend,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS: Final = 4_000
"""Points of one figure; more would make it larger than 400 kB."""
CLASS_COLOURS: Final = COLOURS[:-1]
DOMAIN_COLOURS: Final = (SKY, OLIVE, RED, PINK, GREEN, ORANGE, BLUE)
"""Another order, so that the first domains do not look like the first classes."""
OTHERS: Final = "others"
"""What is left where there are more names than colours."""
LONGEST: Final = 26
"""Letters of a name in a legend."""

Legend: TypeAlias = Sequence[tuple[Mapping[str, Any], str]]
"""How each entry is drawn, and what it is."""


def colours_of(names: Sequence[str], colours: Sequence[str]) -> dict[str, str]:
    """The colour of each name; names without a colour of their own are grey.

    Example:
        >>> list(colours_of(["a", "b", "c"], ["#0072b2", "#d55e00"]).values())
        ['#0072b2', '#5c6773', '#5c6773']
    """
    own = len(colours) if len(names) <= len(colours) else len(colours) - 1
    return {name: colours[i] if i < own else MUTED for i, name in enumerate(names)}


def put_points(
    axes: Axes, xy: NDArray[np.float64], colour: str, *, unseen: bool = False, size: float = 3.0
) -> None:
    """Images as points: filled squares if their domain was unseen in training, else open circles.

    Args:
        axes: Where they are drawn.
        xy: ``(N, 2)``.
        colour: Of all of them.
        unseen: Whether their domain was.
        size: Diameter, in points.
    """
    if len(xy):
        axes.plot(xy[:, 0], xy[:, 1], ls="none", **dot(colour, unseen=unseen, size=size))


def dot(colour: str, *, unseen: bool = False, size: float = 3.0) -> dict[str, Any]:
    """How a point is drawn."""
    face = colour if unseen else "none"
    marker = "s" if unseen else "o"
    return {"marker": marker, "ms": size, "color": colour, "mfc": face, "mew": 0.7}


def bare(axes: Axes, title: str = "", side: str = "") -> None:
    """Axes of a map: its coordinates have no meaning of their own, but its distances have."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xticks=[], yticks=[], ylabel=side)
    axes.set_title(title, fontsize=9.5)
    axes.margins(0.06)


def name_colours(kind: str, colours: Mapping[str, str]) -> list[tuple[dict[str, Any], str]]:
    """Entries of a legend: each colour once, the grey one for all that share it.

    Args:
        kind: ``class`` or ``domain``.
        colours: From `colours_of`.
    """
    own = {name: colour for name, colour in colours.items() if colour != MUTED}
    rest = [(MUTED, OTHERS)] if len(own) < len(colours) else []
    texts = [(colour, name) for name, colour in own.items()] + rest
    return [
        ({"marker": "o", "ms": 6, "color": c, "mfc": c}, f"{kind}: {shorten(text, LONGEST)}")
        for c, text in texts
    ]


def put_legend(figure: Figure, entries: Legend) -> None:
    """A legend at the bottom, in as many columns as the figure is wide enough for."""
    from matplotlib.lines import Line2D

    texts = [text for _, text in entries]
    lines = [Line2D([], [], **{"ls": "none", **look}) for look, _ in entries]
    add_legend(figure, lines, texts, _columns(entries, figure.get_size_inches()[0]))


def legend_height(entries: Legend, width: float) -> float:
    """Height in inches of the legend of a figure of this width."""
    return LEGEND_LINE * -(-len(entries) // _columns(entries, width))


def _columns(entries: Legend, width: float) -> int:
    longest = max((len(text) for _, text in entries), default=0)
    return max(1, int(width // (0.6 + 0.072 * longest)))
