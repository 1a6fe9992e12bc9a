"""Sums of latents by class, domain and group, which give mean distances between any two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array, ratio

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ClassSums:
    """Sums over the images of one class: one entry per group and domain.

    Attributes:
        group: ``(P,)``: number of the group, ascending within a domain.
        domain: ``(P,)``: number of the domain.
        n: ``(P,)``: images.
        total: ``(P, D)``: sum of their latents.
        squares: ``(P,)``: sum of their squared lengths.
    """

    group: Numbers
    domain: Numbers
    n: Array
    total: Array
    squares: Array

    def squared(self, weights: Array, domains: int) -> Array:
        """Mean squared distances of an image of one domain and an image of another or the same.

        Only pairs of images of different groups count, and none of an image with its own copy.

        Args:
            weights: ``(G, b)``, how often each group is drawn.
            domains: How many there are.

        Returns:
            ``(domains, domains, b)``, of which the upper half and the diagonal are filled; NaN
            where no pair counts.
        """
        rows = [np.flatnonzero(self.domain == a) for a in range(domains)]
        drawn = [weights[self.group[row]] for row in rows]
        total = [self.total[row].T @ w for row, w in zip(rows, drawn, strict=True)]
        n = [self.n[row] @ w for row, w in zip(rows, drawn, strict=True)]
        lengths = [self.squares[row] @ w for row, w in zip(rows, drawn, strict=True)]
        out = np.full((domains, domains, weights.shape[1]), np.nan)
        for a in range(domains):
            for b in range(a, domains):
                _, left, right = np.intersect1d(
                    self.group[rows[a]], self.group[rows[b]], return_indices=True
                )
                one, two, own = rows[a][left], rows[b][right], drawn[a][left] ** 2
                # |x - y|^2 = |x|^2 + |y|^2 - 2 x y, over all pairs less those within a group.
                far = lengths[a] * n[b] + lengths[b] * n[a] - 2 * (total[a] * total[b]).sum(axis=0)
                products = (self.total[one] * self.total[two]).sum(axis=1)
                within = self.squares[one] * self.n[two] + self.squares[two] * self.n[one]
                pairs = n[a] * n[b] - (self.n[one] * self.n[two]) @ own
                out[a, b] = ratio(far - (within - 2 * products) @ own, np.maximum(pairs, 0.0))
        return out


def class_sums(z: Array, label: Numbers, domain: Numbers, group: Numbers) -> Sequence[ClassSums]:
    """Sums of each class.

    Args:
        z: ``(N, D)`` latents.
        label: ``(N,)`` class of each.
        domain: ``(N,)`` number of its domain.
        group: ``(N,)`` number of its group.
    """
    found = []
    for k in np.unique(label):
        rows = np.flatnonzero(label == k)
        keys = np.stack([domain[rows], group[rows]])
        (where, whose), place = np.unique(keys, axis=1, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        starts = np.searchsorted(place.ravel()[order], np.arange(len(where)))
        held = z[rows[order]]
        found.append(
            ClassSums(
                group=whose, domain=where,
                n=np.bincount(place.ravel(), minlength=len(where)).astype(np.float64),
                total=np.add.reduceat(held, starts, axis=0),
                squares=np.add.reduceat((held**2).sum(axis=1), starts),
            )
        )  # fmt: skip
    return found
