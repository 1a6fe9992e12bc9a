"""ROC curves of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from medldr.folders.evaluation_record import Curve, Number, SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    COLOURS,
    DASHES,
    FAINT,
    MUTED,
    draw,
    legend_below,
    number_text,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = 8
"""Figures with more classes name the best and the worst three only."""


def roc_curves(split: SplitRecord) -> dict[str, Curve]:
    """The defined curves of a split, by class."""
    return {
        name: points
        for name, points in split.roc.items()
        if points is not None and len(points.fpr) > 1
    }


def roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined."""
    curves = roc_curves(split)
    if not curves:
        return None
    numbers = {name: _class_auc(split, name) for name in curves}
    texts = {name: number_text("auc", number) for name, number in numbers.items()}
    named = _named_curves(numbers)
    few = len(curves) > MOST_CURVES
    return draw(
        "roc",
        partial(_paint_roc, curves=curves, texts=texts, named=named),
        size=(4.6, 4.2 + 0.19 * len(named)),
        title="ROC curves" + (", best and worst classes named" if few else ""),
        caption="Each point is one possible threshold: how many of the cases are found (up) for "
        "how many false alarms (right); the closer to the upper left corner, the better.",
        alt="Area under the curve, with 95 % interval: "
        + "; ".join(f"{name} {text}" for name, text in texts.items())
        + ".",
    )


def _class_auc(split: SplitRecord, name: str) -> Number | None:
    entry = split.classes.get(name)
    number = None if entry is None else entry.metrics.get("auc")
    # The one curve of a binary task is that of the split's AUC.
    return split.metrics.get("auc") if number is None and len(split.roc) == 1 else number


def _named_curves(numbers: Mapping[str, Number | None]) -> list[str]:
    if len(numbers) <= MOST_CURVES:
        return list(numbers)

    def rank(name: str) -> float:
        number = numbers[name]
        return 1.0 if number is None or number.value is None else -number.value

    ranked = sorted(numbers, key=rank)
    return ranked[:3] + ranked[-3:]


def _paint_roc(
    figure: Figure, curves: Mapping[str, Curve], texts: Mapping[str, str], named: Sequence[str]
) -> None:
    axes: Axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    for name, points in curves.items():
        if name not in named:
            axes.plot(points.fpr, points.tpr, color=FAINT, lw=1)
    for number, name in enumerate(named):
        axes.plot(
            curves[name].fpr, curves[name].tpr,
            color=COLOURS[number % len(COLOURS)],
            ls=DASHES[number % len(DASHES)],
            label=f"{shorten(name, 26)}: {texts[name]}",
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.01)
    axes.set_xlabel("false alarms (1 - specificity)")
    axes.set_ylabel("found (sensitivity)")
    legend_below(axes, columns=1)
