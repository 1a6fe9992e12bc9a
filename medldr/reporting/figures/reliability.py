"""Predicted probabilities against observed frequencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from medldr.folders.evaluation_parts import Bins
from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    MUTED,
    ORANGE,
    PAPER,
    add_tips,
    draw,
    number_text,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reliability_figures(split: SplitRecord, scored: EvaluationRecord) -> list[Drawing]:
    """Reliability of the decisions and, for binary tasks, of the positive class.

    Args:
        split: The split.
        scored: Its evaluation, which says how calibration is defined.

    Returns:
        Nothing where no item was counted.
    """
    drawings = []
    bins = split.reliability
    if bins is not None and any(bins.count):
        ece = number_text("ece", split.metrics.get("ece"))
        definition = scored.calibration.definition
        labels = ("predicted confidence", "observed accuracy")
        reading = (
            "Of the cases predicted with a confidence of 80%, 80% should be correct: points on "
            "the dotted line. Below the line the model is overconfident, above it underconfident."
        )
        if definition != "top-label":
            labels = ("predicted probability", "observed frequency")
            reading = (
                "Of the labels predicted with a given probability, the share that was truly "
                "present; on the dotted line, probabilities are well calibrated."
            )
        caption = (
            f"{reading} ECE by the {definition} definition with {len(bins.count)} bins of equal "
            "width; the bars below show the count in each bin."
        )
        alt = f"ECE {ece}. Mean {labels[0]}, {labels[1]} (count)"
        drawings.append(_figure("reliability", bins, "Reliability", caption, alt, ece, labels))
    bins = split.reliability_positive
    if bins is not None and any(bins.count):
        ece = number_text("ece_positive", split.metrics.get("ece_positive"))
        positive = str(scored.positive_class)
        labels = ("predicted probability", f"observed frequency of {shorten(positive, 20)}")
        caption = (
            f"Of the images predicted with a given probability of {positive}, the share that "
            "truly was; on the dotted line, probabilities are well calibrated. ECE of the "
            f"positive class with {len(bins.count)} bins of equal width."
        )
        alt = (
            f"ECE of the positive class {ece}. Mean predicted probability, observed frequency "
            "(images)"
        )
        title = "Reliability of the positive class"
        drawings.append(_figure("reliability-positive", bins, title, caption, alt, ece, labels))
    return drawings


def _figure(
    name: str, bins: Bins, title: str, caption: str, alt: str, ece: str, labels: tuple[str, str]
) -> Drawing:
    counts = [count or 0 for count in bins.count]
    points = [
        (confidence, accuracy, count)
        for confidence, accuracy, count in zip(bins.confidence, bins.accuracy, counts, strict=True)
        if count and confidence is not None and accuracy is not None
    ]
    words = [f"{c:.2f} predicted, {a:.2f} observed ({n})" for c, a, n in points]

    def paint(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        upper.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
        confidence, accuracy = [c for c, _, _ in points], [a for _, a, _ in points]
        upper.vlines(confidence, confidence, accuracy, color=ORANGE, lw=1.4, alpha=0.8)
        upper.plot(confidence, accuracy, "o-", color=BLUE, ms=5)
        add_tips(upper, confidence, accuracy, words)
        upper.set(ylim=(-0.02, 1.02), ylabel=labels[1])
        upper.set_title(f"ECE {ece}", fontweight="normal", fontsize=9.5)
        edges = np.linspace(0, 1, len(counts) + 1)
        style = {"align": "edge", "color": BLUE, "ec": PAPER, "lw": 0.5}
        lower.bar(edges[:-1], counts, width=np.diff(edges), **style)
        lower.set(xlim=(0, 1), xlabel=labels[0], ylabel="count")

    said = f"{alt}: {'; '.join(words)}."
    return draw(name, paint, title=title, caption=caption, alt=said, size=(4.6, 4.9))
