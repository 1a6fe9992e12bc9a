"""Figures of how training went: losses, validation results, learning rate, latents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from medldr.folders.metrics_log import LogRow, series, stage_of, time_axis, while_training
from medldr.folders.run_record import Selection
from medldr.metrics import METRICS
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PINK,
    add_tips,
    draw_axes,
    time_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


Points: TypeAlias = tuple[Line, list[float], list[float]]

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
        "Higher is better; the selected point should be where the validation line has "
        "levelled off, not on a single spike.",
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
    mark = None if selection is None else selection.epoch if axis == "epoch" else selection.step
    drawings = []
    for chart in charts:
        lines = [line for line in chart.lines if line.unless not in keys]
        found = [points for line in lines if (points := (line, *series(rows, line.key, axis)))[1]]
        if not found or (chart.needs and keys.isdisjoint(chart.needs)):
            continue
        level = chance if chart.ylabel == "accuracy" else None
        paint = partial(
            _paint, found=found, axis=axis, log=chart.log, level=level, mark=mark, begins=begins
        )
        labels, words = (axis, chart.ylabel), [_in_words(*points, axis) for points in found]
        words += [f"Stage {stage} begins after {axis} {at:g}." for stage, at in begins.items()]
        alt = f"{chart.title} over training. {' '.join(words)}"
        caption = f"{chart.caption} {_MARKED}" if begins else chart.caption
        about: dict[str, Any] = {"title": chart.title, "caption": caption, "alt": alt}
        drawings.append(draw_axes(chart.name, paint, labels=labels, **about))
    return drawings


def _begins(rows: Sequence[LogRow], axis: str) -> dict[int, float]:
    """The last place on the axis before each later stage, by its number."""
    return {
        stage_of(row): before[axis]
        for before, row in itertools.pairwise(rows)
        if stage_of(row) > stage_of(before) and isinstance(before.get(axis), int | float)
    }


def _paint(
    axes: Axes,
    found: list[Points],
    axis: str,
    log: bool,
    level: float | None,
    mark: float | None,
    begins: Mapping[int, float],
) -> None:
    for line, x, y in found:
        marker = "o" if len(x) < 4 else None
        axes.plot(x, y, line.dash, color=line.colour, label=line.label, marker=marker, ms=4)
        places = zip(x, y, strict=True)
        texts = [f"{line.label}, {axis} {at:g}: {_shown(line, value)}" for at, value in places]
        add_tips(axes, x, y, texts)
    values = [value for _, _, y in found for value in y]
    if log and min(values) > 0:
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, max(values) * 2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter("")
    if level is not None:
        axes.axhline(level, color=INK, lw=1, ls=":", label=f"chance level ({level:.2f})")
    for stage, at in begins.items():
        axes.axvline(at, color=MUTED, lw=0.8, ls="--", label=f"stage {stage} begins")
    if mark is not None:
        axes.axvline(mark, color=PINK, lw=1.2, label=f"selected ({axis} {mark:g})")
    time_ticks(axes)


def _shown(line: Line, value: float) -> str:
    # "train/loss/original" is a loss, "train/accuracy/degraded" an accuracy.
    known = next((METRICS[part] for part in line.key.split("/") if part in METRICS), None)
    return f"{value:.3g}" if known is None else known.with_unit(value)


def _in_words(line: Line, x: list[float], y: list[float], axis: str) -> str:
    show = partial(_shown, line)
    if len(x) == 1:
        return f"{line.label}: {show(y[0])} at {axis} {x[0]:g}."
    return (
        f"{line.label}: from {show(y[0])} at {axis} {x[0]:g} to {show(y[-1])} at "
        f"{axis} {x[-1]:g}, lowest {show(min(y))}, highest {show(max(y))}."
    )
