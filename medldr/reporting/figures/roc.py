"""ROC curves of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from medldr.folders.evaluation_record import Curve, Number, SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import FAINT, MUTED, draw_axes, look, number_text, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CURVES = 8
"""With more classes, only the best three and the worst three are labelled."""


def roc_curves(split: SplitRecord) -> dict[str, Curve]:
    """The defined curves of a split, by class."""
    return {name: c for name, c in split.roc.items() if c is not None and len(c.fpr) > 1}


def roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined."""
    curves = roc_curves(split)
    if not curves:
        return None
    numbers = {name: _class_auc(split, name) for name in curves}
    texts = {name: number_text("auc", number) for name, number in numbers.items()}
    named = _named_curves(numbers)
    some = ", best and worst classes labelled" if len(named) < len(curves) else ""
    areas = "; ".join(f"{name} {text}" for name, text in texts.items())
    return draw_axes(
        "roc", partial(_paint_roc, curves=curves, texts=texts, named=named),
        labels=("1 - specificity", "sensitivity"), legend=1,
        size=(4.6, 4.2 + 0.19 * len(named)),
        title="ROC curves" + some,
        caption="Each point is one possible threshold: its sensitivity against its rate of false "
        "positives (1 - specificity); the closer to the upper left corner, the better.",
        alt=f"Area under the curve with 95% CI: {areas}.",
    )  # fmt: skip


def _class_auc(split: SplitRecord, name: str) -> Number | None:
    entry = split.classes.get(name)
    number = None if entry is None else entry.metrics.get("auc")
    # The one curve of a binary task is that of the split's AUC.
    return split.metrics.get("auc") if number is None and len(split.roc) == 1 else number


def _named_curves(numbers: Mapping[str, Number | None]) -> list[str]:
    if len(numbers) <= MOST_CURVES:
        return list(numbers)
    known = {name: None if number is None else number.value for name, number in numbers.items()}
    ranked = sorted(known, key=lambda name: 1.0 if (area := known[name]) is None else -area)
    return ranked[:3] + ranked[-3:]


def _paint_roc(
    axes: Axes, curves: Mapping[str, Curve], texts: Mapping[str, str], named: Sequence[str]
) -> None:
    axes.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    for name, points in curves.items():
        if name not in named:
            axes.plot(points.fpr, points.tpr, color=FAINT, lw=1)
    for number, name in enumerate(named):
        label = f"{shorten(name, 26)}: {texts[name]}"
        axes.plot(curves[name].fpr, curves[name].tpr, label=label, **look(number))
    axes.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
