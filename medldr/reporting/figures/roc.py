"""ROC curves of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from medldr.folders.evaluation_parts import Curve
from medldr.folders.evaluation_record import Number, SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import MUTED, add_tips, draw_axes, look, number_text, shorten

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
    numbers = {name: class_number(split, name, "auc") for name in curves}
    texts = {name: number_text("auc", number) for name, number in numbers.items()}
    named = named_curves(numbers)
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


def domain_roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per domain of a binary task; None without two of them."""
    curves = {name: c for name, c in split.roc_by_domain.items() if len(c.fpr) > 1}
    if len(curves) < 2:
        return None
    numbers = {name: split.domains[name].metrics.get("auc") for name in curves}
    texts = {name: number_text("auc", number) for name, number in numbers.items()}
    named = named_curves(numbers)
    areas = "; ".join(f"{name} {text}" for name, text in texts.items())
    return draw_axes(
        "roc-domains", partial(_paint_roc, curves=curves, texts=texts, named=named),
        labels=("1 - specificity", "sensitivity"), legend=1,
        size=(4.6, 4.2 + 0.19 * len(named)),
        title="ROC curves by domain",
        caption="Where curves lie apart, the same threshold has another sensitivity or specificity "
        "from one domain to the next.",
        alt=f"Area under the curve with 95% CI: {areas}.",
    )  # fmt: skip


def class_number(split: SplitRecord, name: str, key: str) -> Number | None:
    """The area under the curve of a class; the one curve of a binary task has the split's."""
    entry = split.classes.get(name)
    number = None if entry is None else entry.metrics.get(key)
    return split.metrics.get(key) if number is None and len(split.roc) == 1 else number


def named_curves(numbers: Mapping[str, Number | None]) -> list[str]:
    """The curves that are labelled: all of few, else the best and the worst."""
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
            axes.plot(points.fpr, points.tpr, color=MUTED, lw=0.6)
    for number, name in enumerate(named):
        label = f"{shorten(name, 26)}: {texts[name]}"
        x, y = curves[name].fpr, curves[name].tpr
        axes.plot(x, y, label=label, **look(number))
        each = zip(x, y, strict=True)
        tips = [f"{name}: sensitivity {t:.3f}, specificity {1 - f:.3f}" for f, t in each]
        add_tips(axes, x, y, tips)
    axes.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
