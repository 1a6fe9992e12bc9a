"""Alignment and uniformity: how latents of length one are distributed on the sphere.

Lower alignment: images of a class are closer together. Lower uniformity: latents are spread more
evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.drawn import Drawn, sample_of, units_of
from medldr.evaluation.representation.frame import Options
from medldr.folders.latents_record import Latents
from medldr.metric import Metric

WIDTH = 2.0
"""The paper's t."""
ALIGNMENT: Final = Metric(
    "alignment", "Alignment", better="lower", range=(0.0, 4.0),
    meaning="How far apart two images of the same class are: the mean squared distance of their "
    "latents, scaled to length one, from 0 (the same) to 4 (opposite).",
)  # fmt: skip
UNIFORMITY: Final = Metric(
    "uniformity", "Uniformity", better="lower", range=(-4 * WIDTH, 0.0),
    meaning="How evenly the latents of all images are spread over all directions: 0 means that all "
    "are the same; the lower, the more evenly they are spread.",
)  # fmt: skip
NO_PAIR = "no class has two images here"
TOO_FEW = "fewer than two images"
NO_DIRECTION = "a latent is zero or not finite, so it has no direction"


def unit_length(z: NDArray[np.floating]) -> Array:
    """Latents ``(N, D)`` as float64 of length one.

    Raises:
        ValueError: If a latent is zero or not finite, and so has no direction.
    """
    z64 = np.asarray(z, dtype=np.float64)
    # Relative to the largest coordinate, so that squares of any latent neither overflow nor vanish.
    largest = np.abs(z64).max(axis=1, initial=0.0, keepdims=True)
    if not (np.isfinite(largest) & (largest > 0)).all():
        raise ValueError(NO_DIRECTION)
    z64 = z64 / largest
    out: Array = z64 / np.linalg.norm(z64, axis=1, keepdims=True)
    return out


def closeness(unit: Array) -> Array:
    """``exp(-t |a - b|^2)`` of all pairs of latents of length one.

    Args:
        unit: ``(N, D)``.

    Returns:
        ``(N, N)``, where a pair of a latent with itself is 0.

    Source:
        LatentDR's uniformity score, after Wang and Isola 2020; pairs of an image with itself, which
        would bias small samples, are left out as in their code. The paper calls the score of the
        most even latents the highest, but by its formula it is the lowest.
    """
    block = unit @ unit.T
    np.minimum(block, 1, out=block)  # |a - b|^2 = 2 - 2 a b is never below 0
    block -= 1
    block *= 2 * WIDTH
    np.exp(block, out=block)
    np.fill_diagonal(block, 0)
    return block


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

    @property
    def weight(self) -> Array:
        """``(B,)``: what a class counts for in alignment; 0 in a draw without a pair of it."""
        return np.where(self.pairs > 0, self.items, 0.0)


def pair_sums(
    between: Array, rows: NDArray[np.int64], unit: NDArray[np.int64], weights: Array
) -> PairSums:
    """Sums over all pairs of different rows, in every bootstrap draw of groups at once.

    A draw has each group some number of times. Two images are a pair of the draw where they are of
    different groups, as often as these meet, and where they are of the same copy of one group. Two
    copies of a group make no pairs with each other: as copies of one image do, they would pretend
    that images of different patients are as close as those of one.

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


Mask = NDArray[np.bool_]

APART: Final = Metric(
    "alignment_difference", "Between minus within domains", better="lower", range=(-4.0, 4.0),
    meaning="How much further apart two images of the same class are when they come from different "
    "domains than when they come from one; 0 means that the centre of a class is the same in all "
    "domains.",
)  # fmt: skip
SEVERAL_LABELS = "an image can have several labels, so it has no single class"
ONE_DOMAIN = "too few images of one class from different domains here"


class PairScores:
    """One kind of latents of some images, with draws of their groups.

    Args:
        held: The images.
        view: Which latents.
        options: Draws.

    Source:
        LatentDR's alignment score, after Wang and Isola 2020, whose positive pairs are two views of
        an image; latents of length one as there. The paper does not say how pairs are drawn from
        classes: here the first image is any image, and classes count by their size.
    """

    def __init__(self, held: Latents, view: str, options: Options) -> None:
        self.held, self.missing = held, ""
        self.units = units_of(held)
        count = self.units.count
        drawn = group_weights(count, options.draws, stream(options.seed, "geometry"), len(held))
        # The first "draw" has every group once: it gives the number itself.
        self.weights = np.hstack([np.ones((count, 1)), *drawn])
        try:
            unit = unit_length(held.views[view].z)
        except ValueError:
            self.missing, unit = NO_DIRECTION, np.ones((len(held), 1))
        self._near = closeness(unit)
        self._squared = np.maximum(2 - 2 * unit @ unit.T, 0)
        np.fill_diagonal(self._squared, 0)
        self._known: dict[bytes, PairSums] = {}

    def uniformity(self, mask: Mask) -> Estimate:
        """Of all pairs of these images."""
        sums = pair_sums(self._near, np.flatnonzero(mask), self.units.number, self.weights)
        return self._estimate(UNIFORMITY, np.log(sums.mean), mask, TOO_FEW)

    def alignment(self, mask: Mask, classes: Sequence[Mask]) -> Estimate:
        """Of pairs of these images that are of the same class."""
        sums = [self._sums(mask & one) for one in classes]
        values = weighted([s.mean for s in sums], [s.weight for s in sums])
        mask = mask & np.logical_or.reduce(classes, initial=False)
        return self._estimate(ALIGNMENT, values, mask, NO_PAIR)

    def across(
        self, classes: Sequence[Mask], domains: Sequence[Mask]
    ) -> tuple[Estimate, Estimate, Estimate]:
        """Alignment within domains, between domains, and the difference.

        A domain counts within as often as it does between: else a large domain with latents close
        together would make a difference where no domain is apart from another. Classes that lack
        pairs of one kind are left out, and classes have the same weights in both.
        """
        inside, outside, weights = [], [], []
        named = np.logical_or.reduce(domains, initial=False)
        for one in classes:
            every = self._sums(one & named)
            parts = [self._sums(one & domain) for domain in domains]
            between = rest(every, parts)
            counts = [part.items * (every.items - part.items) * (part.pairs > 0) for part in parts]
            inside.append(weighted([part.mean for part in parts], counts))
            outside.append(between.mean)
            both = ~np.isnan(inside[-1]) & ~np.isnan(outside[-1])
            weights.append(np.where(both, every.weight, 0))
        near, far = weighted(inside, weights), weighted(outside, weights)
        mask = np.logical_or.reduce(classes, initial=False) & named
        found = ((ALIGNMENT, near), (ALIGNMENT, far), (APART, far - near))
        within, across, apart = (self._estimate(m, drawn, mask, ONE_DOMAIN) for m, drawn in found)
        return within, across, apart

    def _sums(self, mask: Mask) -> PairSums:
        """Of squared distances; a class of a domain counts in several numbers."""
        rows = np.flatnonzero(mask)
        key = rows.tobytes()
        if key not in self._known:
            self._known[key] = pair_sums(self._squared, rows, self.units.number, self.weights)
        return self._known[key]

    def _estimate(self, metric: Metric, values: Array, mask: Mask, reason: str) -> Estimate:
        if self.missing:
            return Estimate(reason=self.missing)
        if metric is not UNIFORMITY and self.held.label.ndim == 2:
            return Estimate(reason=SEVERAL_LABELS)
        sample = sample_of(self.units, mask)
        return Drawn(float(values[0]), values[1:], sample, reason).estimate(metric)
