"""Stated probabilities against what was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from medldr.folders.evaluation_record import Bins, EvaluationRecord, SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, MUTED, ORANGE, draw, number_text, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reliability_figures(split: SplitRecord, judged: EvaluationRecord) -> list[Drawing]:
    """Of what was decided, and of the positive class (binary); none where nothing was counted.

    Args:
        split: The split.
        judged: The evaluation that it is of, for the definition of calibration.
    """
    drawings = []
    bins = split.reliability
    if bins is not None and any(bins.count):
        ece = number_text("ece", split.metrics.get("ece"))
        definition = judged.calibration.definition
        labels = ("stated confidence", "share that is right")
        reading = (
            "When the model says 80 %, it should be right in 80 % of the cases: points on the "
            "dotted line. Below it the model is too sure of itself, above it too modest."
        )
        if definition != "top-label":
            labels = ("stated probability", "share that is present")
            reading = (
                "Of the labels that were given a certain probability, how many were truly present; "
                "on the dotted line, probabilities can be taken at their word."
            )
        caption = (
            f"{reading} ECE in the {definition} definition with {len(bins.count)} bins of "
            "equal width; the lower bars count."
        )
        alt = f"ECE {ece}. Mean {labels[0]}, {labels[1]} (count)"
        drawings.append(_figure("reliability", bins, "Reliability", caption, alt, ece, labels))
    bins = split.reliability_positive
    if bins is not None and any(bins.count):
        ece = number_text("ece_positive", split.metrics.get("ece_positive"))
        positive = str(judged.positive_class)
        labels = ("stated probability", f"share that is {shorten(positive, 20)}")
        caption = (
            f"Of the images that were given a certain probability of {positive}, how many "
            "truly were; on the dotted line, probabilities can be taken at their word. ECE of the "
            f"positive class with {len(bins.count)} bins of equal width."
        )
        alt = f"ECE of the positive class {ece}. Mean probability, share observed (images)"
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
    words = "; ".join(f"{c:.2f} stated, {a:.2f} observed ({n})" for c, a, n in points)

    def paint(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        upper.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
        confidence, accuracy = [c for c, _, _ in points], [a for _, a, _ in points]
        upper.vlines(confidence, confidence, accuracy, color=ORANGE, lw=1.4, alpha=0.8)
        upper.plot(confidence, accuracy, "o-", color=BLUE, ms=5)
        upper.set(ylim=(-0.02, 1.02), ylabel=labels[1])
        upper.set_title(f"ECE {ece}", fontweight="normal", fontsize=9.5)
        edges = np.linspace(0, 1, len(counts) + 1)
        style = {"align": "edge", "color": BLUE, "ec": "white", "lw": 0.5}
        lower.bar(edges[:-1], counts, width=np.diff(edges), **style)
        lower.set(xlim=(0, 1), xlabel=labels[0], ylabel="count")

    return draw(name, paint, title=title, caption=caption, alt=f"{alt}: {words}.", size=(4.6, 4.9))
