"""Means over seeds, with both spreads that papers print behind a ±."""

from __future__ import annotations

import statistics
from collections.abc import Collection

from medldr.reporting.table import Estimate


def spread(values: Collection[float]) -> Estimate:
    """Mean, standard deviation (ddof 1) and standard error of one number per seed.

    The standard error is DomainBed's: population standard deviation over sqrt(n). A single number
    has neither.

    Raises:
        ValueError: If there is no number.

    Example:
        >>> found = spread([0.80, 0.82, 0.84])
        >>> [round(100 * number, 3) for number in (found.mean, found.sd, found.se)]
        [82.0, 2.0, 0.943]
    """
    if not values:
        raise ValueError("there is no number to take the mean of")
    count = len(values)
    several = count > 1
    return Estimate(
        mean=statistics.fmean(values),
        sd=statistics.stdev(values) if several else None,
        se=statistics.pstdev(values) / count**0.5 if several else None,
        n=count,
    )
