"""Numbers of z, z_d and z_r with their intervals: a row per run, in panels side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, VIEWS
from medldr.metric import Metric
from medldr.reporting.document import Drawing
from medldr.reporting.figures import drawing as palette
from medldr.reporting.figures.drawing import add_legend, add_tips, draw, shorten
from medldr.reporting.table import ends_of, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


APART: Final = 0.24
"""Between the views of a row, where rows are 1 apart."""
GUESSING, ALONE, AT_RANDOM = "guessing", "class alone", "neighbours at random"
LINES: Final[dict[str, dict[str, Any]]] = {
    GUESSING: {"color": palette.MUTED, "ls": "--", "lw": 1.2},
    ALONE: {"color": palette.INK, "ls": ":", "lw": 1.5},
    AT_RANDOM: {"color": palette.MUTED, "ls": "--", "lw": 1.2},
}
"""Lines that numbers are compared with."""
WIDEST: Final = 3
"""Panels next to each other."""


class Panel(NamedTuple):
    """One pair of axes, or one column of a table.

    Attributes:
        title: Above it.
        metric: What its numbers are.
        rows: Estimates by view, by run.
        levels: Where the `LINES` are in each row, by run.
    """

    title: str
    metric: Metric
    rows: Mapping[str, Mapping[str, Estimate]]
    levels: Mapping[str, Mapping[str, Estimate]]


def dots_figure(name: str, panels: Sequence[Panel], *, title: str, caption: str) -> Drawing | None:
    """Panels next to each other; None where no number is defined.

    Args:
        name: Unique within the page.
        panels: Those that share their runs share the labels of the rows.
        title: Of the figure.
        caption: How to read it.
    """
    spoken = [text for panel in panels if (text := _spoken(panel))]
    if not spoken:
        return None
    shown = [view for view in VIEWS if any(_held(panel, view) for panel in panels)]
    entries = list(_names(shown, panels))
    columns = -(-len(panels) // -(-len(panels) // WIDEST))  # in lines that are equally full
    lines = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    rows = max(len(panel.rows) for panel in panels)
    height = 0.62 + rows * (0.14 + 0.13 * len(shown))
    # A single panel leaves its legend on two lines; one kind of mark alone needs none.
    legend = 3 if columns > 1 else 2
    below = palette.LEGEND_LINE * -(-len(entries) // legend) if len(entries) > 1 else 0.0
    size = (1.5 + 2.5 * columns if columns > 1 else 4.9, height * len(lines) + 0.25 + below)
    paint = partial(_paint, lines=lines, shown=shown, legend=legend if len(entries) > 1 else 0)
    return draw(name, paint, title=title, caption=caption, alt=" ".join(spoken), size=size)


def _held(panel: Panel, view: str) -> bool:
    held = (row.get(view) for row in panel.rows.values())
    return any(each is not None and each.mean is not None for each in held)


def _spoken(panel: Panel) -> str:
    """The numbers of a panel in words; empty without any."""
    said = [f"{tip}" for _, _, tip in _points(panel, VIEWS)]
    return f"{panel.title}: {'; '.join(said)}." if said else ""


def _points(
    panel: Panel, shown: Sequence[str]
) -> Iterator[tuple[float, tuple[str, Estimate], str]]:
    """Height, view and number, and words of each mark."""
    for middle, (label, row) in enumerate(panel.rows.items()):
        there = [view for view in shown if view in row]
        for place, view in enumerate(there):
            if row[view].mean is not None:
                at = middle + APART * (place - (len(there) - 1) / 2)
                words = f"{label}, {VIEW_TITLES[view]} {number_text(row[view], panel.metric)}"
                yield at, (view, row[view]), words


def _paint(
    figure: Figure, *, lines: Sequence[Sequence[Panel]], shown: Sequence[str], legend: int
) -> None:
    drawn = figure.subplots(len(lines), max(map(len, lines)), squeeze=False)
    for axes, panels in zip(drawn, lines, strict=True):
        for place, each in enumerate(axes):
            if place >= len(panels):
                each.set_axis_off()
                continue
            _panel(each, panels[place], shown)
            if place and list(panels[place].rows) == list(panels[0].rows):
                each.set_yticklabels([])
    if legend:
        from matplotlib.lines import Line2D

        names = _names(shown, [panel for line in lines for panel in line])
        marks = {name: Line2D([], [], **look) for name, look in names.items()}
        add_legend(figure, list(marks.values()), list(marks), legend)


def _panel(axes: Axes, panel: Panel, shown: Sequence[str]) -> None:
    factor = 100.0 if panel.metric.percent else 1.0
    for middle, label in enumerate(panel.rows):
        for name, level in panel.levels.get(label, {}).items():
            if level.mean is not None:
                ends = [middle - 0.5, middle + 0.5]
                axes.plot([factor * level.mean] * 2, ends, **LINES[name])
    points = list(_points(panel, shown))
    for at, (view, held), _ in points:
        if ends := ends_of(held, factor):
            axes.plot(ends, [at, at], "-", color=VIEW_LOOKS[view]["color"], lw=1.4)
        axes.plot([factor * (held.mean or 0.0)], [at], **_marker(view))
    means = [factor * (held.mean or 0.0) for _, (_, held), _ in points]
    add_tips(axes, means, [at for at, _, _ in points], [tip for _, _, tip in points])
    axes.set_yticks(range(len(panel.rows)), [shorten(label, 26) for label in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_title(shorten(panel.title, 32))
    axes.set_xlabel(panel.metric.heading)


def _marker(view: str) -> dict[str, Any]:
    look = VIEW_LOOKS[view]
    size, width = 9.0 if look["marker"] == "*" else 6.0, 2.0 if look["marker"] == "x" else 0.0
    return {**look, "ls": "None", "ms": size, "mew": width, "mfc": look["color"]}


def _names(shown: Sequence[str], panels: Sequence[Panel]) -> dict[str, dict[str, Any]]:
    """How each entry of the legend is drawn."""
    used = {n for panel in panels for levels in panel.levels.values() for n in levels}
    views = {VIEW_TITLES[view]: _marker(view) for view in shown}
    return views | {name: look for name, look in LINES.items() if name in used}


VIEW_TITLES: Final = {ORIGINAL: "original", DEGRADED: "degraded", RESTORED: "restored"}
VIEW_LOOKS: Final[dict[str, dict[str, Any]]] = {
    ORIGINAL: {"color": palette.RED, "marker": "*"},
    DEGRADED: {"color": palette.BLUE, "marker": "x"},
    RESTORED: {"color": palette.GREEN, "marker": "v"},
}
"""Colour and marker of each: a red star, a blue cross and a green triangle."""
