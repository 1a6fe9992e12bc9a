"""What the figures of one evaluation show: ROC, precision-recall, calibration, benefit, matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from medldr.folders.evaluation_parts import Bins, CalibrationCurve
from medldr.folders.evaluation_parts import Curve as RocPoints
from medldr.folders.evaluation_record import EvaluationRecord, Number, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, INK, ORANGE, figure_words, shorten
from medldr.reporting.figures.lines import Curve, Guide, labelled, lines_figure
from medldr.reporting.figures.matrix import matrix_figure
from medldr.reporting.table import number_text


def roc_curves(split: SplitRecord) -> dict[str, RocPoints]:
    """The defined curves of a split, by class."""
    return {name: c for name, c in split.roc.items() if c is not None and len(c.fpr) > 1}


def roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined."""
    curves = roc_curves(split)
    return _roc("roc", curves, {name: _of_class(split, name, "auc") for name in curves})


def domain_roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per domain of a binary task; None without two of them."""
    curves = {name: c for name, c in split.roc_by_domain.items() if len(c.fpr) > 1}
    numbers = {name: split.domains[name].metrics.get("auc") for name in curves}
    return _roc("roc-domains", curves, numbers) if len(curves) > 1 else None


def _roc(
    name: str, curves: Mapping[str, RocPoints], numbers: Mapping[str, Number | None]
) -> Drawing | None:
    drawn = {}
    for of, c in curves.items():
        points = zip(c.fpr, c.tpr, strict=True)
        tips = [f"{of}: sensitivity {t:.3f}, specificity {1 - f:.3f}" for f, t in points]
        drawn[of] = Curve(c.fpr, c.tpr, tips=tips)
    return labelled(name, drawn, "auc", numbers, guides=[Guide()], **figure_words(name))


def _told(key: str, number: Number | None) -> str:
    return number_text(number, metric_facts(key))


def _of_class(split: SplitRecord, name: str, key: str) -> Number | None:
    """The area under the curve of a class; the one curve of a binary task has the split's."""
    entry = split.classes.get(name)
    number = None if entry is None else entry.metrics.get(key)
    return split.metrics.get(key) if number is None and len(split.roc) == 1 else number


def precision_recall_figure(split: SplitRecord) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined.

    The only curve of a binary task has its chance level, the share of positives.
    """
    found = {name: c for name, c in split.precision_recall.items() if len(c.recall) > 1}
    shares = [c.prevalence for c in found.values()]
    guides = [Guide(y=shares[0])] if len(shares) == 1 and shares[0] is not None else []
    steps = {"drawstyle": "steps-pre"}  # average precision does not interpolate
    curves = {n: Curve(c.recall[::-1], c.precision[::-1], style=steps) for n, c in found.items()}
    numbers = {name: _of_class(split, name, "auprc") for name in curves}
    words = figure_words("precision-recall")
    return labelled("precision-recall", curves, "auprc", numbers, guides=guides, **words)


def calibration_figures(split: SplitRecord, level: float) -> list[Drawing | None]:
    """A smooth curve with its band beside the bins, one figure per class that has a curve.

    Args:
        split: The split.
        level: Of the band.
    """
    found = enumerate(split.calibration_curves.items())
    return [_calibration(n, name, curve, level) for n, (name, curve) in found if curve.predicted]


def _calibration(number: int, name: str, curve: CalibrationCurve, level: float) -> Drawing | None:
    last = len(curve.predicted) - 1
    points = "; ".join(
        f"{curve.predicted[i]:.2f} predicted, {curve.observed[i]:.2f} observed "
        f"({curve.low[i]:.2f} to {curve.high[i]:.2f})"
        for i in dict.fromkeys((0, last // 4, last // 2, 3 * last // 4, last))
    )
    band = f"smooth curve with {100 * level:g}% band"
    ends = (curve.low, curve.high)
    smooth = Curve(curve.predicted, curve.observed, band, {"color": BLUE}, ends)
    dots = _bins(curve.bins, "in bins of equal width", color=ORANGE, ls="None")
    kind = f"a spline with {curve.knots} knots" if curve.knots else "a straight line"
    return lines_figure(
        f"calibration-{number}", [smooth, dots], guides=[Guide()], unit=True, legend=1,
        size=(4.6, 4.6), alt=f"Calibration curve with {100 * level:g}% band: {points}.",
        **figure_words("calibration", name=shorten(name, 30), kind=kind),
    )  # fmt: skip


def _bins(bins: Bins, label: str = "", **style: str) -> Curve:
    """The bins with an item, as points that say their numbers."""
    counts = bins.count or (None,) * len(bins.confidence)
    found = [
        (x, y, f"{x:.2f} predicted, {y:.2f} observed ({n})")
        for x, y, n in zip(bins.confidence, bins.accuracy, counts, strict=True)
        if x is not None and y is not None
    ]
    x, y, tips = ([each[k] for each in found] for k in range(3))
    return Curve(x, y, label, {"marker": "o", **style}, None, tips)  # type: ignore[arg-type]


def reliability_figure(split: SplitRecord, scored: EvaluationRecord) -> Drawing | None:
    """Confidence against accuracy in bins; None where no item was counted.

    Args:
        split: The split.
        scored: Its evaluation, which says how calibration is defined.
    """
    bins = split.reliability
    if bins is None or not any(bins.count):
        return None
    definition, ece = scored.calibration.definition, _told("ece", split.metrics.get("ece"))
    what = "cases" if definition == "top-label" else "labels"
    reading = f"Of the {what} predicted with a probability of 80%, 80% should be right"
    points = _bins(bins, color=BLUE)
    return lines_figure(
        "reliability", [points], guides=[Guide()], unit=True, size=(4.6, 4.6),
        alt=f"ECE {ece}. Mean probability, observed frequency (count): {'; '.join(points.tips)}.",
        **figure_words(
            "reliability", ece=ece, reading=reading, definition=definition, bins=len(bins.count)
        ),
    )  # fmt: skip


def decision_figure(split: SplitRecord) -> Drawing | None:
    """The decision curve of a binary task; None where there is none."""
    curve = split.decision_curve
    if curve is None or not curve.threshold:
        return None
    percent, top = [100 * t for t in curve.threshold], max(*curve.model, *curve.treat_all, 0.01)
    shown = [curve.threshold.index(t) for t in (0.1, 0.25, 0.5, 0.75) if t in curve.threshold]
    points = "; ".join(
        f"{100 * curve.threshold[i]:g}%: {curve.model[i]:.3f}, on all {curve.treat_all[i]:.3f}"
        for i in shown
    )
    on_all = {"color": INK, "ls": "--", "lw": 1.3}
    lines = [
        Curve(percent, curve.model, "act on the predictions", {"color": BLUE}),
        Curve(percent, curve.treat_all, "act on all images", on_all),
    ]
    return lines_figure(
        "decision", lines, guides=[Guide(y=0, label="act on none")], legend=1, size=(4.6, 3.9),
        limits={"xlim": (0, 100), "ylim": (-0.3 * top, 1.08 * top)}, **figure_words("decision"),
        alt=f"Net benefit of acting on the predictions by threshold probability: {points}.",
    )  # fmt: skip


def confusion_figure(split: SplitRecord, names: Sequence[str]) -> Drawing | None:
    """Share of each true class by predicted class; None where that was not counted.

    Args:
        split: Its counts are ``K x K``, rows are the truth.
        names: One per class.
    """
    if not split.confusion:
        return None
    counts = np.asarray(split.confusion, dtype=float)
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(100 * counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)
    rows = [
        f"{name} {counts[i, i]:.0f} of {totals[i, 0]:.0f}"
        + (f" ({shares[i, i]:.0f}%)" if totals[i, 0] else "")
        for i, name in enumerate(names)
    ]
    alt = f"Correct predictions per class: {', '.join(rows)}."
    words = figure_words("confusion")
    return matrix_figure("confusion", shares, names, counts=counts, alt=alt, **words)
