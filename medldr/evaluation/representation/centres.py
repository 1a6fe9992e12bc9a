"""Distances between domains: how far apart the latents of one class are in two domains.

Source:
    The paper has no such number. Our choice: the squared euclidean distance between the mean
    latents of a class in two domains, averaged over the classes that both have, in units of the
    mean variance of latents of one class in one domain (the sum over coordinates). So 1 is one
    standard deviation, squared, whatever the scale of the latents, and 0 is no difference.
    Means of few images differ by chance; the distance is corrected for that (Gretton et al. 2012,
    the unbiased maximum mean discrepancy with a linear kernel), so it can be slightly below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array, mean_defined, one_hot, ratio
from medldr.evaluation.representation.drawn import Drawn, sample_of, units_of
from medldr.evaluation.representation.frame import Line, Options
from medldr.folders.latents_record import Latents
from medldr.metric import Metric

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


DISTANCE: Final = Metric(
    "domain_distance", "Distance between domains",
    "Squared distance between the mean latents of a class in two domains, averaged over classes, "
    "in units of the variance within a class and domain: 1 is one standard deviation.",
    better="lower", range=(-np.inf, np.inf),
)  # fmt: skip
ROUNDING: Final = 1e-12
"""A variance below this share of the mean squared length of latents is an error of rounding."""
NO_CLASS: Final = "no class has enough images in both domains"

PAIR, OVERALL, OF_SEEN, NEAREST = (
    "pair", "mean over pairs", "mean over pairs of seen domains", "nearest seen domain",
)  # fmt: skip


def centres(latents: Latents, options: Options) -> list[Line]:
    """Distances between domains within classes, from the latents of unmodified images.

    Args:
        latents: Of a run. Rows that are not finite, or have no domain, are left out.
        options: Number and seed of the draws of groups.

    Returns:
        The distance ``of`` each pair of domains, seen ones first (`PAIR`), the mean over all pairs
        (`OVERALL`) and over those of seen domains (`OF_SEEN`), and of each unseen domain from the
        seen one that is nearest here (`NEAREST`); ``unseen`` names the domains of a pair that
        training has not seen. Nothing for fewer than two domains, where an image can have several
        labels, or where no two domains share a class of which each has two groups.
    """
    if latents.label.ndim != 1:
        return []
    held = latents.select(np.isfinite(latents.z).all(axis=1) & (latents.domain != ""))
    new = sorted(set(held.domain[held.unseen].tolist()))
    names = [*sorted(set(held.domain.tolist()) - set(new)), *new]
    pairs = list(combinations(names, 2))
    if not pairs:
        return []
    unit = units_of(held)
    place = np.array([names.index(name) for name in held.domain.tolist()])
    z = held.z.astype(np.float64)
    z -= z.mean(axis=0)
    least = ROUNDING * float((held.z.astype(np.float64) ** 2).sum(axis=1).mean())
    sums = class_sums(z, np.asarray(held.label), place, unit.number, len(names))
    value = _distances(sums, np.ones((unit.count, 1)), len(names), least)
    if np.isnan(value).all():
        return []
    generator = stream(options.seed, "centres")
    rows = z.shape[1] * len(names)
    draws = np.concatenate(
        [_distances(sums, w, len(names), least)
         for w in group_weights(unit.count, options.draws, generator, rows)], axis=1,
    )  # fmt: skip

    def over(chosen: Sequence[int]) -> Estimate:
        rows = list(chosen)
        inside = np.isin(held.domain, [name for row in rows for name in pairs[row]])
        mean = float(mean_defined(value[rows])[0])
        reason = NO_CLASS if np.isnan(mean) else ""
        drawn = mean_defined(draws[rows])
        return Drawn(mean, drawn, sample_of(unit, inside), reason).estimate(DISTANCE)

    def line(kind: str, estimate: Estimate, one: str = "", other: str = "") -> Line:
        unseen = tuple(name for name in (one, other) if name in new)
        return {
            "of": kind, "domain": one, "other_domain": other, "unseen": unseen, "held": estimate,
        }  # fmt: skip

    frame = [line(PAIR, over([row]), *pair) for row, pair in enumerate(pairs)]
    frame.append(line(OVERALL, over(range(len(pairs)))))
    known = [row for row, pair in enumerate(pairs) if not set(pair) & set(new)]
    if known:
        frame.append(line(OF_SEEN, over(known)))
    for name in new:
        to_seen = [
            (value[row, 0], row)
            for row, pair in enumerate(pairs)
            if pair[1] == name and pair[0] not in new and not np.isnan(value[row, 0])
        ]
        if to_seen:
            row = min(to_seen)[1]
            frame.append(line(NEAREST, over([row]), *pairs[row]))
    return frame


def _distances(sums: Sequence[ClassSums], weights: Array, domains: int, least: float) -> Array:
    """Distance of each pair of domains in each draw: ``(pairs, b)``, NaN where undefined.

    Args:
        sums: Of each class.
        weights: ``(G, b)``, how often each group is drawn.
        domains: How many.
        least: A variance that is not more than this is an error of rounding.
    """
    one, two = np.triu_indices(domains, 1)  # in the order of combinations
    between, within = [], []
    for of_class in sums:
        far = of_class.squared(weights)
        variance = np.einsum("aab->ab", far) / 2
        between.append(far[one, two] - variance[one] - variance[two])
        within.append(variance)
    unit = mean_defined(np.concatenate(within))
    return ratio(mean_defined(np.stack(between)), np.where(unit > least, unit, 0.0))
