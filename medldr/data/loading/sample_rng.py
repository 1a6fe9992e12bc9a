"""Randomness of a sample: a function of (seed, epoch, index) and of nothing else.

Neither the batch, the process, the loader's worker nor a resumption can change it. Samplers that
draw a row several times in an epoch, and extra views of it, add the number of the repetition and
of the view, so a repeated image is augmented differently each time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def repetitions(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each entry has occurred before.

    Example:
        >>> repetitions(np.array([5, 2, 5, 5, 2])).tolist()
        [0, 0, 1, 2, 1]
    """
    by_value = np.argsort(order, kind="stable")
    ordered = order[by_value]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else by_value
    counts = np.diff(np.r_[first, len(order)])
    result = np.empty(len(order), dtype=np.int64)
    result[by_value] = np.arange(len(order)) - np.repeat(first, counts)
    return result


def entropy(seed: int, epoch: int, row: int, repetition: int, view: int) -> tuple[int, ...]:
    """What a sample's generator is seeded with."""
    return (seed, epoch, row, repetition, view)


def uniform(
    seed: int,
    epoch: int,
    rows: NDArray[np.int64],
    *,
    total: int,
    draws: int,
    view: int = 0,
) -> NDArray[np.float32]:
    """Numbers from [0, 1) for each entry of an epoch's order.

    A row's first occurrence gets the row's numbers; a repetition gets those of its place in the
    order, which is itself a function of (seed, epoch).

    Args:
        seed: The run's seed.
        epoch: Number of the epoch.
        rows: Row numbers in the epoch's order, all of it.
        total: Rows of the whole table.
        draws: Numbers per sample.
        view: 0 for the image itself, 1, 2, ... for extra views.

    Returns:
        ``(len(rows), draws)``.
    """
    by_row = _table(seed, epoch, view, 0, total, draws)[rows]
    again = repetitions(rows) > 0
    if again.any():
        by_row[again] = _table(seed, epoch, view, 1, len(rows), draws)[again]
    return by_row


def _table(
    seed: int, epoch: int, view: int, kind: int, length: int, draws: int
) -> NDArray[np.float32]:
    numbers: Sequence[int] = (seed, epoch, view, kind, 3)
    return np.random.default_rng(numbers).random((length, draws), dtype=np.float32)
