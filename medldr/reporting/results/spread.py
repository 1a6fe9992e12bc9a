"""Means over domains and seeds, with both spreads that papers print behind a ±."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """Numbers of several seeds.

    Attributes:
        mean: Their mean.
        sd: Standard deviation with ddof 1; None for a single one.
        se: Standard error as DomainBed prints it: population standard deviation over sqrt(n).
        n: How many they are.
    """

    mean: float
    sd: float | None
    se: float | None
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Mean, standard deviation and standard error of one number per seed.

    Raises:
        ValueError: If there is no number.

    Example:
        >>> found = spread([0.80, 0.82, 0.84])
        >>> [round(100 * number, 3) for number in found[:3]]
        [82.0, 2.0, 0.943]
    """
    if not values:
        raise ValueError("there is no number to take the mean of")
    count = len(values)
    several = count > 1
    return Spread(
        mean=statistics.fmean(values),
        sd=statistics.stdev(values) if several else None,
        se=statistics.pstdev(values) / count**0.5 if several else None,
        n=count,
    )


def seed_means(by_domain: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """Mean over the domains within each seed that has them all.

    Example:
        >>> seed_means({"a": {0: 0.25, 1: 0.5}, "b": {0: 0.75}})
        {0: 0.5}
    """
    seeds = sorted(set.intersection(*(set(found) for found in by_domain.values())))
    return {seed: statistics.fmean(found[seed] for found in by_domain.values()) for seed in seeds}
