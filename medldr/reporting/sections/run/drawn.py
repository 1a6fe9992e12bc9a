"""What the figures of one evaluation show: ROC, precision-recall, calibration, benefit, matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medldr.evaluation.metrics.items import BUCKETS
from medldr.folders.evaluation_parts import CalibrationCurve, ShotsRecord
from medldr.folders.evaluation_parts import Curve as RocPoints
from medldr.folders.evaluation_record import EvaluationRecord, Number, SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.bars import LOOKS
from medldr.reporting.figures.drawing import BLUE, INK, ORANGE, number_text, shorten
from medldr.reporting.figures.lines import Curve, Guide, labelled, lines_figure
from medldr.reporting.figures.matrix import matrix_figure

MOST_WHISKERS = 30
"""With more classes, their intervals would hide each other."""


def roc_curves(split: SplitRecord) -> dict[str, RocPoints]:
    """The defined curves of a split, by class."""
    return {name: c for name, c in split.roc.items() if c is not None and len(c.fpr) > 1}


def roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined."""
    curves = roc_curves(split)
    return _roc(
        "roc", curves, {name: _of_class(split, name, "auc") for name in curves}, title="ROC curves",
        caption="Each point is one possible threshold: its sensitivity against its rate of false "
        "positives (1 - specificity). The dotted diagonal is guessing; a curve that hugs the upper "
        "left corner separates the classes.",
    )  # fmt: skip


def domain_roc_figure(split: SplitRecord) -> Drawing | None:
    """One curve per domain of a binary task; None without two of them."""
    curves = {name: c for name, c in split.roc_by_domain.items() if len(c.fpr) > 1}
    return None if len(curves) < 2 else _roc(
        "roc-domains", curves, {name: split.domains[name].metrics.get("auc") for name in curves},
        title="ROC curves by domain",
        caption="Where curves lie apart, the same threshold has another sensitivity or specificity "
        "from one domain to the next.",
    )  # fmt: skip


def _roc(
    name: str, curves: Mapping[str, RocPoints], numbers: Mapping[str, Number | None], **words: Any
) -> Drawing | None:
    drawn = {
        of: Curve(c.fpr, c.tpr, tips=[
            f"{of}: sensitivity {t:.3f}, specificity {1 - f:.3f}"
            for f, t in zip(c.fpr, c.tpr, strict=True)
        ])
        for of, c in curves.items()
    }  # fmt: skip
    axes = ("1 - specificity", "sensitivity")
    return labelled(name, drawn, _shown("auc", numbers), labels=axes, guides=[Guide()], **words)


def _shown(key: str, numbers: Mapping[str, Number | None]) -> dict[str, tuple[float | None, str]]:
    return {name: (n.value if n else None, number_text(key, n)) for name, n in numbers.items()}


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
    chance = shares[0] if len(shares) == 1 else None
    level = "" if chance is None else f"; the dotted line is the prevalence ({100 * chance:.1f}%)"
    # Average precision does not interpolate, so neither does the curve.
    curves = {
        name: Curve(c.recall[::-1], c.precision[::-1], style={"drawstyle": "steps-pre"})
        for name, c in found.items()
    }
    return labelled(
        "precision-recall", curves,
        _shown("auprc", {name: _of_class(split, name, "auprc") for name in curves}),
        guides=[] if chance is None else [Guide(y=chance)],
        labels=("recall (sensitivity)", "precision (PPV)"), title="Precision-recall curves",
        caption="Each point is one possible threshold: the share of findings that are detected, "
        f"and the share of flagged images that have the finding{level}.",
    )  # fmt: skip


def calibration_figures(split: SplitRecord, level: float) -> list[Drawing]:
    """A smooth curve with its band beside the bins, one figure per class that has a curve.

    Args:
        split: The split.
        level: Of the band.
    """
    found = enumerate(split.calibration_curves.items())
    made = [_calibration(n, name, curve, level) for n, (name, curve) in found if curve.predicted]
    return [drawing for drawing in made if drawing is not None]


def _calibration(number: int, name: str, curve: CalibrationCurve, level: float) -> Drawing | None:
    last = len(curve.predicted) - 1
    words = "; ".join(
        f"{curve.predicted[i]:.2f} predicted, {curve.observed[i]:.2f} observed "
        f"({curve.low[i]:.2f} to {curve.high[i]:.2f})"
        for i in dict.fromkeys((0, last // 4, last // 2, 3 * last // 4, last))
    )
    x, y, _ = _filled(curve.bins.confidence, curve.bins.accuracy)
    dots = {"color": ORANGE, "marker": "o", "ls": "None"}
    kind = f"a spline with {curve.knots} knots" if curve.knots else "a straight line"
    band = f"smooth curve with {100 * level:g}% band"
    smooth = Curve(curve.predicted, curve.observed, band, {"color": BLUE}, (curve.low, curve.high))
    return lines_figure(
        f"calibration-{number}", [smooth, Curve(x, y, "in bins of equal width", dots)],
        guides=[Guide()], unit=True, legend=1, size=(4.6, 4.6),
        labels=("predicted probability", f"observed frequency of {shorten(name, 20)}"),
        title=f"Calibration of {shorten(name, 30)}",
        caption="Above the dotted line the finding is more frequent than predicted, below it less "
        f"frequent. The curve is {kind} in the log odds.",
        alt=f"Calibration curve with {100 * level:g}% band: {words}.",
    )  # fmt: skip


def _filled(
    x: Sequence[float | None], y: Sequence[float | None], counts: Sequence[int | None] = ()
) -> tuple[list[float], list[float], list[int]]:
    """Bins with an item."""
    found = [
        (one, other, (counts[place] or 0) if counts else 0)
        for place, (one, other) in enumerate(zip(x, y, strict=True))
        if one is not None and other is not None
    ]
    return [f[0] for f in found], [f[1] for f in found], [f[2] for f in found]


def reliability_figure(split: SplitRecord, scored: EvaluationRecord) -> Drawing | None:
    """Confidence against accuracy in bins; None where no item was counted.

    Args:
        split: The split.
        scored: Its evaluation, which says how calibration is defined.
    """
    bins = split.reliability
    if bins is None or not any(bins.count):
        return None
    definition, ece = scored.calibration.definition, number_text("ece", split.metrics.get("ece"))
    axes = ("predicted confidence", "observed accuracy")
    reading = "Of the cases predicted with a confidence of 80%, 80% should be correct"
    if definition != "top-label":
        axes = ("predicted probability", "observed frequency")
        reading = "Of the labels predicted with a probability of 80%, 80% should be present"
    x, y, counts = _filled(bins.confidence, bins.accuracy, bins.count)
    tips = [
        f"{a:.2f} predicted, {b:.2f} observed ({n})" for a, b, n in zip(x, y, counts, strict=True)
    ]
    return lines_figure(
        "reliability", [Curve(x, y, style={"color": BLUE, "marker": "o"}, tips=tips)],
        guides=[Guide()], unit=True, size=(4.6, 4.6), labels=axes,
        title=f"Reliability, ECE {ece}",
        caption=f"{reading}: points on the dotted line. Points below it are overconfident, above "
        f"it underconfident. ECE by the {definition} definition with {len(bins.count)} bins of "
        "equal width.",
        alt=f"ECE {ece}. Mean {axes[0]}, {axes[1]} (count): {'; '.join(tips)}.",
    )  # fmt: skip


def decision_figure(split: SplitRecord) -> Drawing | None:
    """The decision curve of a binary task; None where there is none."""
    curve = split.decision_curve
    if curve is None or not curve.threshold:
        return None
    percent, top = [100 * t for t in curve.threshold], max(*curve.model, *curve.treat_all, 0.01)
    shown = [curve.threshold.index(t) for t in (0.1, 0.25, 0.5, 0.75) if t in curve.threshold]
    words = "; ".join(
        f"{100 * curve.threshold[i]:g}%: {curve.model[i]:.3f}, on all {curve.treat_all[i]:.3f}"
        for i in shown
    )
    on_all = {"color": INK, "ls": "--", "lw": 1.3}
    return lines_figure(
        "decision",
        [Curve(percent, curve.model, "act on the predictions", {"color": BLUE}),
         Curve(percent, curve.treat_all, "act on all images", on_all)],
        guides=[Guide(y=0, label="act on none")], legend=1, size=(4.6, 3.9),
        limits={"xlim": (0, 100), "ylim": (-0.3 * top, 1.08 * top)},
        labels=("threshold probability (%)", "net benefit"), title="Decision curve",
        caption="At the probability from which you would act, the highest line is the policy with "
        "the largest net benefit on these images: true positives per image, less false positives "
        "weighted by the odds of that probability. The lines have no CI.",
        alt=f"Net benefit of acting on the predictions by threshold probability: {words}.",
    )  # fmt: skip


def coverage_figure(split: SplitRecord) -> Drawing | None:
    """Error against the share of images that are kept; None where there is no curve."""
    curve = split.risk_coverage
    if curve is None or not curve.coverage:
        return None
    kept, error = ([100 * v for v in values] for values in (curve.coverage, curve.error))
    words = "; ".join(
        f"{percent}% {100 * number.value:.1f}%"
        for percent, number in split.error_at_coverage.items()
        if number.value is not None
    )
    area = number_text("aurc", split.metrics.get("aurc"))
    return lines_figure(
        "coverage", [Curve(kept, error, style={"color": BLUE})], size=(4.6, 3.5),
        limits={"xlim": (0, 101), "ylim": (0, max(*error, error[-1], 1.0) * 1.08)},
        labels=("images kept, most confident first (%)", "error (%)"), title="Risk-coverage curve",
        caption="The error among the images that are kept when the least confident ones are left "
        "to a reader; a line that rises to the right means that confidence tells errors apart.",
        alt=f"AURC {area}. Error by images kept: {words}.",
    )  # fmt: skip


def frequency_figure(split: SplitRecord, shots: ShotsRecord) -> Drawing | None:
    """Recall against training images, one point per class; None where no recall is defined.

    Args:
        split: Whose recall is shown.
        shots: Training images of each class, and the limits of the groups.
    """
    found = [
        (shots.counts[name], name, number)
        for name, entry in split.classes.items()
        if name in shots.counts
        and (number := entry.metrics.get("recall")) is not None
        and number.value is not None
    ]
    found.sort(key=lambda each: -each[0])
    few = len(found) <= MOST_WHISKERS
    curves: list[Curve] = []
    texts: list[str] = []
    for bucket in BUCKETS:
        of = [each for each in found if shots.buckets.get(each[1], "medium") == bucket]
        colour, marker = LOOKS[bucket]
        for n, _, number in of if few else ():
            if number.low is not None and number.high is not None:
                ends = [100 * number.low, 100 * number.high]
                curves.append(Curve([n, n], ends, style={"color": colour, "lw": 1.4, "marker": ""}))
        tips = [f"{n:,} training images, recall {number_text('recall', r)}%" for n, _, r in of]
        tips = [f"{name}: {tip}" for (_, name, _), tip in zip(of, tips, strict=True)]
        style = {"color": colour, "marker": marker, "ls": "None", "ms": 6}
        y = [100 * (number.value or 0) for _, _, number in of]
        curves += [Curve([n for n, _, _ in of], y, bucket, style, None, tips)] if of else []
        texts += tips
    named = texts if few else [*texts[:3], *texts[-3:]]
    shown = "" if few else "The three most frequent and the three rarest classes: "
    return lines_figure(
        "frequency", curves, log="x", legend=3, size=(5.2, 3.5),
        guides=[Guide(x=n) for n in (shots.many, shots.few) if found and
                found[-1][0] < n < found[0][0]],
        limits={"ylim": (-3, 103)},
        labels=("training images of the class", "recall (%)"),
        title="Recall by training images",
        caption=f"Each point is a class; dotted lines are at {shots.many} and {shots.few} training "
        "images, which divide many from medium and medium from few."
        + (" Bars are 95% CIs." if few else ""),
        alt=f"{shown}{'; '.join(named)}.",
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
    return matrix_figure(
        "confusion", shares, names, counts=counts, labels=("predicted class", "true class"),
        title="Confusion matrix, % of each true class",
        caption="Rows are true classes, columns predicted classes; each row adds up to 100%, and "
        "the diagonal is the recall. Numbers of images are in parentheses.",
        alt=f"Correct predictions per class: {', '.join(rows)}.",
    )  # fmt: skip
