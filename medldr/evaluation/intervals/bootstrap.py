"""Bootstrap draws of test groups, and their percentiles.

One draw samples groups (patients, slides; items where there are none) with replacement, the same
ones for every method and every run. Draws depend only on the bootstrap seed, the split and the
number of groups, so the same test set gives the same draws in every command. What intervals are
made of them is the subject of `medldr.evaluation.intervals.single_run` and, over seeds, of
`medldr.evaluation.intervals.inference`.

Source:
    Our choice: 2,000 draws, 95%; Efron and Tibshirani 1993.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array, Sums
from medldr.types import Predictions

LEVEL = 0.95
FEW_GROUPS = 20
"""Below this number of groups, intervals are flagged: they are wide, and rest on few groups."""
CHUNK = 1_000_000
"""Maximum number of values held at once per array while drawing."""


@dataclass(frozen=True)
class Units:
    """What a draw resamples.

    Attributes:
        kind: ``group`` or ``item``.
        number: ``(N,)`` number of each item's unit.
        names: ``(G,)`` name of each unit, in the order of their numbers.
    """

    kind: str
    number: NDArray[np.int64]
    names: NDArray[np.str_]

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self.names)

    @property
    def grouped(self) -> bool:
        """Whether they are groups."""
        return self.kind == "group"

    @property
    def few(self) -> bool:
        """Whether there are too few of them for a trustworthy interval."""
        return self.count < FEW_GROUPS


def units(predictions: Predictions) -> Units:
    """Groups where the table has any, else items; an item without a group is its own group.

    Units are numbered in the order of their names, so the order of the rows does not matter.
    """
    group, items = predictions.group, predictions.id
    grouped = group != ""
    names = np.char.add(np.where(grouped, "g:", "i:"), np.where(grouped, group, items))
    unique, number = np.unique(names, return_inverse=True)
    kind = "group" if grouped.any() else "item"
    return Units(kind, number.astype(np.int64), unique)


def stream(seed: int, *names: str) -> np.random.Generator:
    """A separate random generator for each seed and name (a split, a method)."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def group_weights(
    n_groups: int, draws: int, generator: np.random.Generator, rows: int = 1
) -> Iterator[Array]:
    """How often each group is in each draw: chunks ``(n_groups, b)`` of together `draws` columns.

    Args:
        n_groups: Groups to draw from, and to draw.
        draws: Number of draws.
        generator: Source of randomness; the chunk size does not change the draws.
        rows: Rows of the largest array that the caller computes from a chunk.
    """
    chunk = max(1, CHUNK // max(n_groups, rows, 1))
    for start in range(0, draws, chunk):
        b = min(chunk, draws - start)
        picked = generator.integers(0, n_groups, size=(b, n_groups))
        flat = (np.arange(b)[:, None] + picked * b).ravel()
        yield np.bincount(flat, minlength=n_groups * b).reshape(n_groups, b).astype(np.float64)


def resample(
    parts: Iterable[tuple[str, Sums]],
    unit: Units,
    *,
    draws: int,
    generator: np.random.Generator,
) -> dict[str, Array]:
    """Metrics in every draw, the same draws for all parts.

    Args:
        parts: Prefix of the names (such as ``domain/hospital_2/``) and metrics; one column of
            `Sums.per_item` per unit (see `Sums.by_group`).
        unit: What is drawn.
        draws: Number of draws.
        generator: From `stream`.

    Returns:
        ``(draws,)`` per prefixed name, NaN in draws in which the metric is undefined.
    """
    parts = list(parts)
    largest = max((sums.per_item.shape[0] for _, sums in parts), default=1)
    found: dict[str, list[Array]] = {}
    start = 0
    for weights in group_weights(unit.count, draws, generator, largest):
        for prefix, sums in parts:
            for name, values in sums.draw(weights, start).items():
                found.setdefault(prefix + name, []).append(values)
        start += weights.shape[1]
    return {name: np.concatenate(chunks) for name, chunks in found.items()}


def percentiles(draws: Array, level: float = LEVEL) -> tuple[float, float]:
    """The ends of a percentile interval.

    Args:
        draws: All defined.
        level: Share of the draws between the ends.

    Example:
        >>> percentiles(np.arange(2001.0))
        (50.0, 1950.0)
    """
    tail = round((1 - level) / 2, 12)
    low, high = np.quantile(draws, [tail, 1 - tail]).tolist()
    return low, high
