"""How sure a mean over seeds is: test units and training seeds in one variance.

The analysis is that of multi-reader multi-case studies, with which radiology compares readers:
seeds are readers, nested in methods, and test units (groups, or items) are cases that all of them
read. A bootstrap that resamples seeds and units together counts the noise that is particular to one
run and one unit several times, and has too little of the spread over few seeds; here each source
enters once, with its own degrees of freedom.

A `Variance` is made of one mean (`of_mean`) or a paired difference (`of_difference`), and adds up
over independent test sets: seen minus unseen domains, an average over data sets.

Source:
    Obuchowski and Rockette 1995; Hillis 2007 and 2014: variances by the bootstrap over units,
    Satterthwaite's degrees of freedom, variances of seeds that are not pooled over methods. Holm
    1979 (the correction for several comparisons). Our choice, by simulation: fewer degrees of
    freedom for seeds whose spread differs between methods (`of_seeds`), and no p below three seeds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import exp, inf
from statistics import fmean
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import expit, logit, stdtr, stdtrit  # scipy.stats takes a second to load

from medldr.evaluation.intervals.bootstrap import LEVEL
from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.evaluation.intervals.single_run import NO_UNITS, UNDEFINED_DRAWS
from medldr.evaluation.metrics.sums import Array
from medldr.metric import Metric

K = TypeVar("K", bound=Hashable)
NOTHING = 1e-12
"""Differences this small come from rounding."""
NO_SPREAD = "no interval: every bootstrap draw and every seed gives the same number"
NO_DIFFERENCE = "no interval: both give the same number in every bootstrap draw"


class Scores(NamedTuple):
    """One metric of one method.

    Attributes:
        values: ``(k,)``, one per seed.
        draws: ``(k, draws)``, the same draws of test units for all seeds of all methods; NaN where
            the metric is undefined.
    """

    values: Array
    draws: Array

    @property
    def mean(self) -> float:
        """Mean over the seeds; NaN where any is undefined."""
        return float(self.values.mean())


def of_mean(scores: Scores, units: int) -> Variance | str:
    """The variance of a method's mean over its seeds.

    Args:
        scores: All values defined.
        units: Test units that a draw samples.

    Returns:
        The variance, or why there is none.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> answers = rng.random((3, 200)) < 0.8
        >>> weights = rng.multinomial(200, np.full(200, 1 / 200), size=2000) / 200
        >>> found = of_mean(Scores(answers.mean(1), answers @ weights.T), 200)
        >>> 0.01 < found.total**0.5 < 0.03
        True
    """
    return _variance([scores], scores.draws.mean(axis=0), units)


def of_difference(one: Scores, other: Scores, units: int) -> Variance | str:
    """The variance of one method's mean minus another's, on the same test units.

    Args:
        one: A method.
        other: Another one; its number of seeds may differ.
        units: Test units that a draw samples.

    Returns:
        The variance, or why there is none.
    """
    paired = one.draws.mean(axis=0) - other.draws.mean(axis=0)
    return _variance([one, other], paired, units)


def of_gap(seen: Scores, unseen: Scores, units: tuple[int, int]) -> Variance | str:
    """The variance of a method's seen minus unseen mean: two test sets, the same networks.

    Args:
        seen: The method on the seen split.
        unseen: The same seeds, in the same order, on the unseen one.
        units: Test units of the two splits.

    Returns:
        The variance, or why there is none.
    """
    first, second = of_mean(seen, units[0]), of_mean(unseen, units[1])
    if isinstance(first, str) or isinstance(second, str):
        return first if isinstance(first, str) else str(second)
    both = first + second
    # Of the gap itself: the same seed may be a good one on both.
    return replace(both, seeds=_seeds([seen.values - unseen.values]))


def inferred(
    value: float,
    variance: Variance | str,
    metric: Metric | None = None,
    *,
    reason: str = "",
    span: float = inf,
) -> Estimate:
    """A number over seeds with its interval, and the p of its being zero.

    The interval of a difference excludes zero exactly when p is below 0.05.

    Args:
        value: The number; NaN where undefined.
        variance: Its variance, or why there is none.
        metric: What it is a mean of, to whose range the ends are cut; a share or an area has its
            interval on the logit scale and a ratio on that of logarithms, where they have no limit.
            None for a difference, which has a p.
        reason: Why it is undefined, used only if it is.
        span: The largest difference that there can be, to which the ends are cut.

    Example:
        >>> found = inferred(0.15, Variance((Source(0.0006, 99),), (Source(0.0039, 3),), fewest=3))
        >>> round(found.low, 3), round(found.high, 3), round(found.p, 3)
        (-0.036, 0.336, 0.089)
    """
    if np.isnan(value):
        return Estimate(reason=reason or "undefined")
    value = float(value)
    if isinstance(variance, str):
        return Estimate(value, reason=variance)
    estimate = Estimate(value, variance=variance)
    if variance.total <= NOTHING**2:
        if metric is not None or abs(value) > NOTHING:
            return replace(estimate, reason=NO_SPREAD)
        return replace(estimate, p=1.0 if variance.tested else None, reason=NO_DIFFERENCE)
    error, df = variance.total**0.5, min(variance.df, 1e9)
    half = float(stdtrit(df, (1 + LEVEL) / 2)) * error
    low, high = value - half, value + half
    if metric is not None and metric.on_logit and 0 < value < 1:
        half /= value * (1 - value)
        low, high = float(expit(logit(value) - half)), float(expit(logit(value) + half))
    elif metric is not None and metric.ratio and value > 0:
        low, high = value * exp(-half / value), value * exp(half / value)
    elif metric is not None:
        low, high = max(low, metric.range[0]), min(high, metric.range[1])
    p = None
    if metric is None and variance.tested:
        p = 2 * float(stdtr(df, -abs(value) / error))
    return replace(estimate, low=max(low, -span), high=min(high, span), p=p)


def average(
    each: Sequence[Estimate | None],
    metric: Metric | None = None,
    *,
    seeds: Sequence[Array] = (),
    span: float = inf,
) -> Estimate | None:
    """The unweighted mean over data sets or domains that share no test unit.

    They are a fixed choice: the interval says nothing of others. The same seed may be a lucky one
    on all of them, so the spread over seeds is that of each seed's own mean.

    Args:
        each: One number, or one difference, per set.
        metric: What the numbers are; None for differences.
        seeds: ``(k,)`` mean of each seed over the sets: of the method, or of both methods of a
            difference. Without it, as where the sets were trained with different seeds, these count
            as unrelated, and the variances over seeds add up.
        span: The largest difference that there can be, as for `inferred`.

    Returns:
        None unless every number is defined; without an interval unless each has a variance.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> sets = [(0.8, 0.0004), (0.7, 0.0009)]
        >>> each = [Estimate(m, variance=Variance((Source(v, 99),), (Source(v, 2),)))
        ...         for m, v in sets]
        >>> found = average(each, metric_facts("accuracy"))
        >>> found.mean, round(found.low, 3), round(found.high, 3), round(found.variance.total, 6)
        (0.75, 0.691, 0.801, 0.00065)
    """
    defined = [(one.mean, one.variance) for one in each if one is not None and one.mean is not None]
    if not defined or len(defined) < len(each):
        return None
    mean = fmean(value for value, _ in defined)
    variances = [
        variance.scaled(1 / len(defined)) for _, variance in defined if variance is not None
    ]
    if len(variances) < len(defined):
        return Estimate(mean)
    first, *others = variances
    variance = sum(others, start=first)
    if seeds and variance.seeds:
        variance = replace(variance, seeds=_seeds(seeds))
    return replace(inferred(mean, variance, metric, span=span), reason="")


def _variance(methods: Sequence[Scores], drawn: Array, units: int) -> Variance | str:
    """Of a mean or a difference, whose draws over the seeds of each method are `drawn`."""
    if units < 2:
        return NO_UNITS
    defined = ~np.isnan(drawn)
    if 2 * defined.sum() < len(drawn) or defined.sum() < 2:
        return UNDEFINED_DRAWS
    factor = units / (units - 1)  # draws of G units spread by (G - 1) / G of the variance
    own = Source(factor * float(drawn[defined].var()), units - 1)
    fewest = min(len(scores.values) for scores in methods)
    if fewest < 2:
        return Variance((own,))
    noise = 0.0
    for values, draws in methods:
        each = factor * float(draws[:, defined].var(axis=1).mean())
        mean = factor * float(draws[:, defined].mean(axis=0).var())
        noise += max(0.0, each - mean) / (len(values) - 1)
    return Variance((own,), _seeds([scores.values for scores in methods]), noise, fewest)


def _seeds(methods: Sequence[Array]) -> tuple[Source, ...]:
    """Of the values of one method over its seeds, or of two."""
    fewest = min(map(len, methods))
    if fewest < 2:
        return ()
    return (of_seeds([float(values.var(ddof=1)) / len(values) for values in methods], fewest),)


def of_seeds(variances: Sequence[float], fewest: int) -> Source:
    """The variance over seeds of one method's mean, or of the difference of two means.

    Args:
        variances: Of the mean of each method: over its seeds, divided by their number.
        fewest: Seeds of the method that has the fewest.

    Returns:
        Their sum, with ``(fewest - 1) * sum / sqrt(sum of squares)`` degrees of freedom: between
        those of one method and the square root of two times those, if both spread alike. Of few
        seeds, Satterthwaite's are too many where they do not.

    Example:
        >>> round(of_seeds([1 / 300, 1 / 1200], 3).df, 7)
        2.4253563
    """
    total, root = sum(variances), sum(variance**2 for variance in variances) ** 0.5
    return Source(total, (fewest - 1) * (total / root if root else 1.0))


def holm(p: Mapping[K, float | None]) -> dict[K, float | None]:
    """Holm-adjusted p values of a family of comparisons; undefined ones do not count.

    Example:
        >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
        {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    defined = ((value, name) for name, value in p.items() if value is not None)
    ranked = sorted(defined, key=lambda pair: pair[0])
    out: dict[K, float | None] = dict.fromkeys(p)
    largest = 0.0
    for rank, (value, name) in enumerate(ranked):
        largest = max(largest, min(1.0, value * (len(ranked) - rank)))
        out[name] = largest
    return out
