"""Non-inferiority: whether a method is at most a stated margin worse than the reference.

A difference without a clear direction does not show that two methods are equally good. With a
margin, stated before looking at results, the 95% CI of the difference does tell: the method is
non-inferior if the whole interval is better than minus the margin, inferior if all of it is worse,
and the result is inconclusive if the margin lies inside. Each method is judged by itself.

Source:
    The CONSORT statement on non-inferiority trials (Piaggio et al. 2012), with a two-sided 95% CI.
"""

from __future__ import annotations

from typing import Any, Literal

from medldr.errors import InputError, did_you_mean
from medldr.metrics import Metric, metric_facts

Verdict = Literal["non-inferior", "inferior", "cannot tell"]


def margin_of(metric: str, margin: float) -> float:
    """A margin as a difference of the metric's values.

    Args:
        metric: The metric.
        margin: In the unit in which it is printed: percentage points where that is a percentage.

    Raises:
        InputError: If no method can be judged by it.

    Example:
        >>> margin_of("accuracy", 2), margin_of("auc", 0.02)
        (0.02, 0.02)
    """
    known = metric_facts(metric)
    if not known.better:
        raise InputError(f"margin: neither higher nor lower {known.title} is better")
    low, high = known.range
    most = (high - low) * (100 if known.percent else 1)
    if not 0 < margin < most:
        unit = "percentage points" if known.percent else f"the unit of {known.title}"
        below = "" if most == float("inf") else f" and below {most:g}"
        raise InputError(
            f"margin should be above 0{below}, in {unit}, but is {margin:g}. For example: "
            f"--margin {2 if known.percent else 0.02:g}"
        )
    return margin / 100 if known.percent else margin


def verdict(low: float | None, high: float | None, margin: float, known: Metric) -> Verdict | None:
    """What the interval of a difference, method minus reference, tells.

    Args:
        low: Its lower end; None where there is no interval.
        high: Its upper end.
        margin: A difference of values, above 0.
        known: The metric, which may be better if lower.

    Returns:
        None where there is no interval.

    Example:
        >>> known = metric_facts("accuracy")
        >>> verdict(-0.01, 0.03, 0.02, known), verdict(-0.05, -0.03, 0.02, known)
        ('non-inferior', 'inferior')
        >>> verdict(-0.03, 0.03, 0.02, known), verdict(None, None, 0.02, known)
        ('cannot tell', None)
    """
    if low is None or high is None:
        return None
    worst, best = (low, high) if known.better == "higher" else (-high, -low)
    if worst > -margin:
        return "non-inferior"
    return "inferior" if best < -margin else "cannot tell"


def judge(result: dict[str, Any], metric: str, margin: float) -> None:
    """Add a verdict to every difference of one metric, and the margin to the comparison.

    Args:
        result: What `medldr.evaluation.compare` makes; changed in place. Each difference of the
            metric gets ``non_inferiority``: a `Verdict`, or None where there is no interval, or
            where the method or the reference was selected on the test split.
        metric: The metric.
        margin: In the unit in which it is printed.

    Raises:
        InputError: If the metric was not computed, or no method can be judged by the margin.
    """
    rows = [row for row in result["rows"] if row["metric"] == metric]
    if not rows:
        names = sorted({row["metric"] for row in result["rows"]})
        raise InputError(
            f"margin: this comparison has no metric {metric!r}.{did_you_mean(metric, names)} "
            f"Known: {', '.join(names)}"
        )
    wanted, known = margin_of(metric, margin), metric_facts(metric)
    oracles = {method["method"] for method in result["methods"] if method["oracle"]}
    for row in rows:
        difference = row["difference"]
        if difference is not None:
            judged = not {row["method"], result["reference"]} & oracles
            ends = difference["low"], difference["high"]
            difference["non_inferiority"] = verdict(*ends, wanted, known) if judged else None
    result["margin"] = {"metric": metric, "value": wanted}
