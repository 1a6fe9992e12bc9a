"""How training went: the learning curves of a run, and those of several methods."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from medldr.folders.metrics_log import LogRow, series, stage_of, time_axis, while_training
from medldr.folders.run_record import Selection
from medldr.metrics import METRICS
from medldr.reporting.document import Drawing
from medldr.reporting.figures import drawing
from medldr.reporting.figures.drawing import figures_file
from medldr.reporting.figures.lines import Curve, Guide, lines_figure

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


_MARKED = (
    " A dashed vertical line marks where a later stage of training begins, which has its own "
    "weights to train, batches and learning rate."
)


def curves(
    kind: str, rows: Sequence[LogRow], selection: Selection | None, chance: float | None = None
) -> list[Drawing]:
    """Charts of training, only of what was logged.

    A chart of `templates/figures.json` is drawn where one of the keys in its ``needs`` was logged,
    if it has any; a line is left out where the key in its ``unless`` was logged, which shows the
    same or compares better.

    Args:
        kind: ``learning``, or ``latents``: how well a method's further latents are classified.
        rows: Records of `metrics.jsonl`; where there are stages, a line marks where each later one
            begins, and one without training has no point.
        selection: Which weights were chosen.
        chance: Accuracy at chance level, drawn as a line; None to leave it out.
    """
    rows = while_training(rows)
    keys = {key for row in rows for key in row}
    axis = time_axis(rows) if rows else "epoch"
    begins = _begins(rows, axis)
    marks = [
        Guide(x=at, label=f"stage {stage} begins", style={"lw": 0.8, "ls": "--"})
        for stage, at in begins.items()
    ]
    chosen = None if selection is None else selection.epoch if axis == "epoch" else selection.step
    if chosen is not None:
        style = {"color": drawing.PINK, "lw": 1.2, "ls": "-"}
        marks.append(Guide(x=chosen, label=f"selected ({axis} {chosen:g})", style=style))
    of_stages = [f"Stage {stage} begins after {axis} {at:g}." for stage, at in begins.items()]
    found = []
    for chart in figures_file()[kind]:
        needs = chart.get("needs", ())
        lines = [line for line in chart["lines"] if line.get("unless") not in keys]
        drawn = [made for line in lines if (made := _curve(line, rows, axis)) is not None]
        level = chance if chart["y"] == "accuracy" else None
        label, style = f"chance level ({level or 0:.2f})", {"color": drawing.INK}
        guides = [] if level is None else [Guide(y=level, label=label, style=style)]
        said = " ".join([f"{chart['title']} over training.", *(t for _, t in drawn), *of_stages])
        if not needs or not keys.isdisjoint(needs):
            found.append(lines_figure(
                chart["name"], [curve for curve, _ in drawn], guides=[*guides, *marks], time=True,
                log="y" if chart.get("log") else "", labels=(axis, chart["y"]),
                title=chart["title"], alt=said,
                caption=chart["caption"] + (_MARKED if begins else ""),
            ))  # fmt: skip
    return [each for each in found if each is not None]


def _curve(line: dict[str, Any], rows: Sequence[LogRow], axis: str) -> tuple[Curve, str] | None:
    """A curve, and what it shows in words; None where it was not logged."""
    x, y = series(rows, line["key"], axis)
    if not x:
        return None
    show, label = partial(_shown, line["key"]), line["label"]
    tips = [f"{label}, {axis} {at:g}: {show(v)}" for at, v in zip(x, y, strict=True)]
    style = {"color": getattr(drawing, line["colour"].upper()), "ls": line.get("dash", "-")}
    ends = f"from {show(y[0])} at {axis} {x[0]:g} to {show(y[-1])} at {axis} {x[-1]:g}"
    return Curve(x, y, label, style, None, tips), f"{label}: {ends}."


def _begins(rows: Sequence[LogRow], axis: str) -> dict[int, float]:
    """The last place on the axis before each later stage, by its number."""
    return {
        stage_of(row): before[axis]
        for before, row in itertools.pairwise(rows)
        if stage_of(row) > stage_of(before) and isinstance(before.get(axis), int | float)
    }


def _shown(key: str, value: float) -> str:
    # "train/loss/original" is a loss, "train/accuracy/degraded" an accuracy.
    known = next((METRICS[part] for part in key.split("/") if part in METRICS), None)
    return f"{value:.3g}" if known is None else known.with_unit(value)
