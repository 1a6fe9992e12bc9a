"""Numbers of z, z_d and z_r with their intervals, one row per run, class or domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.latents_record import VIEWS
from medldr.metric import Metric
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    INK,
    LEGEND_LINE,
    MUTED,
    add_legend,
    add_tips,
    draw,
    shorten,
)
from medldr.reporting.figures.views import VIEW_LOOKS, VIEW_TITLES
from medldr.reporting.table import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART: Final = 0.24
"""Between the views of a row, where rows are 1 apart."""
GUESSING, ALONE, AT_RANDOM = "guessing", "class alone", "neighbours at random"
LINES: Final[dict[str, dict[str, Any]]] = {
    GUESSING: {"color": MUTED, "ls": "--", "lw": 1.2},
    ALONE: {"color": INK, "ls": ":", "lw": 1.5},
    AT_RANDOM: {"color": MUTED, "ls": "--", "lw": 1.2},
}
"""Lines that numbers are compared with."""
WIDEST: Final = 3
"""Panels next to each other."""


class Panel(NamedTuple):
    """One pair of axes.

    Attributes:
        title: Above it.
        rows: Estimates by view, by the label of the row.
        levels: Where the `LINES` are in each row, by label of the row.
    """

    title: str
    rows: Mapping[str, Mapping[str, Estimate]]
    levels: Mapping[str, Mapping[str, float]]


def dots_figure(
    name: str,
    panels: Sequence[Panel],
    metric: Metric,
    *,
    title: str,
    caption: str,
    same: bool = False,
) -> Drawing | None:
    """Panels with the same rows next to each other; None where no number is defined.

    Args:
        name: Unique within the page.
        panels: At least one; those in a line share the labels of their rows.
        metric: What is shown.
        title: Of the figure.
        caption: How to read it.
        same: Whether all panels have the same horizontal axis.
    """
    spoken = [text for panel in panels if (text := _spoken(panel, metric))]
    if not spoken:
        return None
    columns = -(-len(panels) // -(-len(panels) // WIDEST))  # in lines that are equally full
    lines = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    shown = [view for view in VIEWS if any(_held(panel, view) for panel in panels)]
    rows = max(len(panel.rows) for panel in panels)
    height = 0.62 + rows * (0.14 + 0.13 * len(shown))
    # A single panel leaves its legend on two lines.
    legend = 3 if columns > 1 else 2
    entries = _entries(shown, panels)
    below = LEGEND_LINE * -(-len(entries) // legend)
    size = (1.5 + 2.5 * columns if columns > 1 else 4.9, height * len(lines) + 0.25 + below)
    paint = partial(_paint, lines=lines, metric=metric, shown=shown, columns=legend, same=same)
    return draw(name, paint, title=title, caption=caption, alt=" ".join(spoken), size=size)


def _held(panel: Panel, view: str) -> bool:
    held = (row.get(view) for row in panel.rows.values())
    return any(each is not None and each.mean is not None for each in held)


def _text(held: Estimate, metric: Metric) -> str:
    ends = interval(held, metric)
    return f"{metric.show(held.mean or 0.0)}{f' ({ends})' if ends else ''}"


def _spoken(panel: Panel, metric: Metric) -> str:
    """The numbers of a panel in words; empty without any."""
    said = [
        f"{label}, {VIEW_TITLES[view]} {_text(held, metric)}"
        for label, row in panel.rows.items()
        for view, held in row.items()
        if view in VIEW_TITLES and held.mean is not None
    ]
    return f"{panel.title}: {'; '.join(said)}." if said else ""


def _paint(
    figure: Figure,
    *,
    lines: Sequence[Sequence[Panel]],
    metric: Metric,
    shown: Sequence[str],
    columns: int,
    same: bool,
) -> None:
    drawn = figure.subplots(len(lines), max(map(len, lines)), squeeze=False)
    for row, (axes, panels) in enumerate(zip(drawn, lines, strict=True)):
        for place, each in enumerate(axes):
            if place >= len(panels):
                each.set_axis_off()
                continue
            _panel(each, panels[place], metric, shown)
            if place and list(panels[place].rows) == list(panels[0].rows):
                each.set_yticklabels([])
            if row + 1 == len(lines) or place >= len(lines[row + 1]):
                each.set_xlabel(metric.heading)
    if same:
        ends = [axes.get_xlim() for axes in drawn.flat if axes.axison]
        for axes in drawn.flat:
            axes.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    entries = _entries(shown, [panel for line in lines for panel in line])
    add_legend(figure, list(entries.values()), list(entries), columns)


def _panel(axes: Axes, panel: Panel, metric: Metric, shown: Sequence[str]) -> None:
    factor = 100.0 if metric.percent else 1.0
    x: list[float] = []
    y: list[float] = []
    tips: list[str] = []
    for middle, (label, row) in enumerate(panel.rows.items()):
        for name, level in panel.levels.get(label, {}).items():
            axes.plot([factor * level] * 2, [middle - 0.5, middle + 0.5], **LINES[name])
        there = [view for view in shown if view in row]
        for place, view in enumerate(there):
            held = row[view]
            if held.mean is None:
                continue
            at = middle + APART * (place - (len(there) - 1) / 2)
            colour = VIEW_LOOKS[view]["color"]
            if held.low is not None and held.high is not None:
                ends = [factor * held.low, factor * held.high]
                axes.plot(ends, [at, at], "-", color=colour, lw=1.4)
            axes.plot([factor * held.mean], [at], **_marker(view))
            x.append(factor * held.mean)
            y.append(at)
            tips.append(f"{label}, {VIEW_TITLES[view]}: {_text(held, metric)}")
    add_tips(axes, x, y, tips)
    axes.set_yticks(range(len(panel.rows)), [shorten(label, 26) for label in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_title(shorten(panel.title, 32))


def _marker(view: str) -> dict[str, Any]:
    size = 9.0 if VIEW_LOOKS[view]["marker"] == "*" else 6.0
    width = 2.0 if VIEW_LOOKS[view]["marker"] == "x" else 0.0
    colour = VIEW_LOOKS[view]["color"]
    return {**VIEW_LOOKS[view], "ls": "None", "ms": size, "mew": width, "mfc": colour}


def _entries(shown: Sequence[str], panels: Sequence[Panel]) -> dict[str, Any]:
    """Lines of the legend by their text."""
    from matplotlib.lines import Line2D

    used = {n for panel in panels for levels in panel.levels.values() for n in levels}
    views = {VIEW_TITLES[view]: Line2D([], [], **_marker(view)) for view in shown}
    return views | {n: Line2D([], [], **look) for n, look in LINES.items() if n in used}
