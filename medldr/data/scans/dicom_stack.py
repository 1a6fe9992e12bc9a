"""Slices to a volume: in the order of their places, never of their names or numbers.

Source:
    Slices are ordered along the normal of their plane, and the step between them is the mean one
    from the first to the last, as in ITK's ImageSeriesReader. Our choices: two slices at one place
    are refused, for one of them would have to be left out; uneven steps are told, not resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.dicom_planes import Plane
from medldr.data.scans.scan import ScanError

_SAME_DIRECTION: Final = 1e-3
"""Largest difference between components of two equal directions: a twentieth of a degree."""

_SAME_PLACE: Final = 1e-3
"""mm between two slices at one place; the thinnest slices there are lie 0.1 mm apart."""

_EVEN: Final = 0.01
"""Largest share by which even steps differ, and by which they leave the normal."""


class Stack(NamedTuple):
    """Where a volume of slices lies.

    Attributes:
        order: Indices of the slices, from the first to the last along the normal.
        affine: ``(4, 4)``, from (column, row, slice) to mm (RAS+), with lengths of 1 mm where
            they are unknown.
        measured: Whether all three lengths are known.
        warnings: Of gaps and tilt, and of what is unknown.
    """

    order: list[int]
    affine: NDArray[np.float64]
    measured: bool
    warnings: tuple[str, ...]


def stack(planes: Sequence[Plane]) -> Stack:
    """Order slices.

    Args:
        planes: Of each slice, in any order; at least one.

    Raises:
        ScanError: If they are not parallel, differ in spacing, or two have one place.
    """
    first = planes[0]
    _check_parallel(planes)
    places = np.array([plane.position for plane in planes])
    heights = (places - places[0]) @ first.normal
    order = np.argsort(heights, kind="stable").tolist()
    _check_places(heights[order])
    said: list[str] = []
    step = first.normal * (first.thickness or 1.0)
    if len(planes) > 1:
        step = (places[order[-1]] - places[order[0]]) / (len(planes) - 1)
        said += _uneven(heights[order])
        said += _tilted(step, first.normal)
    elif first.thickness is None:
        said.append("its single slice has no thickness: the spacing is unknown")
    if first.spacing is None:
        said.append("its pixel spacing is unknown: the file has none, or zero")
    rows, columns = first.spacing or (1.0, 1.0)
    affine = np.eye(4)
    affine[:3, 0] = first.along_row * columns
    affine[:3, 1] = first.along_column * rows
    affine[:3, 2] = step
    affine[:3, 3] = places[order[0]]
    affine[:2] *= -1  # LPS to RAS
    measured = first.spacing is not None and (len(planes) > 1 or first.thickness is not None)
    return Stack(order, affine, measured, tuple(said))


def _check_parallel(planes: Sequence[Plane]) -> None:
    first = planes[0]
    for name in ("along_row", "along_column"):
        apart = [np.abs(getattr(p, name) - getattr(first, name)).max() for p in planes]
        others = sum(difference > _SAME_DIRECTION for difference in apart)
        if others:
            raise ScanError(
                f"its {len(planes)} slices are not parallel: {others} have another orientation "
                "than the first. Put those of each orientation into a folder of their own"
            )
    spacings = {p.spacing and (round(p.spacing[0], 4), round(p.spacing[1], 4)) for p in planes}
    if len(spacings) > 1:
        raise ScanError(
            f"its {len(planes)} slices have {len(spacings)} different pixel spacings. Put those "
            "of each spacing into a folder of their own"
        )


def _check_places(heights: NDArray[np.float64]) -> None:
    """Refuse places that several slices share."""
    new = np.diff(heights) > _SAME_PLACE
    places = 1 + int(new.sum())
    if places < len(heights):
        raise ScanError(
            f"its {len(heights)} slices lie at only {places} places: they are several echoes, "
            "points of time or versions of one volume. Put those of one volume into a folder of "
            "their own, or convert it to NIfTI and choose a volume there"
        )


def _uneven(heights: NDArray[np.float64]) -> list[str]:
    steps = np.diff(heights)
    usual = float(np.median(steps))
    other = int((np.abs(steps - usual) > _EVEN * usual).sum())
    if not other:
        return []
    return [
        f"{other} of {len(steps)} distances between its slices differ from the usual "
        f"{usual:.4g} mm, from {steps.min():.4g} to {steps.max():.4g} mm: slices may be missing"
    ]


def _tilted(step: NDArray[np.float64], normal: NDArray[np.float64]) -> list[str]:
    across = abs(float(step @ normal))
    aside = float(np.linalg.norm(step - (step @ normal) * normal))
    if aside <= _EVEN * across:
        return []
    angle = np.degrees(np.arctan2(aside, across))
    return [f"its slices are shifted against each other (gantry tilt of {angle:.1f} degrees)"]
