"""Stated probabilities against what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from medldr.folders.evaluation_record import Bins, EvaluationRecord, Number, SplitRecord
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
    bins, ece = split.reliability, split.metrics.get("ece")
    if bins is not None and any(bins.count):
        drawings.append(_of_decisions(bins, ece, judged.calibration.definition))
    bins, ece = split.reliability_positive, split.metrics.get("ece_positive")
    if bins is not None and any(bins.count):
        drawings.append(_of_positive(bins, ece, str(judged.positive_class)))
    return drawings


def _of_decisions(bins: Bins, ece: Number | None, definition: str) -> Drawing:
    labels = ("stated confidence", "share that is right")
    reading = (
        "When the model says 80 %, it should be right in 80 % of the cases: points on the dotted "
        "line. Below it the model is too sure of itself, above it too modest."
    )
    if definition != "top-label":
        labels = ("stated probability", "share that is present")
        reading = (
            "Of the labels that were given a certain probability, how many were truly present; on "
            "the dotted line, probabilities can be taken at their word."
        )
    text = number_text("ece", ece)
    return _figure(
        "reliability", bins, f"ECE {text}", labels,
        title="Reliability",
        caption=f"{reading} ECE in the {definition} definition with {len(bins.count)} bins of "
        "equal width; the lower bars count.",
        alt=f"ECE {text}. Mean {labels[0]}, {labels[1]} (count)",
    )  # fmt: skip


def _of_positive(bins: Bins, ece: Number | None, positive: str) -> Drawing:
    text = number_text("ece_positive", ece)
    return _figure(
        "reliability-positive", bins, f"ECE {text}",
        ("stated probability", f"share that is {shorten(positive, 20)}"),
        title="Reliability of the positive class",
        caption=f"Of the images that were given a certain probability of {positive}, how many "
        "truly were; on the dotted line, probabilities can be taken at their word. ECE of the "
        f"positive class with {len(bins.count)} bins of equal width.",
        alt=f"ECE of the positive class {text}. Mean probability, share observed (images)",
    )  # fmt: skip


def _figure(
    name: str,
    bins: Bins,
    heading: str,
    labels: tuple[str, str],
    *,
    title: str,
    caption: str,
    alt: str,
) -> Drawing:
    counts = [count or 0 for count in bins.count]
    points = [
        (c, a, n)
        for c, a, n in zip(bins.confidence, bins.accuracy, counts, strict=True)
        if n and c is not None and a is not None
    ]
    words = "; ".join(f"{c:.2f} stated, {a:.2f} observed ({n})" for c, a, n in points)
    paint = partial(_paint, counts=counts, points=points, title=heading, labels=labels)
    alt = f"{alt}: {words}."
    return draw(name, paint, title=title, caption=caption, alt=alt, size=(4.6, 4.9))


def _paint(
    figure: Figure,
    counts: Sequence[int],
    points: Sequence[tuple[float, float, int]],
    title: str,
    labels: tuple[str, str],
) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    upper.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    confidence = [c for c, _, _ in points]
    accuracy = [a for _, a, _ in points]
    upper.vlines(confidence, confidence, accuracy, color=ORANGE, lw=1.4, alpha=0.8)
    upper.plot(confidence, accuracy, "o-", color=BLUE, ms=5)
    upper.set_ylim(-0.02, 1.02)
    upper.set_ylabel(labels[1])
    upper.set_title(title, fontweight="normal", fontsize=9.5)
    edges = np.linspace(0, 1, len(counts) + 1)
    lower.bar(
        edges[:-1], counts, width=np.diff(edges), align="edge", color=BLUE, ec="white", lw=0.5
    )
    lower.set_xlim(0, 1)
    lower.set_xlabel(labels[0])
    lower.set_ylabel("count")
