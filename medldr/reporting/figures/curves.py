"""Figures of how training went: losses, validation results, learning rate, latents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from medldr.folders.metrics_log import LogRow, series, time_axis
from medldr.folders.run_record import Selection
from medldr.metrics import MEASURES, PERCENT
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PINK,
    draw,
    legend_below,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """One curve: its key in `metrics.jsonl`, its name in the legend, how it is drawn."""

    key: str
    label: str
    colour: str
    dash: str = "-"


LOSS = (Line("train/loss", "training", BLUE), Line("val/loss", "validation", ORANGE, "--"))
# A sum of several terms cannot be laid beside the validation loss; its first term can.
LOSS_OF_SEVERAL = (
    Line("train/loss/original", "training, original latents", BLUE),
    Line("val/loss", "validation", ORANGE, "--"),
)
RESULTS = (
    Line("val/auc", "validation AUC", ORANGE, "--"),
    Line("val/accuracy", "validation accuracy", GREEN),
    Line("train/accuracy", "training accuracy", BLUE, "-."),
    Line("train/accuracy/mixed", "training accuracy, mixed images", BLUE, "-."),
)
RATE = (Line("lr", "learning rate", INK),)
TERMS = (
    Line("train/loss", "sum, as trained", INK, ":"),
    Line("train/loss/original", "original latents", BLUE),
    Line("train/loss/degraded", "degraded latents", ORANGE, "--"),
    Line("train/loss/restored", "restored latents", GREEN, "-."),
)
ATTENDED = (
    Line("train/accuracy", "latents as they are", BLUE),
    Line("train/accuracy/batchformer", "after attending to the batch", GREEN, "-."),
)
LATENTS = (
    Line("train/accuracy", "original latents", BLUE),
    Line("train/accuracy/original", "original latents", BLUE),
    Line("train/accuracy/degraded", "degraded latents", ORANGE, "--"),
    Line("train/accuracy/restored", "restored latents", GREEN, "-."),
)


def learning_curves(rows: Sequence[LogRow], selection: Selection | None) -> list[Drawing]:
    """Loss, validation results and learning rate over training; only what was logged."""
    mark = _selected(rows, selection)
    several = any("train/loss/original" in row for row in rows)
    drawings = [
        _curves(
            rows, "loss", "Loss", LOSS_OF_SEVERAL if several else LOSS, mark, ylabel="loss",
            caption="Both lines should fall; a validation line that turns upwards while training "
            "goes on falling is over-fitting.",
        ),
        _curves(
            rows, "results", "Validation results", RESULTS, mark, ylabel="AUC, accuracy",
            caption="Higher is better; the selected point should lie where the validation line "
            "has levelled out, not on a lone spike.",
        ),
        _curves(
            rows, "rate", "Learning rate", RATE, mark, ylabel="learning rate", log=True,
            caption="The size of the steps that training takes; each drop lets it settle.",
        ),
    ]  # fmt: skip
    return [drawing for drawing in drawings if drawing is not None]


def latent_curves(
    rows: Sequence[LogRow], selection: Selection | None, chance: float | None
) -> list[Drawing]:
    """A method's own check: how well the latents that it makes of the batch's are classified.

    Args:
        rows: Records of `metrics.jsonl`.
        selection: Which weights were chosen.
        chance: Accuracy of guessing, drawn as a line; None to leave it out.

    Returns:
        Nothing unless an accuracy or loss of such latents was logged.
    """
    keys = {key for row in rows for key in row}
    mark = _selected(rows, selection)
    drawings = []
    if keys & {"train/accuracy/degraded", "train/accuracy/restored"}:
        # `train/accuracy` and `train/accuracy/original` are the same thing; one line is enough.
        lines = [
            line for line in LATENTS
            if line.key != "train/accuracy" or "train/accuracy/original" not in keys
        ]  # fmt: skip
        drawings.append(
            _curves(
                rows, "latents", "Accuracy on degraded and restored latents", lines, mark,
                ylabel="accuracy", level=chance,
                caption="Degrading should pull accuracy down towards guessing and restoring "
                "should bring it back up; if the lines coincide, the method does nothing.",
            )
        )  # fmt: skip
    if "train/accuracy/batchformer" in keys:
        drawings.append(
            _curves(
                rows, "attended", "Accuracy after attending to the batch", ATTENDED, mark,
                ylabel="accuracy", level=chance,
                caption="One classifier serves both; latents that have looked at their batch "
                "should be recognised about as well as those that have not.",
            )
        )  # fmt: skip
    if keys & {"train/loss/degraded", "train/loss/restored"}:
        drawings.append(
            _curves(
                rows, "terms", "The terms of the loss", TERMS, mark, ylabel="loss",
                caption="The degraded term stays high on purpose: its target is the mix of labels "
                "in the batch, which no classifier can hit exactly.",
            )
        )  # fmt: skip
    return [drawing for drawing in drawings if drawing is not None]


def _curves(
    rows: Sequence[LogRow],
    name: str,
    title: str,
    lines: Iterable[Line],
    mark: float | None,
    *,
    ylabel: str,
    caption: str,
    log: bool = False,
    level: float | None = None,
) -> Drawing | None:
    axis = time_axis(rows) if rows else "epoch"
    found = [(line, *series(rows, line.key, axis)) for line in lines]
    found = [(line, x, y) for line, x, y in found if x]
    if not found:
        return None
    words = [_in_words(line, x, y, axis) for line, x, y in found]
    alt = f"{title} over training. " + " ".join(words)
    paint = partial(_paint, found=found, axis=axis, ylabel=ylabel, mark=mark, log=log, level=level)
    return draw(name, paint, title=title, caption=caption, alt=alt)


def _paint(
    figure: Figure,
    found: list[tuple[Line, list[float], list[float]]],
    axis: str,
    ylabel: str,
    mark: float | None,
    log: bool,
    level: float | None,
) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axes: Axes = figure.add_subplot()
    for line, x, y in found:
        marker = "o" if len(x) < 4 else None
        axes.plot(x, y, line.dash, color=line.colour, label=line.label, marker=marker, ms=4)
    if log and all(value > 0 for _, _, y in found for value in y):
        values = [value for _, _, y in found for value in y]
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, max(values) * 2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if level is not None:
        axes.axhline(level, color=INK, lw=1, ls=":", label=f"guessing ({level:.2f})")
    if mark is not None:
        axes.axvline(mark, color=PINK, lw=1.2, label=f"selected ({axis} {mark:g})")
    axes.set_xlabel(axis)
    axes.set_ylabel(ylabel)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.margins(x=0.03)
    legend_below(axes)


def _selected(rows: Sequence[LogRow], selection: Selection | None) -> float | None:
    if selection is None:
        return None
    by_epoch = not rows or time_axis(rows) == "epoch"
    return selection.epoch if by_epoch else selection.step


def _in_words(line: Line, x: list[float], y: list[float], axis: str) -> str:
    # "train/loss/original" is a loss, "train/accuracy/degraded" an accuracy.
    known = next((MEASURES[part] for part in line.key.split("/") if part in MEASURES), None)
    show = "{:.3g}".format if known is None else known.show
    unit = PERCENT if known is not None and known.percent else ""
    if len(x) == 1:
        return f"{line.label}: {show(y[0])}{unit} at {axis} {x[0]:g}."
    return (
        f"{line.label}: from {show(y[0])}{unit} at {axis} {x[0]:g} to {show(y[-1])}{unit} at "
        f"{axis} {x[-1]:g}, lowest {show(min(y))}{unit}, highest {show(max(y))}{unit}."
    )
