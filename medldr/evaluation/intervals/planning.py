"""How precise a study will be: widths of intervals, and the smallest difference it can detect.

The variance of a mean over seeds, and of a difference between two methods, is the one that
`medldr.evaluation.intervals.inference` estimates from finished runs, with the numbers that it would
find on average. A trained network's metric varies with the test patients by ``u``; its images of
one patient resemble each other, which multiplies ``u`` by the design effect
``1 + (images - 1) * icc``.
Networks of one method share the correlation ``w`` of their errors, networks of two methods ``b``,
and true performance spreads over seeds by ``seed_sd``::

    mean        I = u * (1 + (k - 1) * w) / k              V = I + seed_sd^2 / k
    difference  I = 2 * u * ((1 + (k - 1) * w) / k - b)    V = I + 2 * seed_sd^2 / k

A study does not know the spread over seeds but estimates it from its `k` runs, with few degrees of
freedom. Widths and power are therefore averages over the estimates that such a study may find, each
with its own degrees of freedom, and Student's t, as in the analysis itself, which tests no
difference below three seeds.

Left out: how uncertain the estimated variance of the patients is, which matters below some thirty
patients, and that a better method has another variance than its reference.

Source:
    Obuchowski and Rockette 1995 and Hillis 2007 (the analysis); Kish 1965 (design effect); Hanley
    and McNeil 1982 (variance of an AUC, with images counted after the design effect).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from medldr.evaluation.intervals.bootstrap import LEVEL
from medldr.evaluation.intervals.estimate import Source, Variance
from medldr.evaluation.metrics.sums import Array

PlannedMetric: TypeAlias = Literal["accuracy", "auc"]
POWER: Final = 0.8
ALPHA: Final = 1 - LEVEL
SAME_METHOD: Final = 0.08
"""Networks of one method agree a little more than those of two: by this share of what is left."""
NODES: Final = 48
"""Estimates of the spread over seeds that are averaged over, per method."""


@dataclass(frozen=True)
class Design:
    """A planned study: one test set, some seeds per method.

    Attributes:
        patients: Patients in the test set.
        images: Images per patient, on average.
        icc: Intraclass correlation: how much errors on images of one patient resemble each other.
        seeds: Networks trained per method.
        metric: ``accuracy`` or ``auc``.
        value: Its expected value, a fraction.
        prevalence: Share of positive images; only for the AUC.
        seed_sd: Standard deviation of the true value between seeds, a fraction.
        correlation: Of the errors of two methods' networks on the same images.
        within: Of the errors of two networks of one method; None: a little more than that.
    """

    patients: int
    images: float
    icc: float
    seeds: int
    metric: PlannedMetric
    value: float
    prevalence: float
    seed_sd: float
    correlation: float
    within: float | None = None

    @property
    def effective(self) -> float:
        """Independent images that tell as much as those of these patients.

        Example:
            >>> study = Design(100, 4, 0.5, 3, "accuracy", 0.8, 0.5, 0.01, 0.5)
            >>> study.effective
            160.0
        """
        return self.patients * self.images / (1 + (self.images - 1) * self.icc)


class Precision(NamedTuple):
    """What a study can tell; fractions.

    Attributes:
        network: Half the width of the 95% CI of a single trained network.
        mean: Half the mean width of the 95% CI of a method's mean over seeds; None for one seed.
        detectable: The difference between two methods that is found with 80% power; None below
            three seeds, which make no test.
        share_of_seeds: Share of the variance of that difference that comes from seeds.
    """

    network: float
    mean: float | None
    detectable: float | None
    share_of_seeds: float | None


def precision(design: Design) -> Precision:
    """What a study can tell.

    Example:
        >>> study = Design(240, 1, 0.5, 3, "accuracy", 0.75, 0.5, 0.02, 0.56)
        >>> [round(100 * number, 1) for number in precision(study)[:3]]
        [5.5, 5.7, 9.8]
    """
    from scipy.special import stdtrit

    df = design.patients - 1
    alone = float(stdtrit(df, 1 - ALPHA / 2)) * network_variance(design) ** 0.5
    if design.seeds < 2:
        return Precision(alone, None, None, None)
    mean, difference = of_mean(design), of_difference(design)
    half = float(_halves(mean, methods=1).mean())
    smallest = detectable(difference) if difference.tested else None
    return Precision(alone, half, smallest, difference.share_of_seeds)


def network_variance(design: Design) -> float:
    """The variance of one network's metric over test sets.

    Example:
        >>> design = Design(100, 1, 0.5, 3, "accuracy", 0.8, 0.5, 0.01, 0.5)
        >>> round(network_variance(design), 6)
        0.0016
    """
    value = design.value
    if design.metric == "accuracy":
        return value * (1 - value) / design.effective
    positives = design.prevalence * design.effective
    return hanley_mcneil(value, positives, design.effective - positives)


def hanley_mcneil(area: float, positives: float, negatives: float) -> float:
    """The variance of an AUC.

    Args:
        area: The AUC.
        positives: Images with the finding.
        negatives: Images without it.

    Example:
        >>> round(hanley_mcneil(0.8, 50, 100) ** 0.5, 4)
        0.0412

    Source:
        Hanley and McNeil 1982, with their approximation of Q1 and Q2.
    """
    two_positives = area / (2 - area)
    two_negatives = 2 * area**2 / (1 + area)
    spread = (positives - 1) * (two_positives - area**2)
    spread += (negatives - 1) * (two_negatives - area**2)
    return (area * (1 - area) + spread) / (positives * negatives)


def of_mean(design: Design) -> Variance:
    """The variance of a method's mean over its seeds, as the analysis finds it on average."""
    from medldr.evaluation.intervals.inference import of_seeds

    one, seeds, noise = _of_method(design)
    of_runs = of_seeds([seeds], design.seeds)
    return Variance((Source(one, design.patients - 1),), (of_runs,), noise, design.seeds)


def of_difference(design: Design) -> Variance:
    """The variance of a paired difference between two methods, likewise."""
    from medldr.evaluation.intervals.inference import of_seeds

    one, seeds, noise = _of_method(design)
    units = 2 * (one - design.correlation * network_variance(design))
    of_runs = of_seeds([seeds, seeds], design.seeds)
    return Variance((Source(units, design.patients - 1),), (of_runs,), 2 * noise, design.seeds)


def _of_method(design: Design) -> tuple[float, float, float]:
    """Of a mean over seeds: variance from units, that from seeds, noise that is in both."""
    alone, k = network_variance(design), design.seeds
    within = design.within
    if within is None:
        within = design.correlation + SAME_METHOD * (1 - design.correlation)
    noise = alone * (1 - within) / k
    seeds = design.seed_sd**2 / k + noise
    return alone * (1 + (k - 1) * within) / k, seeds, noise


def power(true: float, variance: Variance) -> float:
    """The probability of p < 0.05 where two methods differ.

    Args:
        true: The true difference.
        variance: Its variance, as the analysis finds it on average.

    Example:
        >>> known = Variance((Source(1e-4, 1e9),), (Source(1e-12, 2),), fewest=3)
        >>> round(power(0.028, known), 3)  # as for a variance that is known: 2.8 standard errors
        0.8
    """
    return _power(true, _halves(variance, methods=2), variance.total**0.5)


def _power(true: float, half: Array, error: float) -> float:
    from scipy.special import ndtr

    return float((ndtr((true - half) / error) + ndtr((-true - half) / error)).mean())


def detectable(variance: Variance) -> float:
    """The smallest difference that is detected with 80% power.

    Args:
        variance: Of the difference: as the analysis finds it on average, or as it found it.

    Example:
        >>> known = Variance((Source(1e-4, 1e9),), (Source(1e-12, 2),), fewest=3)
        >>> round(detectable(known), 4)
        0.028
    """
    from scipy.optimize import brentq

    half, error = _halves(variance, methods=2), variance.total**0.5
    return float(brentq(lambda true: _power(true, half, error) - POWER, 0.0, 1000 * error))


def _halves(variance: Variance, methods: int) -> Array:
    """Half-widths that studies may find, all equally probable.

    They differ in the variance over seeds that each method's runs happen to have: the true one
    times chi-squared over its degrees of freedom, here at equally probable values.
    """
    from scipy.special import gammaincinv, stdtrit

    own, seeds = variance.fewest - 1, sum(source.variance for source in variance.seeds)
    places = (np.arange(NODES) + 0.5) / NODES
    grid = seeds / methods * 2 * gammaincinv(own / 2, places) / own
    each = np.stack(np.meshgrid(*[grid] * methods))
    total_of_seeds, root = each.sum(axis=0), (each**2).sum(axis=0) ** 0.5
    # As in `of_seeds`.
    of_seeds_df = own * np.divide(total_of_seeds, root, out=np.ones_like(root), where=root > 0)
    units = sum(source.variance for source in variance.units)
    total = units + np.maximum(0.0, total_of_seeds - variance.noise)
    parts = sum(source.variance**2 / source.df for source in variance.units)
    quotient = total**2 / (parts + total_of_seeds**2 / of_seeds_df)
    fewest = min(source.df for source in variance.units)
    df = np.maximum(quotient, np.minimum(of_seeds_df, fewest))  # as in `Variance.df`
    halves: Array = (stdtrit(df, 1 - ALPHA / 2) * total**0.5).ravel()
    return halves


def what_limits(design: Design) -> tuple[Literal["patients", "seeds"], float, float]:
    """Whether twice the patients or twice the seeds would detect the smaller difference.

    Args:
        design: With at least three seeds.

    Returns:
        What limits the study, and the detectable difference with twice the patients and with twice
        the seeds.
    """
    more = replace(design, patients=2 * design.patients), replace(design, seeds=2 * design.seeds)
    patients, seeds = (detectable(of_difference(study)) for study in more)
    return ("patients" if patients <= seeds else "seeds"), patients, seeds
