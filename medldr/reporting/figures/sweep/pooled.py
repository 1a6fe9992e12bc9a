"""Gains of data sets and their random-effects mean, as a meta-analysis draws them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, INK, MUTED, ORANGE, add_tips, draw_axes, shorten
from medldr.reporting.figures.forest import BETTER
from medldr.reporting.results.pooled import Pooled
from medldr.reporting.table import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from medldr.evaluation.intervals.random_effects import RandomEffects

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
    known = metric_facts(pooled.metric)
    one = "data set" if pooled.over == "data sets" else "held-out domain"
    lines = len(pooled.effects) + (2 if pooled.predicted else 1)
    texts = [f"{name} {text}" for name, text in _rows(pooled)]
    line = "" if pooled.predicted is None else (
        f"; the line below it is where the effect in a new {one} may lie, with 95% probability"
    )  # fmt: skip
    return draw_axes(
        f"pooled_{number}",
        partial(_paint, pooled=pooled, summary=pooled.summary),
        labels=("difference (percentage points)" if known.percent else "difference", ""),
        size=(5.2, 1.2 + 0.32 * lines),
        title=f"{known.title}: {pooled.method} minus {pooled.reference}",
        caption=f"One square per {one} with its 95% CI, larger where it weighs more. The diamond "
        f"is the random-effects mean and its 95% CI{line}; "
        f"{BETTER.get(known.better, 'the line at 0 marks no difference')}.",
        alt=f"Differences in {known.heading}: {'; '.join(texts)}.",
    )


def _rows(pooled: Pooled) -> list[tuple[str, str]]:
    """Names and numbers, from top to bottom."""
    known = metric_facts(pooled.metric)
    estimates = [(effect.name, effect.estimate) for effect in pooled.effects]
    found = []
    for name, estimate in (*estimates, ("Random-effects mean", pooled.estimate)):
        ends = interval(estimate, known, signed=True)
        number = known.show_difference(estimate.mean or 0.0)
        found.append((name, f"{number} ({ends})" if ends else number))
    if pooled.predicted is not None:
        low, high = map(known.show_difference, pooled.predicted)
        found.append(("Prediction interval", f"{low} to {high}"))
    return found


def _paint(axes: Axes, *, pooled: Pooled, summary: RandomEffects) -> None:
    factor = 100.0 if metric_facts(pooled.metric).percent else 1.0
    rows = _rows(pooled)
    axes.axvline(0, color=INK, lw=1.2)
    axes.axvline(factor * summary.mean, color=ORANGE, lw=0.9, ls=":")
    most = max(summary.weights)
    for place, (effect, weight) in enumerate(zip(pooled.effects, summary.weights, strict=True)):
        held = effect.estimate
        if held.low is not None and held.high is not None:
            axes.plot([factor * held.low, factor * held.high], [place, place], color=BLUE, lw=1.8)
        width = max(SMALLEST, LARGEST * (weight / most) ** 0.5)
        axes.plot([factor * (held.mean or 0.0)], [place], "s", ms=width, color=BLUE)
    below = len(pooled.effects)
    mean, found = factor * summary.mean, pooled.estimate
    low, high = factor * (found.low or 0.0), factor * (found.high or 0.0)
    axes.fill([low, mean, high, mean], [below, below - 0.26, below, below + 0.26], color=ORANGE)
    centres = [factor * (effect.estimate.mean or 0.0) for effect in pooled.effects] + [mean]
    if pooled.predicted is not None:
        ends = [factor * end for end in pooled.predicted]
        axes.plot(ends, [below + 1, below + 1], color=MUTED, lw=1.8, marker="|", ms=9)
        centres.append(mean)
    add_tips(axes, centres, range(len(rows)), [f"{name}: {text}" for name, text in rows])
    axes.set_yticks(range(len(rows)), [shorten(name, 30) for name, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
