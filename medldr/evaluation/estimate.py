"""Estimates: a number with everything known about its uncertainty."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from medldr.evaluation.variance import Variance
from medldr.folders.evaluation_record import Number

Mark = Literal["best", "second", "lowest"]


@dataclass(frozen=True)
class Estimate:
    """A number as a table cell holds it.

    Attributes:
        mean: The number itself, or a mean over runs; None where it is undefined.
        sd: Standard deviation over runs (ddof 1); None for a single one.
        se: Standard error, where a table shows it in place of an interval.
        low: Lower end of the interval; None where there is none.
        high: Upper end of the interval.
        n: Runs that the mean is over; None for a number that is not a mean over runs.
        planned: Runs that were planned; None where that does not matter.
        reason: Why it is undefined, or a remark on a number that is defined.
        variance: Where the interval of a mean over seeds comes from; None without one.
        noise: Of a calibration error: what it would be without miscalibration, on average and at
            most in 95% of samples; None for other numbers.
        marks: ``best`` (may be several) and ``second`` of a column, ``lowest`` of a row.
    """

    mean: float | None = None
    sd: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    planned: int | None = None
    reason: str = ""
    marks: tuple[Mark, ...] = ()
    variance: Variance | None = None
    noise: tuple[float, float] | None = None

    @classmethod
    def of(cls, number: Number) -> Estimate:
        """A number of `evaluation.json`."""
        reason = number.reason or ("undefined" if number.value is None else "")
        low, high = number.low, number.high
        return cls(mean=number.value, low=low, high=high, reason=reason, noise=number.noise)

    @property
    def count(self) -> str:
        """How many runs the mean is over, in words; empty where unknown.

        Example:
            >>> Estimate(n=3, planned=3).count, Estimate(n=2, planned=3).count
            ('n 3', 'n 2 of 3')
        """
        if self.n is None:
            return ""
        whole = self.planned in (None, 0, self.n)
        return f"n {self.n}" if whole else f"n {self.n} of {self.planned}"


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
        raise ValueError("a mean needs at least one number")
    count = len(values)
    several = count > 1
    return Estimate(
        mean=statistics.fmean(values),
        sd=statistics.stdev(values) if several else None,
        se=statistics.pstdev(values) / count**0.5 if several else None,
        n=count,
    )
