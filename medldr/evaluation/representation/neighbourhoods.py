"""What is near each image: how many of its neighbours share its class, its domain, both or neither.

Source:
    The paper looks at neighbours of degraded and of restored latents among training and test
    images. Our choice: all of these images can be neighbours, by the latents of the unmodified
    images; images of the same patient or slide cannot, because they are near for a reason that
    has nothing to do with the method.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.planes import finite
from medldr.evaluation.representation.sphere import unit_length
from medldr.folders.latents_record import Latents
from medldr.types import SPLITS

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


KINDS: Final = ("both", "class", "unseen", "domain", "neither")
"""What a neighbour shares with its query: class and domain; the class, in another domain, which is
seen in training or (``unseen``) is not; the domain alone; neither."""
TRAINING, SEEN, UNSEEN, OTHER = "training", "seen", "unseen", "other"
"""Parts of the queries: training images, other images of seen domains, test images of unseen ones
(`Latents.unseen_test`; other images of these are in no part); without domains, those that are no
training images."""


@dataclass(frozen=True)
class Neighbourhoods:
    """Neighbours of some images, counted.

    Attributes:
        queries: Q images that were asked about.
        found: By view, ``(Q, 5)`` neighbours of each of `KINDS`.
        chance: ``(Q, 5)``, what neighbours drawn at random would be on average.
        gallery: Images that could be neighbours.
        left_out: Images left out because a latent of theirs is zero or not finite.
        nowhere: Others left out because they have no domain, while some images have one.
        domains: Whether there are several domains; else all images count as of the same.
    """

    queries: Latents
    found: Mapping[str, Array]
    chance: Array
    gallery: int
    left_out: int
    nowhere: int
    domains: bool

    def parts(self) -> dict[str, NDArray[np.bool_]]:
        """``(Q,)`` masks of the queries of each part that has any."""
        training, asked = self.queries.split == "train", self.queries
        masks = {
            TRAINING: training,
            SEEN: ~training & ~asked.unseen if self.domains else np.zeros_like(training),
            UNSEEN: asked.unseen_test if self.domains else np.zeros_like(training),
            OTHER: np.zeros_like(training) if self.domains else ~training,
        }
        return {name: mask for name, mask in masks.items() if mask.any()}


def searchable(latents: Latents) -> Latents | None:
    """The images that a search can use: all their latents are finite and none is zero.

    Returns:
        None where an image can have several labels, or fewer than two images are left. Images
        without a domain are left out where others have one.
    """
    if latents.label.ndim != 1:
        return None
    keep = _comparable(latents)
    if (named := latents.domain != "").any():
        keep &= named
    return latents.select(keep) if keep.sum() >= 2 else None


def _comparable(latents: Latents) -> NDArray[np.bool_]:
    """``(N,)``: whether all latents of an image are finite and none is zero."""
    keep = np.ones(len(latents), dtype=bool)
    for view in latents.views.values():
        keep &= finite(view.z) & view.z.any(axis=1)
    return keep


def neighbourhoods(
    latents: Latents, options: Options, splits: Collection[str] = SPLITS
) -> Neighbourhoods | None:
    """Count what the nearest neighbours of images share with them.

    Args:
        latents: Of a run.
        options: How many neighbours, and of how many images at most.
        splits: Whose images are asked about; those of all can be neighbours.

    Returns:
        None where an image can have several labels, or no image has a possible neighbour.
    """
    held = searchable(latents)
    if held is None:
        return None
    owners = held.units
    if len(np.unique(owners)) < 2:
        return None
    queries = np.flatnonzero(np.isin(held.split, list(splits)))
    asked = queries[held.select(queries).some(options.items, options.seed)]
    label = np.asarray(held.label, dtype=np.int64)
    domain = np.unique(held.domain, return_inverse=True)[1].astype(np.int64)
    facts = np.stack([label, domain, held.unseen.astype(np.int64)])
    found = {}
    for name, view in held.views.items():
        near = nearest(
            view.z[asked], held.z, options.neighbours,
            owner=owners[asked], owners=owners,
        )  # fmt: skip
        found[name] = _counted(facts[:, asked, None], facts[:, near], near >= 0)
    bad = int((~_comparable(latents)).sum())
    per_query = next(iter(found.values())).sum(axis=1, keepdims=True)
    return Neighbourhoods(
        queries=held.select(asked),
        found=found,
        chance=per_query * _chance(facts, owners, asked),
        gallery=len(held),
        left_out=bad,
        nowhere=len(latents) - len(held) - bad,
        domains=len(np.unique(domain)) > 1,
    )


def _counted(
    query: NDArray[np.int64], other: NDArray[np.int64], counts: NDArray[np.bool_]
) -> Array:
    """How many of the others that count are of each kind: ``(Q, 5)``.

    Args:
        query: ``(3, Q, 1)``: class, domain, and whether the domain is unseen.
        other: ``(3, Q, n)`` or ``(3, 1, n)``, the same of others.
        counts: ``(Q, n)``.
    """
    alike, near = query[0] == other[0], query[1] == other[1]
    unseen = other[2] == 1
    masks = (
        alike & near, alike & ~near & ~unseen, alike & ~near & unseen, ~alike & near, ~alike & ~near
    )  # fmt: skip
    return np.stack([(mask & counts).sum(axis=1) for mask in masks], axis=1).astype(np.float64)


def _chance(facts: NDArray[np.int64], owners: NDArray[np.int64], asked: NDArray[np.int64]) -> Array:
    """Shares of each kind among all images that could be neighbours: ``(Q, 5)``."""
    step = max(1, CHUNK // facts.shape[1])
    parts = []
    for start in range(0, len(asked), step):
        rows = asked[start : start + step]
        possible = owners[rows, None] != owners
        parts.append(_counted(facts[:, rows, None], facts[:, None, :], possible))
    counts = np.concatenate(parts)
    shares: Array = counts / counts.sum(axis=1, keepdims=True)
    return shares
