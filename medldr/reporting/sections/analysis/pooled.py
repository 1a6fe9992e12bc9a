"""The gains of all data sets together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metric import Metric
from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.sweep.pooled import pooled_figure
from medldr.reporting.prose import section
from medldr.reporting.results.pooled import Pooled
from medldr.reporting.sections.rows import method_row, show_p
from medldr.reporting.table import DASH, Cell, Table

OF_DOMAINS = (
    "Held-out domains of one data set share most of their training images and are not independent: "
    "these intervals are too narrow, and say nothing of other data sets."
)
FEW = "Two alone: tau and the interval cannot be relied on."
FEW_SEEDS = (
    "Fewer than three seeds were trained in some of them: the interval lacks the chance of "
    "training, or hardly knows it."
)
SHARE = Metric("i2", "I²", "Share of the spread between gains that is not chance.", percent=True)


def pooled_section(found: Sequence[Pooled]) -> Section | None:
    """A figure for each method, and a table of all of them; None where nothing was pooled."""
    shown = [each for each in found if each.summary is not None]
    drawings = [pooled_figure(each, number) for number, each in enumerate(shown, 1)]
    over = dict.fromkeys(_over(each) for each in shown)
    caveat = OF_DOMAINS if any(each.over == "domains" for each in shown) else ""
    figures = Figures([drawing for drawing in drawings if drawing is not None])
    table = pooled_table(shown) if shown else None
    return section("analysis", "pooled", figures, table, over=" or ".join(over), caveat=caveat)


def _over(each: Pooled) -> str:
    return "data sets" if each.over == "data sets" else "held-out domains"


def pooled_table(found: Sequence[Pooled]) -> Table:
    """A row per method.

    Args:
        found: One or more that were pooled, of one metric.
    """
    known = metric_facts(found[0].metric)
    several = len({each.reference for each in found}) > 1
    more = "" if several else f", difference from {found[0].reference}"
    table = Table(
        f"{known.heading}: random-effects mean{more}",
        ["Method", "Pooled", "Mean gain", "Prediction interval", "tau", "I² (%)", "Q", "p of Q"],
        texts=(1, 3),
    )
    for each in found:
        summary = each.summary
        if summary is None:
            continue
        seeds = any(effect.few_seeds for effect in each.effects)
        signs = [table.sign(t) for t, holds in ((FEW, summary.few), (FEW_SEEDS, seeds)) if holds]
        mean = Cell(replace(each.estimate, se=None), known, signed=True, mark=",".join(signs))
        ends = DASH
        if each.predicted is not None:
            low, high = each.predicted
            ends = f"{known.show_difference(low)} to {known.show_difference(high)}"
        cells = [
            Cell(f"{len(each.effects)} {_over(each)}"),
            mean,
            Cell(ends),
            Cell(Estimate(summary.tau), known),
            Cell(Estimate(summary.i2), SHARE),
            Cell(f"{summary.q:.2f}", order=summary.q),
            Cell(show_p(summary.q_p), order=summary.q_p),
        ]
        name = f"{each.method} vs {each.reference}" if several else each.method
        table.rows.append(method_row(name, cells, control=each.control))
    left = dict.fromkeys(name for each in found for name in each.left_out)
    if left:
        table.notes.append(
            f"Not pooled: {', '.join(left)}. Their test images are evaluated more than once here, "
            "so they are not independent, or their gain has no standard error."
        )
    return table


def pooled_lines(found: Sequence[Pooled]) -> list[dict[str, object]]:
    """A line for each gain, and one for each summary."""
    lines: list[dict[str, object]] = []
    for each in found:
        summary = each.summary
        weights = summary.weights if summary is not None else [None] * len(each.effects)
        head = {"method": each.method, "compared_with": each.reference, "metric": each.metric,
                "over": each.over, "control": each.control}  # fmt: skip
        low, high = each.predicted or (None, None)
        more = {} if summary is None else {
            "predicted_low": low, "predicted_high": high, "k": len(each.effects),
            "tau": summary.tau, "i2": summary.i2, "q": summary.q, "q_p": summary.q_p,
            "few": summary.few,
        }  # fmt: skip
        numbers = [("gain", effect.name, effect.estimate, effect.error, {"weight": weight})
                   for effect, weight in zip(each.effects, weights, strict=True)]  # fmt: skip
        mean = each.estimate
        for kind, name, held, error, own in (*numbers, ("mean", "", mean, mean.se, more)):
            lines.append({**head, "kind": kind, "name": name, "difference": held.mean,
                          "error": error, "low": held.low, "high": held.high, **own,
                          "reason": held.reason})  # fmt: skip
    return lines
