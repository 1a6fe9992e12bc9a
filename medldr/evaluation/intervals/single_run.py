"""Intervals of the numbers of one run: they are of this network, and of new test images.

Which interval is right depends on the number. Percentiles of the bootstrap are, for most numbers of
many independent images. A share near 0 or 1, or of few images, has Wilson's interval; an area under
a curve is treated on the logit scale, where it has no ceiling, and a likelihood ratio on the log
scale, from its counts where images are independent; patients with several images each make
Student's t; a calibration error has none. An interval of zero width is never given: a finite sample
that is all right does not show that everything is.

Source:
    Wilson 1927; Katz et al. 1978 (ratio of two shares, here at the threshold as it is); Efron and
    Tibshirani 1993. Our choice: with groups (patients, slides), and for a
    threshold that has its own draws, the number of images in Wilson's interval is the one that
    would give the variance of the draws, as in surveys (Korn and Graubard 1998), and at most the
    real one; t has one degree of freedom fewer than there are groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit  # scipy.stats takes a second to load

from medldr.evaluation.intervals.bootstrap import LEVEL, percentiles
from medldr.evaluation.metrics.sums import Array
from medldr.metric import Metric

METHOD = (
    "percentiles, or Student's t where there are groups; Wilson's interval for rare shares, "
    "recall, sensitivity, specificity and predictive values; on the logit scale for areas under "
    "curves, and on the log scale for likelihood ratios"
)
"""What is made of bootstrap draws, in words."""
NORMAL = float(ndtri((1 + LEVEL) / 2))
"""Quantile of the normal distribution for an interval."""
RARE = 10
"""With fewer images right or wrong than this, percentiles of a share are too narrow."""
NO_UNITS = "no interval: a single group cannot show how much groups differ"
UNDEFINED_DRAWS = "no interval: undefined in more than half of the bootstrap draws"
NO_SPREAD = "no interval: every bootstrap draw gives the same number"
BIASED = "no interval: a finite sample inflates this error"
ZERO_CELL = "no interval: a likelihood ratio of zero has no logarithm"
WIDTH = 1e-12
"""Ends that are no further apart differ by rounding."""
PERFECT = "no interval: the classes are separated perfectly here"


class Sample(NamedTuple):
    """What a number was measured on.

    Attributes:
        units: Number of units that a draw samples: groups, else images.
        grouped: Whether these are groups.
        trials: Images that a share is of.
        shares: Of a likelihood ratio: count and size of the two shares that it is made of.
    """

    units: int
    grouped: bool
    trials: int
    shares: tuple[tuple[int, int], ...] = ()


def number(
    metric: Metric, value: float | None, draws: Array | None, sample: Sample, reason: str | None
) -> dict[str, Any]:
    """A number of one run with its interval, as evaluation files hold it.

    Args:
        metric: What it is.
        value: The number; None or NaN where undefined.
        draws: Its bootstrap draws, NaN where undefined; None for a number without an interval.
        sample: What it was measured on.
        reason: Why it is undefined, used only if it is.

    Returns:
        ``value``, ``low``, ``high``, ``reason``; ``undefined_draws`` is added where the interval
        leaves out draws. A defined number that might have had an interval says why it has none.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> found = number(metric_facts("recall"), 1.0, np.ones(200), Sample(30, False, 30), None)
        >>> round(found["low"], 3), found["high"]
        (0.886, 1.0)
    """
    if value is None or np.isnan(value):
        return {"value": None, "low": None, "high": None, "reason": reason or "undefined"}
    out: dict[str, Any] = {"value": float(value), "low": None, "high": None, "reason": None}
    if draws is None or metric.biased:
        return out
    # A draw with nothing in one of its cells has no logarithm.
    defined = draws[draws > 0] if metric.ratio else draws[~np.isnan(draws)]
    if 2 * len(defined) < len(draws) or len(defined) < 2:
        out["reason"] = UNDEFINED_DRAWS
        return out
    found = _interval(metric, float(value), defined, sample)
    if isinstance(found, str):
        out["reason"] = found
        return out
    out["low"], out["high"] = found
    if len(defined) < len(draws):
        out["undefined_draws"] = len(draws) - len(defined)
    return out


def _interval(
    metric: Metric, value: float, draws: Array, sample: Sample
) -> tuple[float, float] | str:
    """The ends of an interval, or why there is none."""
    if sample.grouped and sample.units < 2:
        return NO_UNITS
    variance, t = float(draws.var()), NORMAL
    if sample.grouped:  # draws of G groups spread by (G - 1) / G of the variance
        variance *= sample.units / (sample.units - 1)
        t = float(stdtrit(sample.units - 1, (1 + LEVEL) / 2))
    if metric.ratio:
        return _of_ratio(value, draws, sample, t)
    if _is_rare_share(metric, value, sample):
        return wilson(value, _trials(metric, value, variance, sample), t)
    if metric.area:
        if not 0 < value < 1:
            return PERFECT
        half = t * variance**0.5 / (value * (1 - value))
        low, high = expit(logit(value) + np.array([-half, half])).tolist()
        return (low, high) if half > WIDTH else NO_SPREAD
    if sample.grouped:
        low, high = value - t * variance**0.5, value + t * variance**0.5
    else:
        low, high = percentiles(draws)
    if high - low <= WIDTH:
        return NO_SPREAD
    return max(low, metric.range[0]), min(high, metric.range[1])


def _of_ratio(value: float, draws: Array, sample: Sample, t: float) -> tuple[float, float] | str:
    """The ends for a likelihood ratio: from its counts, or with groups from the draws."""
    if value <= 0:
        return ZERO_CELL
    if sample.grouped:
        variance = float(np.log(draws).var()) * sample.units / (sample.units - 1)
    else:
        variance = sum(1 / count - 1 / size for count, size in sample.shares)
    low, high = value * np.exp(t * variance**0.5 * np.array([-1, 1]))
    return (float(low), float(high)) if high - low > WIDTH else NO_SPREAD


def _is_rare_share(metric: Metric, value: float, sample: Sample) -> bool:
    """Whether a number is a share whose interval is Wilson's."""
    if not metric.share or not sample.trials:
        return False
    rare = min(value, 1 - value) * sample.trials < RARE - 1e-9
    return rare or metric.share != "items"


def _trials(metric: Metric, value: float, variance: float, sample: Sample) -> float:
    """How many independent images would give this variance; the real number if they are."""
    if not (sample.grouped or metric.threshold):
        return float(sample.trials)
    if variance <= 0:
        return float(min(sample.trials, sample.units))
    inside = (value * sample.trials + 2) / (sample.trials + 4)  # its variance is not zero
    return min(float(sample.trials), inside * (1 - inside) / variance)


def often_infinite(metric: Metric, draws: Array) -> str:
    """Why draws without a finite value forbid an interval; empty where they do not.

    A likelihood ratio is infinite in a draw that has nothing in its denominator. The variance of a
    mean over seeds is that of ratios, not of their logarithms: leaving such draws out would lower
    it, so there is none where they are more than its tail.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> often_infinite(metric_facts("lr_positive"), np.array([2.0] * 9 + [np.nan]))
        'no interval: infinite or undefined in 10% of the bootstrap draws'
    """
    missing = float(np.isnan(draws).mean())
    if not metric.ratio or missing <= (1 - LEVEL) / 2:
        return ""
    return f"no interval: infinite or undefined in {missing:.0%} of the bootstrap draws"


def wilson(share: float, trials: float, t: float) -> tuple[float, float]:
    """Wilson's interval of a share.

    Args:
        share: What was observed, from 0 to 1.
        trials: Independent observations; need not be a whole number.
        t: Quantile of the normal or of Student's distribution.

    Example:
        >>> [round(end, 4) for end in wilson(0.8, 20, 1.96)]
        [0.584, 0.9193]
    """
    square = t**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = t / (1 + square) * (share * (1 - share) / trials + square / (4 * trials)) ** 0.5
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return (0.0 if share == 0 else low), (1.0 if share == 1 else high)
