"""Figures of how good the predictions are: ROC and reliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.metrics import is_defined, measure
from medldr.reporting.figures.drawing import (
    BLUE,
    COLOURS,
    DASHES,
    FAINT,
    MUTED,
    ORANGE,
    Drawing,
    draw,
    legend_below,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = 8
"""ROC figures with more classes name the best and the worst three only."""


def roc_curves(split: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The defined ROC curves of a split, by class."""
    return {
        name: points
        for name, points in (split.get("roc") or {}).items()
        if points and len(points.get("fpr") or ()) > 1
    }


def roc_figure(split: Mapping[str, Any]) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined."""
    curves = roc_curves(split)
    if not curves:
        return None
    numbers = {name: _class_auc(split, name) for name in curves}
    texts = {name: _number_text("auc", numbers[name]) for name in curves}
    named = _named_curves(numbers)
    few = len(curves) > MOST_CURVES
    return draw(
        "roc", lambda figure: _paint_roc(figure, curves, texts, named),
        size=(4.6, 4.2 + 0.19 * len(named)),
        title="ROC curves" + (", best and worst classes named" if few else ""),
        caption="Each point is one possible threshold: how many of the cases are found (up) for "
        "how many false alarms (right); the closer to the upper left corner, the better.",
        alt="Area under the curve, with 95 % interval: "
        + "; ".join(f"{name} {texts[name]}" for name in curves) + ".",
    )  # fmt: skip


def _class_auc(split: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    entry = (split.get("classes") or {}).get(name) or {}
    number = entry.get("auc")
    if number is None and len(split.get("roc") or ()) == 1:
        number = (split.get("metrics") or {}).get("auc")  # binary: the one curve is the AUC
    return number if isinstance(number, Mapping) else None


def _named_curves(numbers: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    if len(numbers) <= MOST_CURVES:
        return list(numbers)
    ranked = sorted(
        numbers,
        key=lambda n: -(numbers[n] or {}).get("value", 0.0) if is_defined(numbers[n]) else 1,
    )
    return ranked[:3] + ranked[-3:]


def _paint_roc(
    figure: Figure,
    curves: Mapping[str, Mapping[str, Any]],
    texts: Mapping[str, str],
    named: Sequence[str],
) -> None:
    axes: Axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    for name in curves:
        if name not in named:
            axes.plot(curves[name]["fpr"], curves[name]["tpr"], color=FAINT, lw=1)
    for number, name in enumerate(named):
        axes.plot(
            curves[name]["fpr"], curves[name]["tpr"],
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


def reliability_figure(split: Mapping[str, Any], calibration: Mapping[str, Any]) -> Drawing | None:
    """Stated confidence against observed accuracy; None where nothing was counted."""
    bins = split.get("reliability") or {}
    counts = [int(count or 0) for count in bins.get("count") or ()]
    if not sum(counts):
        return None
    points = _points(bins, counts)
    ece = _number_text("ece", (split.get("metrics") or {}).get("ece"))
    definition = calibration.get("definition", "top-label")
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
    words = "; ".join(f"{c:.2f} stated, {a:.2f} observed ({n})" for c, a, n in points)
    return draw(
        "reliability",
        lambda figure: _paint_reliability(figure, counts, points, f"ECE {ece}", labels),
        size=(4.6, 4.9),
        title="Reliability",
        caption=f"{reading} ECE in the {definition} definition with {len(counts)} bins of equal "
        "width; the lower bars count.",
        alt=f"ECE {ece}. Mean {labels[0]}, {labels[1]} (count): {words}.",
    )


def positive_reliability_figure(split: Mapping[str, Any], positive: str) -> Drawing | None:
    """Stated probability of the positive class against how often it was there (binary)."""
    bins = split.get("reliability_positive") or {}
    counts = [int(count or 0) for count in bins.get("count") or ()]
    if not sum(counts):
        return None
    points = _points(bins, counts)
    ece = _number_text("ece_positive", (split.get("metrics") or {}).get("ece_positive"))
    words = "; ".join(f"{c:.2f} stated, {a:.2f} observed ({n})" for c, a, n in points)
    return draw(
        "reliability-positive",
        lambda figure: _paint_reliability(
            figure, counts, points, f"ECE {ece}",
            ("stated probability", f"share that is {shorten(positive, 20)}"),
        ),
        size=(4.6, 4.9),
        title="Reliability of the positive class",
        caption=f"Of the images that were given a certain probability of {positive}, how many "
        "truly were; on the dotted line, probabilities can be taken at their word. ECE of the "
        f"positive class with {len(counts)} bins of equal width.",
        alt=f"ECE of the positive class {ece}. Mean probability, share observed (images): {words}.",
    )  # fmt: skip


def _points(bins: Mapping[str, Any], counts: Sequence[int]) -> list[tuple[float, float, int]]:
    return [
        (float(c), float(a), n)
        for c, a, n in zip(bins["confidence"], bins["accuracy"], counts, strict=True)
        if n and c is not None and a is not None
    ]


def _paint_reliability(
    figure: Figure,
    counts: list[int],
    points: list[tuple[float, float, int]],
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


def _number_text(key: str, number: Mapping[str, Any] | None) -> str:
    if number is None or number.get("value") is None:
        return "n/a"
    show = measure(key).show
    text = show(number["value"])
    if number.get("low") is None or number.get("high") is None:
        return text
    return f"{text} ({show(number['low'])} to {show(number['high'])})"
