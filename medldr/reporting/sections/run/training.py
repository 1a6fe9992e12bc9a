"""How training went: losses, validation results, learning rate, and a method's own latents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from medldr.folders.metrics_log import LogRow, series, stage_of, time_axis, while_training
from medldr.folders.run_record import Selection
from medldr.metrics import METRICS
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, GREEN, INK, ORANGE, PINK
from medldr.reporting.figures.lines import Curve, Guide, lines_figure


class Line(NamedTuple):
    """One curve: its key in `metrics.jsonl`, its name in the legend, how it is drawn.

    It is left out where `unless` was logged, which shows the same or compares better.
    """

    key: str
    label: str
    colour: str
    dash: str = "-"
    unless: str = ""


class Chart(NamedTuple):
    """One figure; drawn only where one of the keys in `needs` was logged, if it has any."""

    name: str
    title: str
    ylabel: str
    caption: str
    lines: tuple[Line, ...]
    needs: tuple[str, ...] = ()
    log: bool = False


# A sum of several terms cannot be compared with the validation loss; its first term can.
LEARNING = (
    Chart(
        "loss", "Loss", "loss",
        "Both lines should fall; a validation line that rises while the training line still "
        "falls shows overfitting.",
        (
            Line("train/loss", "training", BLUE, unless="train/loss/original"),
            Line("train/loss/original", "training, original latents", BLUE),
            Line("val/loss", "validation", ORANGE, "--"),
        ),
    ),
    Chart(
        "results", "Validation results", "AUC, accuracy",
        "The selected point should be where the validation line has levelled off, not on a single "
        "spike.",
        (
            Line("val/auc", "validation AUC", ORANGE, "--"),
            Line("val/accuracy", "validation accuracy", GREEN),
            Line("train/accuracy", "training accuracy", BLUE, "-."),
            Line("train/accuracy/mixed", "training accuracy, mixed images", BLUE, "-."),
        ),
    ),
    Chart(
        "rate", "Learning rate", "learning rate",
        "Step size of the optimiser; each drop lets training settle.",
        (Line("lr", "learning rate", INK),),
        log=True,
    ),
)  # fmt: skip


_MARKED = (
    "A dashed vertical line marks where a later stage of training begins, which has its own "
    "weights to train, batches and learning rate."
)


def _of_latents(key: str) -> tuple[Line, ...]:
    return (
        Line(f"{key}/original", "original latents", BLUE),
        Line(f"{key}/degraded", "degraded latents", ORANGE, "--"),
        Line(f"{key}/restored", "restored latents", GREEN, "-."),
    )


PLAIN = Line("train/accuracy", "original latents", BLUE, unless="train/accuracy/original")
OF_LATENTS = (
    Chart(
        "latents", "Accuracy on degraded and restored latents", "accuracy",
        "Degrading should pull accuracy down towards chance level and restoring should "
        "bring it back up; if the lines coincide, the method has no effect.",
        (PLAIN, *_of_latents("train/accuracy")),
        needs=("train/accuracy/degraded", "train/accuracy/restored"),
    ),
    Chart(
        "attended", "Accuracy before and after batch attention", "accuracy",
        "One classifier serves both; latents that have attended to their batch should be "
        "classified about as well as those that have not.",
        (
            Line("train/accuracy", "before batch attention", BLUE),
            Line("train/accuracy/batchformer", "after batch attention", GREEN, "-."),
        ),
        needs=("train/accuracy/batchformer",),
    ),
    Chart(
        "terms", "Terms of the loss", "loss",
        "The degraded term stays high by design: its target is a mix of the labels in the "
        "batch, which no classifier can match exactly.",
        (
            Line("train/loss", "total loss", INK, ":"),
            *_of_latents("train/loss"),
            Line("train/loss/degraded_excess", "degraded, minus the label's entropy", ORANGE, ":"),
        ),
        needs=("train/loss/degraded", "train/loss/restored"),
    ),
)  # fmt: skip


def curves(
    charts: Iterable[Chart],
    rows: Sequence[LogRow],
    selection: Selection | None,
    chance: float | None = None,
) -> list[Drawing]:
    """Charts of training, only of what was logged.

    Args:
        charts: `LEARNING`, or `OF_LATENTS`: how well a method's further latents are classified.
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
        style = {"color": PINK, "lw": 1.2, "ls": "-"}
        marks.append(Guide(x=chosen, label=f"selected ({axis} {chosen:g})", style=style))
    drawings = [_drawing(chart, rows, keys, axis, marks, begins, chance) for chart in charts]
    return [drawing for drawing in drawings if drawing is not None]


def _drawing(
    chart: Chart,
    rows: Sequence[LogRow],
    keys: set[str],
    axis: str,
    marks: Sequence[Guide],
    begins: dict[int, float],
    chance: float | None,
) -> Drawing | None:
    if chart.needs and keys.isdisjoint(chart.needs):
        return None
    found, words = [], []
    for line in chart.lines:
        x, y = series(rows, line.key, axis)
        if not x or line.unless in keys:
            continue
        show = partial(_shown, line)
        tips = [f"{line.label}, {axis} {at:g}: {show(v)}" for at, v in zip(x, y, strict=True)]
        found.append(Curve(x, y, line.label, {"color": line.colour, "ls": line.dash}, None, tips))
        start = f"{line.label}: from {show(y[0])} at {axis} {x[0]:g}"
        end = f" to {show(y[-1])} at {axis} {x[-1]:g}, between {show(min(y))} and {show(max(y))}."
        words.append(start + end if len(x) > 1 else f"{start.replace('from ', '')}.")
    words += [f"Stage {stage} begins after {axis} {at:g}." for stage, at in begins.items()]
    level = chance if chart.ylabel == "accuracy" else None
    of_chance = {"color": INK}
    guides = [] if level is None else [
        Guide(y=level, label=f"chance level ({level:.2f})", style=of_chance)
    ]  # fmt: skip
    return lines_figure(
        chart.name, found, guides=[*guides, *marks], time=True, log="y" if chart.log else "",
        labels=(axis, chart.ylabel), title=chart.title,
        caption=f"{chart.caption} {_MARKED}" if begins else chart.caption,
        alt=f"{chart.title} over training. {' '.join(words)}",
    )  # fmt: skip


def _begins(rows: Sequence[LogRow], axis: str) -> dict[int, float]:
    """The last place on the axis before each later stage, by its number."""
    return {
        stage_of(row): before[axis]
        for before, row in itertools.pairwise(rows)
        if stage_of(row) > stage_of(before) and isinstance(before.get(axis), int | float)
    }


def _shown(line: Line, value: float) -> str:
    # "train/loss/original" is a loss, "train/accuracy/degraded" an accuracy.
    known = next((METRICS[part] for part in line.key.split("/") if part in METRICS), None)
    return f"{value:.3g}" if known is None else known.with_unit(value)
