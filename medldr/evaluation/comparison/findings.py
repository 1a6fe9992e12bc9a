"""What a difference shows: better or worse, and whether it is within a margin.

A difference has a direction only where it is clear: its 95% CI excludes zero and its p, after
Holm's correction where it belongs to a family, is below 0.05; for one that has no p in any study
the CI decides alone. Everything else is no clear difference, which does not mean equal. Where a
method has one or two seeds there is an interval but no test, so there is no direction either.

Non-inferiority says more. With a margin, stated before looking at results, the 95% CI tells: the
method is non-inferior if the whole interval is better than minus the margin, inferior if all of it
is worse, and the result is inconclusive if the margin lies inside, or if there are too few seeds.
Each method is judged by itself.

Source:
    The CONSORT statement on non-inferiority trials (Piaggio et al. 2012), with a two-sided 95% CI.
"""

from __future__ import annotations

from math import hypot
from typing import Final, Literal

from medldr.errors import InputError
from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import Metric, metric_facts

ALPHA: Final = 0.05
_LEAST_POINTS: Final = 0.1  # a smaller margin in percentage points was meant as a share
"""Below it a corrected p counts as a difference."""

Direction = Literal["higher", "lower", "unclear"]
Finding = Literal["better", "worse", "no clear difference", "not compared"]
FINDINGS: Final[tuple[Finding, ...]] = ("better", "worse", "no clear difference", "not compared")
TWO_KINDS: Final = "a mean over seeds is not compared with a single run"
Verdict = Literal["non-inferior", "inferior", "cannot tell"]


def direction(difference: Estimate, p: float | None = None) -> Direction:
    """Whether a difference is clearly above or below zero.

    Args:
        difference: With its interval.
        p: Its p, corrected for its family; None for one that is not tested, whose interval decides.

    Example:
        >>> direction(Estimate(0.1, low=0.02, high=0.2)), direction(Estimate(0.1, low=-1, high=1))
        ('higher', 'unclear')
        >>> direction(Estimate(-0.1, low=-0.2, high=-0.02), p=0.06)
        'unclear'
    """
    low, high, variance = difference.low, difference.high, difference.variance
    few = variance is not None and bool(variance.seeds) and not variance.tested
    if few or (p is not None and p >= ALPHA) or low is None or high is None or low <= 0 <= high:
        return "unclear"
    return "higher" if low > 0 else "lower"


def apart(one: Estimate, other: Estimate) -> Estimate:
    """One number minus another of a different run or of other images, as if independent.

    A mean over seeds minus the number of a single run has no interval. The same images are easy or
    hard for both, so the interval is rather too wide.

    Args:
        one: A number.
        other: Another one.

    Returns:
        The difference; its `n` is the smaller number of seeds, None for two single runs.

    Source:
        Zou & Donner 2008, "Construction of confidence limits about effect measures" (MOVER): the
        distances of both numbers to the ends of their intervals, squared and added.

    Example:
        >>> found = apart(Estimate(5.0, low=2.0, high=8.0), Estimate(1.0, low=-3.0, high=5.0))
        >>> found.mean, found.low, found.high
        (4.0, -1.0, 9.0)
    """
    if one.mean is None or other.mean is None:
        return Estimate(reason=one.reason or other.reason)
    if (one.n is None) != (other.n is None):
        return Estimate(reason=TWO_KINDS)
    mean, n = one.mean - other.mean, None if one.n is None else min(one.n, other.n or 0)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(mean, n=n)
    below = hypot(one.mean - one.low, other.high - other.mean)
    above = hypot(one.high - one.mean, other.mean - other.low)
    return Estimate(mean, low=mean - below, high=mean + above, n=n)


def finding(
    metric: str, difference: Estimate, p: float | None, untested: str = ""
) -> Finding | None:
    """What a paired difference of two methods shows; None where it is undefined.

    Args:
        metric: What it is of, which says whether more is better.
        difference: One method minus the other.
        p: Its p, corrected for the comparisons of its family.
        untested: Why it is not tested; empty if it is.

    Example:
        >>> found = Estimate(0.1, low=0.05, high=0.15)
        >>> finding("accuracy", found, 0.01), finding("ece", found, 0.01)
        ('better', 'worse')
        >>> finding("accuracy", found, 0.05)
        'no clear difference'
        >>> finding("accuracy", found, None, "two seeds")
        'not compared'
    """
    if difference.mean is None:
        return None
    if untested:
        return "not compared"
    if p is None:
        return None
    shown, better = direction(difference, p), metric_facts(metric).better
    if shown == "unclear" or not better:
        return "no clear difference"
    return "better" if shown == better else "worse"


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
    facts = metric_facts(metric)
    if not facts.better:
        raise InputError(f"margin: neither higher nor lower {facts.title} is better")
    low, high = facts.range
    most = (high - low) * (100 if facts.percent else 1)
    if facts.percent and 0 < margin < _LEAST_POINTS:
        raise InputError(
            f"margin is {margin:g} percentage points, too small to mean anything. Is it "
            f"{100 * margin:g} percentage points? Then give {100 * margin:g}"
        )
    if not 0 < margin < most:
        unit = "percentage points" if facts.percent else f"the unit of {facts.title}"
        below = "" if most == float("inf") else f" and below {most:g}"
        raise InputError(
            f"margin should be above 0{below}, in {unit}, but is {margin:g}. For example: "
            f"--margin={2 if facts.percent else 0.02:g}"
        )
    return margin / 100 if facts.percent else margin


def verdict(difference: Estimate, margin: float, metric: Metric) -> Verdict | None:
    """What the interval of a difference, method minus reference, tells of non-inferiority.

    Args:
        difference: With its interval.
        margin: A difference of values, above 0.
        metric: The metric, which may be better if lower.

    Returns:
        None where there is no interval.

    Example:
        >>> accuracy = metric_facts("accuracy")
        >>> [verdict(Estimate(low=low, high=high), 0.02, accuracy)
        ...  for low, high in ((-0.01, 0.03), (-0.05, -0.03), (-0.03, 0.03), (None, None))]
        ['non-inferior', 'inferior', 'cannot tell', None]
    """
    low, high = difference.low, difference.high
    if low is None or high is None:
        return None
    worst, best = (low, high) if metric.better == "higher" else (-high, -low)
    if worst > -margin:
        return "non-inferior"
    return "inferior" if best < -margin else "cannot tell"
