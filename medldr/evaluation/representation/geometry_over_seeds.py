"""Alignment and uniformity of a method: means over runs that differ in their seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from medldr.evaluation.intervals.estimate import Estimate, Source, Variance, spread
from medldr.evaluation.intervals.inference import inferred
from medldr.evaluation.representation.geometry import Closeness, Geometry, Part, Spread
from medldr.evaluation.representation.pair_scores import APART
from medldr.evaluation.representation.sphere import ALIGNMENT, UNIFORMITY
from medldr.metric import Metric

K = TypeVar("K")
V = TypeVar("V")


def mean_over_seeds(found: Sequence[Geometry]) -> Geometry:
    """Means over the runs of a method, with standard deviations and t intervals.

    The intervals are of the method's mean over seeds on these images; those of a single run, which
    is returned as it is, are of its network and new groups. What any of the runs lacks, as a class
    without images, is left out.

    Args:
        found: One per seed.

    Returns:
        Of the same form, with numbers of images as the first run has them.

    Raises:
        ValueError: If there is no run.
    """
    if not found:
        raise ValueError("a mean needs at least one run")
    if len(found) == 1:
        return found[0]
    views = [each.parts for each in found]
    return Geometry(
        {
            name: {view: _part(parts) for view, parts in _shared(held).items()}
            for name, held in _shared(views).items()
        }
    )


def mean_of(metric: Metric, each: Sequence[Estimate]) -> Estimate:
    """The mean of one number per seed, over the seeds where it is defined.

    Example:
        >>> found = mean_of(ALIGNMENT, [Estimate(0.5), Estimate(0.6), Estimate(0.7)])
        >>> round(found.mean, 3), round(found.sd, 3), round(found.low, 3), round(found.high, 3)
        (0.6, 0.1, 0.352, 0.848)
    """
    values = [one.mean for one in each if one.mean is not None]
    if not values:
        return replace(each[0], n=0, planned=len(each))
    mean = replace(spread(values), planned=len(each))
    if mean.mean is None or mean.sd is None:
        return replace(mean, reason="no interval: defined for a single seed")
    k = len(values)
    found = inferred(mean.mean, Variance((), (Source(mean.sd**2 / k, k - 1),)), metric)
    return replace(mean, low=found.low, high=found.high, reason=found.reason)


def _shared(each: Sequence[Mapping[K, V]]) -> dict[K, list[V]]:
    """What all runs have, by its name."""
    return {key: [one[key] for one in each] for key in each[0] if all(key in one for one in each)}


def _part(each: Sequence[Part]) -> Part:
    return replace(
        each[0],
        closeness=_closeness([one.closeness for one in each]),
        uniformity=mean_of(UNIFORMITY, [one.uniformity for one in each]),
        classes={k: _closeness(v) for k, v in _shared([one.classes for one in each]).items()},
        domains={k: _spread(v) for k, v in _shared([one.domains for one in each]).items()},
        together={k: _spread(v) for k, v in _shared([one.together for one in each]).items()},
    )


def _closeness(each: Sequence[Closeness]) -> Closeness:
    return Closeness(
        each[0].n,
        mean_of(ALIGNMENT, [one.alignment for one in each]),
        mean_of(ALIGNMENT, [one.within for one in each]),
        mean_of(ALIGNMENT, [one.across for one in each]),
        mean_of(APART, [one.apart for one in each]),
    )


def _spread(each: Sequence[Spread]) -> Spread:
    return replace(
        each[0],
        alignment=mean_of(ALIGNMENT, [one.alignment for one in each]),
        uniformity=mean_of(UNIFORMITY, [one.uniformity for one in each]),
    )
