"""Learning curves of several methods in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from medldr.folders.metrics_log import LogRow, series, time_axis, while_training
from medldr.metrics import METRICS
from medldr.reporting.document import Drawing
from medldr.reporting.figures.lines import Curve, lines_figure

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
    """Learning curves of all methods, each the mean of its runs, in one figure per quantity.

    Args:
        curves: Records of `metrics.jsonl` of each run, by method.
        styles: Colour and dashes of each method, from `looks`.
        column: Title of the column of a sweep that these runs belong to.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    logs = {
        method: [shown for rows in runs if (shown := while_training(rows))]
        for method, runs in curves.items()
    }
    axes = {time_axis(rows) for runs in logs.values() for rows in runs}
    axis = axes.pop() if len(axes) == 1 else "step"
    drawings = []
    for key, title, hint in OVERLAYS:
        known = METRICS.get(key.rsplit("/", 1)[-1])
        show = "{:.3g}".format if known is None else known.with_unit
        drawn = []
        for method, runs in logs.items():
            x, y = _mean([series(rows, key, time_axis(rows)) for rows in runs])
            tips = [f"{method}, {axis} {at:g}: {show(of)}" for at, of in zip(x, y, strict=True)]
            if x:
                drawn.append(Curve(x, y, method, dict(styles[method]), tips=tips))
        ends = "; ".join(f"{curve.label} ends at {curve.y[-1]:.3f}" for curve in drawn)
        made = lines_figure(
            f"overlay-{key.replace('/', '-')}{f'-{number}' if number else ''}", drawn,
            time=True, labels=(axis, title.lower().replace("auc", "AUC")), legend=1,
            title=f"{column}: {title}" if column else title,
            caption=f"A line per method: the mean of its runs, up to the end of the shortest; "
            f"{hint}.",
            alt=f"{title} over training: {ends}.",
            size=(4.6, 3.1 + 0.17 * len(drawn)),
        )  # fmt: skip
        drawings += [made] if made else []
    return drawings


def _mean(lines: Sequence[tuple[list[float], list[float]]]) -> tuple[list[float], list[float]]:
    """Mean of curves where all that have any point have one.

    Example:
        >>> _mean([([1, 2, 3], [0.0, 1.0, 2.0]), ([1, 2], [1.0, 2.0]), ([], [])])
        ([1, 2], [0.5, 1.5])
    """
    values = [dict(zip(x, y, strict=True)) for x, y in lines if x]
    shared = [x for x in (values[0] if values else ()) if all(x in found for found in values)]
    return shared, [fmean(found[x] for found in values) for x in shared]
