"""Precision-recall curves of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from medldr.folders.evaluation_parts import PrecisionRecall
from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import FAINT, MUTED, draw_axes, look, number_text, shorten
from medldr.reporting.figures.roc import class_number, named_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = "steps-pre"
"""Average precision does not interpolate."""


def precision_recall_figure(split: SplitRecord) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined.

    The only curve of a binary task has its chance level, the share of positives.
    """
    curves = {name: c for name, c in split.precision_recall.items() if len(c.recall) > 1}
    if not curves:
        return None
    numbers = {name: class_number(split, name, "auprc") for name in curves}
    texts = {name: number_text("auprc", number) for name, number in numbers.items()}
    named = named_curves(numbers)
    chance = next(iter(curves.values())).prevalence if len(curves) == 1 else None
    level = "" if chance is None else f"; the dotted line is the prevalence ({100 * chance:.1f}%)"
    areas = "; ".join(f"{name} {text}" for name, text in texts.items())
    return draw_axes(
        "precision-recall",
        partial(_paint, curves=curves, texts=texts, named=named, chance=chance),
        labels=("recall (sensitivity)", "precision (PPV)"), legend=1,
        size=(4.6, 4.2 + 0.19 * len(named)),
        title="Precision-recall curves",
        caption="Each point is one possible threshold: the share of findings that are detected, "
        f"and the share of flagged images that have the finding{level}. The closer to the upper "
        "right corner, the better.",
        alt=f"Area under the curve with 95% CI: {areas}.",
    )  # fmt: skip


def _paint(
    axes: Axes,
    curves: Mapping[str, PrecisionRecall],
    texts: Mapping[str, str],
    named: Sequence[str],
    chance: float | None,
) -> None:
    if chance is not None:
        axes.axhline(chance, color=MUTED, lw=1, ls=":")
    for name, points in curves.items():
        if name not in named:
            axes.plot(
                points.recall[::-1], points.precision[::-1], color=FAINT, lw=1, drawstyle=STEPS
            )
    for number, name in enumerate(named):
        label, points = f"{shorten(name, 26)}: {texts[name]}", curves[name]
        axes.plot(
            points.recall[::-1],
            points.precision[::-1],
            label=label,
            drawstyle=STEPS,
            **look(number),
        )
    axes.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
