"""Means over pairs of images, in every bootstrap draw of groups at once.

A draw has each group some number of times. Two images are a pair of the draw where they are of
different groups, as often as these meet, and where they are of the same copy of one group. Two
copies of a group make no pairs with each other: as copies of one image do, they would pretend that
images of different patients are as close as those of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array


class PairSums(NamedTuple):
    """Of some images, in every draw.

    Attributes:
        total: ``(B,)`` sum over pairs.
        pairs: ``(B,)`` number of pairs, each counted in both orders.
        items: ``(B,)`` number of images.
    """

    total: Array
    pairs: Array
    items: Array

    @property
    def mean(self) -> Array:
        """``(B,)``: mean over pairs; NaN in a draw without any."""
        out: Array = np.divide(
            self.total, self.pairs, out=np.full(len(self.pairs), np.nan), where=self.pairs > 0
        )
        return out


def pair_sums(
    between: Array, rows: NDArray[np.int64], unit: NDArray[np.int64], weights: Array
) -> PairSums:
    """Sums over all pairs of different rows.

    Args:
        between: ``(N, N)`` values of pairs, symmetric, 0 for a row with itself.
        rows: ``(M,)`` which rows.
        unit: ``(N,)`` number of each row's group.
        weights: ``(G, B)`` how often each group is in each draw.

    Example:
        >>> between, alone = np.array([[0.0, 3.0], [3.0, 0.0]]), np.array([[1.0, 2.0], [1.0, 0.0]])
        >>> found = pair_sums(between, np.arange(2), np.arange(2), alone)
        >>> found.total.tolist(), found.pairs.tolist(), found.items.tolist()
        ([6.0, 0.0], [2.0, 0.0], [2.0, 2.0])
    """
    rows = rows[np.argsort(unit[rows], kind="stable")]
    found, start, size = np.unique(unit[rows], return_index=True, return_counts=True)
    block = between[np.ix_(rows, rows)]
    if len(found) < len(rows):
        block = np.add.reduceat(np.add.reduceat(block, start, axis=0), start, axis=1)
    own, drawn, n = np.diagonal(block), weights[found], size.astype(np.float64)
    items, squares = n @ drawn, drawn**2
    return PairSums(
        total=np.einsum("gb,gb->b", drawn, block @ drawn) - own @ squares + own @ drawn,
        pairs=items**2 - n**2 @ squares + (n * (n - 1)) @ drawn,
        items=items,
    )


def rest(whole: PairSums, parts: Sequence[PairSums]) -> PairSums:
    """Of the pairs between sets of images: those of all images without those within each set."""
    return PairSums(
        whole.total - sum(part.total for part in parts),
        whole.pairs - sum(part.pairs for part in parts),
        whole.items,
    )


def weighted(means: Sequence[Array], weights: Sequence[Array]) -> Array:
    """Weighted means in every draw; NaN where all weights are 0.

    Args:
        means: ``(B,)`` each; NaN where the weight is 0.
        weights: ``(B,)`` each.

    Example:
        >>> nothing = np.array([np.nan, np.nan])
        >>> means, weights = [np.array([1.0, 2.0]), nothing], [np.array([3.0, 0.0]), np.zeros(2)]
        >>> weighted(means, weights).tolist()
        [1.0, nan]
    """
    if not means:
        return np.full(1, np.nan)
    known, weight = np.nan_to_num(np.array(means)), np.array(weights)
    total = weight.sum(axis=0)
    out: Array = np.divide(
        (known * weight).sum(axis=0), total, out=np.full(len(total), np.nan), where=total > 0
    )
    return out
