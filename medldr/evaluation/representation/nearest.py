"""Nearest neighbours by an exact search, in float64 and in blocks that fit into memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.sphere import unit_length

CHUNK: Final = 4_000_000
"""Maximum number of distances held at once."""
DIGITS: Final = 10
"""Distances that agree in so many decimals are equal: more of them depend on the processor."""


def nearest(
    queries: NDArray[np.floating[Any]],
    gallery: NDArray[np.floating[Any]],
    k: int,
    *,
    owner: NDArray[np.int64],
    owners: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Positions of the nearest items of a gallery by their angle, the nearest first.

    Args:
        queries: ``(Q, D)`` latents.
        gallery: ``(N, D)`` latents.
        k: Neighbours of each query.
        owner: ``(Q,)``: whose each query is. Items of the same owner are never its neighbours.
        owners: ``(N,)``: whose each item is.

    Returns:
        ``(Q, k)``; -1 where fewer items are left. Equally near items are in the order of their
        rows.

    Raises:
        ValueError: If a latent has no direction.

    Example:
        >>> z = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
        >>> nearest(z, z, 2, owner=np.arange(3), owners=np.arange(3)).tolist()
        [[1, 2], [0, 2], [1, 0]]

    Source:
        The paper shows nearest neighbours of latents without their distance. The cosine, which
        lengths of latents do not matter for, is our choice: alignment and uniformity, which the
        paper reports, are of latents of length one as well.
    """
    points, items = unit_length(queries), unit_length(gallery)
    out = np.full((len(points), k), -1, dtype=np.int64)
    lengths = (items**2).sum(axis=1)
    step = max(1, CHUNK // max(1, len(items)))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        away = (block**2).sum(axis=1)[:, None] + lengths - 2 * block @ items.T
        away = np.round(away, DIGITS)
        away[owner[start : start + step, None] == owners] = np.inf
        out[start : start + step] = _smallest(away, k)
    return out


def _smallest(away: Array, k: int) -> NDArray[np.int64]:
    """Columns of the smallest finite values of each row, ties in the order of columns."""
    out = np.full((len(away), k), -1, dtype=np.int64)
    if not away.size:
        return out
    last = min(k, away.shape[1]) - 1
    limit = np.partition(away, last, axis=1)[:, last, None]
    row, column = np.nonzero((away <= limit) & np.isfinite(away))
    order = np.lexsort((column, away[row, column], row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    out[row[rank < k], rank[rank < k]] = column[rank < k]
    return out
