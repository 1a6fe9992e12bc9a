"""How latents are distributed on the sphere: alignment of classes and uniformity over the data.

Both are computed on latents of length one, as their authors define them. Lower alignment: items
of a class are closer together. Lower uniformity: latents are spread more evenly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array

CHUNK = 2_000_000
"""Maximum number of distances held at once."""


def unit_length(z: NDArray[np.floating]) -> Array:
    """Latents ``(N, D)`` as float64 of length one.

    Raises:
        ValueError: If a latent is zero or not finite, and so has no direction.
    """
    z64 = np.asarray(z, dtype=np.float64)
    norm = np.linalg.norm(z64, axis=1, keepdims=True)
    if not (np.isfinite(norm) & (norm > 0)).all():
        raise ValueError("a latent is zero or not finite, so it has no direction")
    out: Array = z64 / norm
    return out


def alignment(z: NDArray[np.floating], label: NDArray[np.int64]) -> float | None:
    """Mean squared distance of two items of the same class.

    The first item is any item, the second any *other* item of its class, which weights classes
    by their size; an item alone in its class does not count.

    Args:
        z: ``(N, D)`` latents; scaled to length one here.
        label: ``(N,)`` class numbers.

    Returns:
        Between 0 and 4; None if no class has two items.

    Example:
        >>> alignment(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([0, 0, 1]))
        2.0

    Source:
        LatentDR's alignment score, after Wang and Isola 2020, whose positive pairs are two views
        of an item; latents of length one as there. Weighting classes by size is our choice.
    """
    unit = unit_length(z)
    total, items = 0.0, 0
    for k in np.unique(label):
        members = unit[label == k]
        n = len(members)
        if n < 2:
            continue
        # Over ordered pairs: sum |a - b|^2 = 2 (n sum |a|^2 - |sum a|^2).
        pairs = 2 * (n * (members**2).sum() - (members.sum(axis=0) ** 2).sum())
        total += n * max(float(pairs), 0.0) / (n * (n - 1))
        items += n
    return total / items if items else None


def uniformity(z: NDArray[np.floating], t: float = 2.0) -> float | None:
    """Log of the mean of ``exp(-t |a - b|^2)`` over all pairs of different items.

    Args:
        z: ``(N, D)`` latents; scaled to length one here.
        t: Width; the paper's value is 2.

    Returns:
        Between ``-4 t`` and 0; None for fewer than two items.

    Example:
        >>> uniformity(np.array([[1.0, 0.0], [0.0, 1.0]]))
        -4.0

    Source:
        LatentDR's uniformity score, after Wang and Isola 2020; pairs of an item with itself, which
        would bias small samples, are left out as in their code.
    """
    unit = unit_length(z)
    n = len(unit)
    if n < 2:
        return None
    step = max(1, CHUNK // n)
    total = 0.0
    for start in range(0, n, step):
        block = unit[start : start + step]
        squared = np.maximum(2 - 2 * block @ unit.T, 0)
        squared[np.arange(len(block)), start + np.arange(len(block))] = np.inf  # exp gives 0
        total += float(np.exp(-t * squared).sum())
    # Distant pairs underflow only at t far above any used: exp(-4 t) at t = 2 is 0.0003.
    return float(np.log(total / (n * (n - 1))))
