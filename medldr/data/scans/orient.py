"""Turning a volume so that its indices grow towards the patient's right, front and head (RAS+)."""

from __future__ import annotations

from typing import Any

import numpy as np
from nibabel import orientations
from numpy.typing import NDArray


def usable(affine: NDArray[Any]) -> bool:
    """Whether an affine maps indices to places: finite, and no axis of it vanishes."""
    linear = np.asarray(affine, np.float64)[:3, :3]
    if not np.isfinite(affine).all():
        return False
    lengths = np.linalg.norm(linear, axis=0)
    return bool(lengths.min() > 0 and abs(np.linalg.det(linear / lengths)) > 1e-6)


def spacing_of(affine: NDArray[Any]) -> tuple[float, float, float]:
    """Mm between neighbours along each axis: the lengths of an affine's columns."""
    x, y, z = np.linalg.norm(affine[:3, :3], axis=0).tolist()
    return x, y, z


def directions(affine: NDArray[Any]) -> str:
    """Where each axis points, as far as one letter says it.

    Example:
        >>> directions(np.diag([-1.0, 1, 2, 1]))
        'LAS'
    """
    codes = orientations.aff2axcodes(affine)  # type: ignore[no-untyped-call]
    return "".join(map(str, codes))


def canonical(
    values: NDArray[Any], affine: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Flip and exchange axes until they point as nearly to RAS+ as they can; nothing is resampled.

    Source:
        The rule of ``nibabel.as_closest_canonical``, of which these are the parts.

    Args:
        values: ``(C, X, Y, Z)``.
        affine: ``(4, 4)``, from its indices to mm (RAS+); must be `usable`.

    Returns:
        The values, contiguous, and their affine: oblique and sheared ones stay so.

    Example:
        >>> turned, affine = canonical(np.arange(2).reshape(1, 2, 1, 1), np.diag([-1.0, 1, 1, 1]))
        >>> turned.ravel(), affine[0].tolist()
        (array([1, 0]), [1.0, 0.0, 0.0, -1.0])
    """
    turns = orientations.io_orientation(affine)  # type: ignore[no-untyped-call]
    last = np.moveaxis(values, 0, -1)
    turned = orientations.apply_orientation(last, turns)  # type: ignore[no-untyped-call]
    back = orientations.inv_ornt_aff(turns, values.shape[1:])  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(np.moveaxis(turned, -1, 0)), affine.astype(np.float64) @ back
