"""Gains of data sets and their random-effects mean, as a meta-analysis draws them."""

from __future__ import annotations

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import MUTED, ORANGE
from medldr.reporting.figures.forest import BETTER, Whisker, forest_figure
from medldr.reporting.results.gains import Pooled

SMALLEST, LARGEST = 4.0, 11.0
"""Width in points of the squares, whose area is the weight."""


def pooled_figure(pooled: Pooled, number: int = 1) -> Drawing | None:
    """A square per data set, a diamond for the mean, a line for where a new data set may lie.

    Args:
        pooled: The gains of one method.
        number: Of the figure on its page, from 1.

    Returns:
        None where nothing was pooled.
    """
    if pooled.summary is None:
        return None
    known, most = metric_facts(pooled.metric), max(pooled.summary.weights)
    one = "data set" if pooled.over == "data sets" else "held-out domain"
    rows = [
        Whisker(of.name, of.estimate, size=max(SMALLEST, LARGEST * (weight / most) ** 0.5))
        for of, weight in zip(pooled.effects, pooled.summary.weights, strict=True)
    ]
    rows.append(Whisker("Random-effects mean", pooled.estimate, "diamond", ORANGE))
    line = ""
    if pooled.predicted is not None:
        low, high = pooled.predicted
        rows.append(Whisker("Prediction interval", Estimate(low=low, high=high), colour=MUTED))
        line = (
            f"; the line below it is where the effect in a new {one} may lie, with 95% probability"
        )
    return forest_figure(
        f"pooled_{number}", pooled.metric, rows,
        title=f"{known.title}: {pooled.method} minus {pooled.reference}",
        reference=pooled.reference,
        caption=f"One square per {one} with its 95% CI, larger where it weighs more. The diamond "
        f"is the random-effects mean and its 95% CI{line}; "
        f"{BETTER.get(known.better, 'the line at 0 marks no difference')}.",
    )  # fmt: skip
