"""Estimates: a number with its interval, and the variance over test units and seeds behind it."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from medldr.folders.evaluation_record import Number

Mark = Literal["best", "second"]
TESTED: Final = 3
"""Fewer seeds of a method make no test: their spread, where unequal, is known too poorly."""


class Source(NamedTuple):
    """One independent contribution to a variance, with its degrees of freedom."""

    variance: float
    df: float


@dataclass(frozen=True)
class Variance:
    """The variance of one number by its sources.

    Attributes:
        units: Which test units were drawn, for the networks as they are: one per test set.
        seeds: Which seeds were trained: one per training set, of all methods together. Empty where
            any method has a single seed: the number is then one of these networks, not of the
            method.
        noise: The part of `seeds` that test units cause; it is in `units` already.
        fewest: Seeds of the method that has the fewest.
    """

    units: tuple[Source, ...]
    seeds: tuple[Source, ...] = ()
    noise: float = 0.0
    fewest: int = 1

    @property
    def tested(self) -> bool:
        """Whether there are seeds enough for a p: fewer give an interval, but no test."""
        return bool(self.seeds) and self.fewest >= TESTED

    @property
    def of_seeds(self) -> float:
        """What seeds add to the variance of the units."""
        return max(0.0, sum(source.variance for source in self.seeds) - self.noise)

    @property
    def total(self) -> float:
        """The variance, never below that of the units."""
        return sum(source.variance for source in self.units) + self.of_seeds

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom, never below the fewest of any source.

        Where seeds disagree on single units, `noise` is large, and what is left of the variance may
        be small beside the spread over seeds: the quotient alone would then fall to a fraction of
        one degree, and the interval would span the whole range of the metric.
        """
        parts = [source for source in (*self.units, *self.seeds) if source.variance > 0]
        if not parts:
            return float("inf")
        quotient = self.total**2 / sum(source.variance**2 / source.df for source in parts)
        return max(quotient, min(source.df for source in parts))

    @property
    def share_of_seeds(self) -> float | None:
        """Share that more seeds would reduce, the rest being for more test units; None for zero."""
        return self.of_seeds / self.total if self.seeds and self.total > 0 else None

    def scaled(self, factor: float) -> Variance:
        """The variance of the number times a factor."""
        square = factor**2

        def times(sources: Sequence[Source]) -> tuple[Source, ...]:
            return tuple(Source(square * source.variance, source.df) for source in sources)

        return replace(
            self, units=times(self.units), seeds=times(self.seeds), noise=square * self.noise
        )

    def written(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "units": [list(source) for source in self.units],
            "seeds": [list(source) for source in self.seeds],
            "noise": self.noise,
        }

    def __add__(self, other: Variance) -> Variance:
        """The variance of the sum of two independent numbers."""
        seeds = (*self.seeds, *other.seeds) if self.seeds and other.seeds else ()
        noise = self.noise + other.noise if seeds else 0.0
        fewest = min(self.fewest, other.fewest)
        return Variance((*self.units, *other.units), seeds, noise, fewest)


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
        p: Of a difference: two-sided, of zero; None where undefined, and below `TESTED` seeds.
        marks: ``best`` (may be several) and ``second`` of a column.
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
    p: float | None = None

    @property
    def turned(self) -> Estimate:
        """A difference the other way round; its variance is the same."""
        mean, low, high = (None if v is None else -v for v in (self.mean, self.high, self.low))
        return replace(self, mean=mean, low=low, high=high)

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
