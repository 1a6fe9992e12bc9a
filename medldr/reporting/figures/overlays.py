"""Learning curves of several methods laid over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from medldr.folders.metrics_log import LogRow, series, time_axis
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import COLOURS, DASHES, draw, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves: TypeAlias = Mapping[str, Sequence[Sequence[LogRow]]]
"""Records of `metrics.jsonl` of each run, by method."""
Line: TypeAlias = tuple[list[float], list[float]]

MOST_LINES = 12
"""More curves in one figure cannot be told apart."""

OVERLAYS = (
    ("val/auc", "Validation AUC", "higher is better"),
    ("val/accuracy", "Validation accuracy", "higher is better"),
    ("val/loss", "Validation loss", "lower is better"),
    ("train/loss", "Training loss", "methods add terms of their own, so levels may differ"),
)


def overlay_figures(curves: Curves, column: str = "", number: int = 0) -> list[Drawing]:
    """Learning curves of all methods in one figure per quantity.

    There is one line per run, or one per method, the mean of its runs, where they would be too
    many to tell apart.

    Args:
        curves: Records of each run, by method.
        column: Title of the column of a sweep that these runs belong to.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    drawings = []
    for key, title, hint in OVERLAYS:
        found = {
            method: [points for points in (_points(rows, key) for rows in runs) if points[0]]
            for method, runs in curves.items()
        }
        found = {method: lines for method, lines in found.items() if lines}
        if not found:
            continue
        ends = "; ".join(
            f"{method} ends at " + ", ".join(f"{y[-1]:.3f}" for _, y in lines)
            for method, lines in found.items()
        )
        axis = _axis(curves)
        one = "One line per run, one colour per method"
        if sum(map(len, found.values())) > MOST_LINES:
            found = {method: [_mean(lines)] for method, lines in found.items()}
            one = "One line per method, the mean of its runs as far as all of them went"
        drawings.append(
            draw(
                f"overlay-{key.replace('/', '-')}{f'-{number}' if number else ''}",
                partial(_paint, found=found, axis=axis, title=title),
                title=f"{column}: {title}" if column else title,
                caption=f"{one}; {hint}.",
                alt=f"{title} over training: {ends}.",
                size=(4.6, 3.1 + 0.17 * len(found)),
            )
        )
    return drawings


def _axis(curves: Curves) -> str:
    axes = {time_axis(rows) for runs in curves.values() for rows in runs if rows}
    return axes.pop() if len(axes) == 1 else "step"


def _points(rows: Sequence[LogRow], key: str) -> Line:
    return series(rows, key, time_axis(rows)) if rows else ([], [])


def _mean(lines: Sequence[Line]) -> Line:
    """Mean of curves where all of them have a point.

    Example:
        >>> _mean([([1, 2, 3], [0.0, 1.0, 2.0]), ([1, 2], [1.0, 2.0])])
        ([1, 2], [0.5, 1.5])
    """
    values = [dict(zip(x, y, strict=True)) for x, y in lines]
    shared = [x for x in lines[0][0] if all(x in found for found in values)]
    return shared, [fmean(found[x] for found in values) for x in shared]


def _paint(figure: Figure, found: Mapping[str, Sequence[Line]], axis: str, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes: Axes = figure.add_subplot()
    for place, (method, lines) in enumerate(found.items()):
        for i, (x, y) in enumerate(lines):
            # After the last colour the dashes shift, so that no two methods look the same.
            dash = DASHES[(place + place // len(COLOURS)) % len(DASHES)]
            axes.plot(
                x, y, dash,
                color=COLOURS[place % len(COLOURS)],
                marker="o" if len(x) < 4 else None, ms=4,
                lw=1.8 if len(lines) == 1 else 1.1,
                label=method if i == 0 else None,
            )  # fmt: skip
    axes.set_xlabel(axis)
    axes.set_ylabel(title.lower().replace("auc", "AUC"))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.margins(x=0.03)
    legend_below(axes, columns=1)
