"""Learning curves of several methods in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from medldr.folders.metrics_log import LogRow, series, time_axis, while_training
from medldr.metrics import METRICS
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import add_tips, draw_axes, time_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line: TypeAlias = tuple[list[float], list[float]]

MOST_LINES = 12
"""More curves in one figure cannot be distinguished."""

OVERLAYS = (
    ("val/auc", "Validation AUC", "higher is better"),
    ("val/accuracy", "Validation accuracy", "higher is better"),
    ("val/loss", "Validation loss", "lower is better"),
    ("train/loss", "Training loss", "methods add their own loss terms, so levels may differ"),
)


def overlay_figures(
    curves: Mapping[str, Sequence[Sequence[LogRow]]],
    styles: Mapping[str, Mapping[str, Any]],
    column: str = "",
    number: int = 0,
) -> list[Drawing]:
    """Learning curves of all methods in one figure per quantity.

    There is one line per run, or where those would be too many to distinguish, one per method:
    the mean of its runs.

    Args:
        curves: Records of `metrics.jsonl` of each run, by method.
        styles: Colour and dashes of each method, from `looks`.
        column: Title of the column of a sweep that these runs belong to.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    curves = {method: [while_training(rows) for rows in runs] for method, runs in curves.items()}
    axes = {time_axis(rows) for runs in curves.values() for rows in runs if rows}
    axis = axes.pop() if len(axes) == 1 else "step"
    drawings = []
    for key, title, hint in OVERLAYS:
        found = {}
        for method, runs in curves.items():
            lines = [series(rows, key, time_axis(rows)) for rows in runs if rows]
            found[method] = [line for line in lines if line[0]]
        found = {method: lines for method, lines in found.items() if lines}
        if not found:
            continue
        ends = "; ".join(
            f"{method} ends at " + ", ".join(f"{y[-1]:.3f}" for _, y in lines)
            for method, lines in found.items()
        )
        one = "One line per run, one colour per method"
        if sum(map(len, found.values())) > MOST_LINES:
            found = {method: [_mean(lines)] for method, lines in found.items()}
            one = "One line per method: the mean of its runs, up to the end of the shortest run"
        drawings.append(
            draw_axes(
                f"overlay-{key.replace('/', '-')}{f'-{number}' if number else ''}",
                partial(_paint, found=found, styles=styles, axis=axis, key=key),
                labels=(axis, title.lower().replace("auc", "AUC")), legend=1,
                title=f"{column}: {title}" if column else title,
                caption=f"{one}; {hint}.",
                alt=f"{title} over training: {ends}.",
                size=(4.6, 3.1 + 0.17 * len(found)),
            )
        )  # fmt: skip
    return drawings


def _mean(lines: Sequence[Line]) -> Line:
    """Mean of curves where all of them have a point.

    Example:
        >>> _mean([([1, 2, 3], [0.0, 1.0, 2.0]), ([1, 2], [1.0, 2.0])])
        ([1, 2], [0.5, 1.5])
    """
    values = [dict(zip(x, y, strict=True)) for x, y in lines]
    shared = [x for x in lines[0][0] if all(x in found for found in values)]
    return shared, [fmean(found[x] for found in values) for x in shared]


def _paint(
    axes: Axes,
    found: Mapping[str, Sequence[Line]],
    styles: Mapping[str, Mapping[str, Any]],
    axis: str,
    key: str,
) -> None:
    known = METRICS.get(key.rsplit("/", 1)[-1])
    for method, lines in found.items():
        style = {**styles[method], "ms": 4, "lw": 1.8 if len(lines) == 1 else 1.1}
        for i, (x, y) in enumerate(lines):
            marker = "o" if len(x) < 4 else None
            axes.plot(x, y, marker=marker, label=method if i == 0 else None, **style)
            shown = [f"{value:.3g}" if known is None else known.with_unit(value) for value in y]
            places = zip(x, shown, strict=True)
            add_tips(axes, x, y, [f"{method}, {axis} {at:g}: {text}" for at, text in places])
    time_ticks(axes)
