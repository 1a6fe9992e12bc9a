"""Sums of latents by class, domain and group, which give mean distances between any two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from medldr.evaluation.metrics.sums import Array, one_hot, ratio

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Shared:
    """Pairs of entries of one group, in whatever domains; an entry makes one with itself.

    Attributes:
        group: ``(S,)``: number of the group.
        pairs: ``(M * M, S)``: pairs of images, in the row of the pair of domains.
        squared: ``(M * M, S)``: sum of their squared distances, likewise.
    """

    group: Numbers
    pairs: csr_array
    squared: csr_array


@dataclass(frozen=True)
class ClassSums:
    """Sums over the images of one class: one entry per group and domain.

    Attributes:
        group: ``(P,)``: number of the group.
        domain: ``(M, P)``: one for the domain of each entry, else 0.
        n: ``(P,)``: images.
        total: ``(P, C)``: sum of their latents, in coordinates that keep scalar products.
        squares: ``(P,)``: sum of their squared lengths.
        shared: Pairs of images of one group, which do not count.
    """

    group: Numbers
    domain: csr_array
    n: Array
    total: Array
    squares: Array
    shared: Shared

    def squared(self, weights: Array) -> Array:
        """Mean squared distances of an image of one domain and an image of another or the same.

        Only pairs of images of different groups count, and none of an image with its own copy.

        Args:
            weights: ``(G, b)``, how often each group is drawn.

        Returns:
            ``(M, M, b)``; NaN where no pair counts.
        """
        drawn = weights[self.group]
        n = self.domain @ (self.n[:, None] * drawn)
        lengths = self.domain @ (self.squares[:, None] * drawn)
        entries = np.split(self.domain.indices, self.domain.indptr[1:-1])
        total = np.stack([self.total[rows].T @ drawn[rows] for rows in entries])
        moved = total.transpose(2, 0, 1)
        products = (moved @ moved.transpose(0, 2, 1)).transpose(1, 2, 0)
        own = weights[self.shared.group] ** 2
        # |x - y|^2 = |x|^2 + |y|^2 - 2 x y, over all pairs less those within a group.
        far = lengths[:, None] * n + n[:, None] * lengths - 2 * products
        far -= (self.shared.squared @ own).reshape(far.shape)
        pairs = n[:, None] * n - (self.shared.pairs @ own).reshape(far.shape)
        return ratio(far, np.maximum(pairs, 0.0))


def class_sums(
    z: Array, label: Numbers, domain: Numbers, group: Numbers, domains: int
) -> Sequence[ClassSums]:
    """Sums of each class.

    Args:
        z: ``(N, D)`` latents.
        label: ``(N,)`` class of each.
        domain: ``(N,)`` number of its domain.
        group: ``(N,)`` number of its group.
        domains: M, how many domains there are.
    """
    found = []
    for k in np.unique(label):
        rows = np.flatnonzero(label == k)
        keys = np.stack([domain[rows], group[rows]])
        (where, whose), place = np.unique(keys, axis=1, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        starts = np.searchsorted(place.ravel()[order], np.arange(len(where)))
        held = z[rows[order]]
        n = np.bincount(place.ravel(), minlength=len(where)).astype(np.float64)
        total = np.add.reduceat(held, starts, axis=0)
        squares = np.add.reduceat((held**2).sum(axis=1), starts)
        if len(total) < total.shape[1]:
            # Few sums of many numbers: their scalar products are those of as few coordinates.
            total = np.asarray(np.linalg.qr(total.T, mode="r")).T
        shared = _shared(whose, where, n, total, squares, domains)
        found.append(ClassSums(whose, one_hot(where, domains), n, total, squares, shared))
    return found


def _shared(
    group: Numbers, domain: Numbers, n: Array, total: Array, squares: Array, domains: int
) -> Shared:
    _, place = np.unique(group, return_inverse=True)
    owner = one_hot(place, int(place.max()) + 1)
    one, two = (owner.T @ owner).nonzero()
    # One by one: all of them together would be as large as the latents, twice.
    products = np.array([total[i] @ total[j] for i, j in zip(one, two, strict=True)])
    squared = squares[one] * n[two] + squares[two] * n[one] - 2 * products
    entry = (domain[one] * domains + domain[two], np.arange(len(one)))
    shape = (domains**2, len(one))
    return Shared(
        group[one],
        csr_array((n[one] * n[two], entry), shape=shape),
        csr_array((squared, entry), shape=shape),
    )
