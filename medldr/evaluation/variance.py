"""The variance of a number over seeds, by its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Source(NamedTuple):
    """One independent contribution to a variance, with its degrees of freedom."""

    variance: float
    df: float


@dataclass(frozen=True)
class Variance:
    """The variance of one number by its sources.

    Attributes:
        units: Which test units were drawn, for the networks as they are: one per test set.
        seeds: Which seeds were trained: one per method and training set. Empty where any method
            has a single seed: the number is then one of these networks, not of the method.
        noise: The part of `seeds` that test units cause; it is in `units` already.
    """

    units: tuple[Source, ...]
    seeds: tuple[Source, ...] = ()
    noise: float = 0.0

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

        return Variance(times(self.units), times(self.seeds), square * self.noise)

    def written(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "units": [list(source) for source in self.units],
            "seeds": [list(source) for source in self.seeds],
            "noise": self.noise,
        }

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Variance:
        """From plain values."""
        units, seeds = (tuple(Source(*each) for each in written[key]) for key in ("units", "seeds"))
        return cls(units, seeds, written["noise"])

    def __add__(self, other: Variance) -> Variance:
        """The variance of the sum of two independent numbers."""
        seeds = (*self.seeds, *other.seeds) if self.seeds and other.seeds else ()
        noise = self.noise + other.noise if seeds else 0.0
        return Variance((*self.units, *other.units), seeds, noise)
