"""Alignment and uniformity: how latents of length one are distributed on the sphere.

Lower alignment: images of a class are closer together. Lower uniformity: latents are spread more
evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.frame import ClassWeights
from medldr.metric import Metric

CHUNK = 2_000_000
"""Maximum number of distances or coordinates held at once."""
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


def class_weights(
    items: NDArray[np.number], pairs: NDArray[np.number], weighting: ClassWeights
) -> Array:
    """Weights of classes in alignment, not normalised; 0 for a class without a pair.

    Args:
        items: Images of each class, or of one class in each draw.
        pairs: Pairs of them.
        weighting: As in `Options.class_weights`.

    Example:
        >>> n = np.array([1, 2, 3])
        >>> [class_weights(n, n * (n - 1), name).tolist() for name in ("items", "pairs", "classes")]
        [[0.0, 2.0, 3.0], [0.0, 2.0, 6.0], [0.0, 1.0, 1.0]]
    """
    known = {"items": items, "pairs": pairs, "classes": np.ones_like(items)}
    return np.where(pairs > 0, known[weighting], 0).astype(np.float64)


def alignment(
    z: NDArray[np.floating], label: NDArray[np.int64], *, weighting: ClassWeights = "items"
) -> Estimate:
    """Mean squared distance of two images of the same class.

    Distances are averaged within each class, over all pairs of different images, and then over
    classes; a class of one image does not count.

    Args:
        z: ``(N, D)`` latents; scaled to length one here.
        label: ``(N,)`` class numbers.
        weighting: How classes are weighted.

    Returns:
        Between 0 and 4; undefined if no class has two images.

    Raises:
        ValueError: If a latent has no direction.

    Example:
        >>> z, label = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([0, 0, 1])
        >>> round(alignment(z, label).mean, 12)
        2.0

    Source:
        LatentDR's alignment score, after Wang and Isola 2020, whose positive pairs are two views
        of an image; latents of length one as there. The paper does not say how pairs are drawn
        from classes: by default the first image is any image, and classes count by their size.
    """
    _, place, n = np.unique(label, return_inverse=True, return_counts=True)
    weights = class_weights(n, n * (n - 1), weighting)
    if not weights.any():
        return Estimate(reason=NO_PAIR)
    sums, spread = np.zeros((len(n), z.shape[1])), np.zeros(len(n))
    for rows, unit in _blocks(z):
        sums += (place[rows] == np.arange(len(n))[:, None]).astype(np.float64) @ unit
    centre = sums / n[:, None]
    for rows, unit in _blocks(z):  # from the centres: no digits cancel in tight classes
        squared = ((unit - centre[place[rows]]) ** 2).sum(axis=1)
        spread += np.bincount(place[rows], squared, minlength=len(n))
    # The mean of |a - b|^2 over pairs is twice the mean of |a - centre|^2, with n - 1 for n.
    return Estimate(float(np.average(2 * spread / np.maximum(n - 1, 1), weights=weights)))


def uniformity(z: NDArray[np.floating], t: float = WIDTH) -> Estimate:
    """Log of the mean of ``exp(-t |a - b|^2)`` over all pairs of different images.

    Args:
        z: ``(N, D)`` latents; scaled to length one here.
        t: Width; the paper's value is 2.

    Returns:
        Between ``-4 t`` and 0; undefined for fewer than two images.

    Raises:
        ValueError: If a latent has no direction.

    Example:
        >>> round(uniformity(np.array([[1.0, 0.0], [0.0, 1.0]])).mean, 12)
        -4.0

    Source:
        LatentDR's uniformity score, after Wang and Isola 2020; pairs of an image with itself, which
        would bias small samples, are left out as in their code. The paper calls the score of the
        most even latents the highest, but by its formula it is the lowest.
    """
    n = len(z)
    if n < 2:
        return Estimate(reason=TOO_FEW)
    unit = unit_length(z)
    step = max(1, CHUNK // n)
    total = 0.0
    for start in range(0, n, step):
        block = closeness(unit[start : start + step], unit[start:], t)
        # Later images were not yet among the rows, so their pairs stand for both orders.
        total += 2 * float(block.sum()) - float(block[:, : len(block)].sum())
    return Estimate(float(np.log(total / (n * (n - 1)))))


def closeness(rows: Array, unit: Array, t: float = WIDTH) -> Array:
    """``exp(-t |a - b|^2)`` of some of the first latents and all latents, of length one.

    Args:
        rows: ``(M, D)``: the first M of ``unit``.
        unit: ``(N, D)``.
        t: Width.

    Returns:
        ``(M, N)``, where a pair of a latent with itself is 0.
    """
    block = rows @ unit.T
    np.minimum(block, 1, out=block)  # |a - b|^2 = 2 - 2 a b is never below 0
    block -= 1
    block *= 2 * t
    np.exp(block, out=block)
    np.fill_diagonal(block, 0)
    return block


def _blocks(z: NDArray[np.floating]) -> Iterator[tuple[slice, Array]]:
    """Rows, and their latents of length one."""
    step = max(1, CHUNK // z.shape[1])
    for start in range(0, len(z), step):
        yield slice(start, start + step), unit_length(z[start : start + step])
