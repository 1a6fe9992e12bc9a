"""The part of a scan that is kept: around what a mask marks, or around a point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.config import CropConfig
from medldr.data.scans.scan import Scan, ScanError


def around_mask(scan: Scan, mask: Scan, crop: CropConfig) -> Scan:
    """The smallest box that holds everything a mask marks, and a margin.

    Args:
        scan: What is cut.
        mask: Read like the scan; every value but 0 marks.
        crop: Margin and its unit.

    Raises:
        ScanError: If the mask has another shape, marks nothing, or the margin is in mm and the
            spacing is unknown.
    """
    marked = (mask.values != 0).any(axis=0)
    if marked.shape != scan.values.shape[1:]:
        raise ScanError(
            f"its mask is {_x(marked.shape)}, but it is {_x(scan.values.shape[1:])}. A mask needs "
            "the grid of its scan"
        )
    places = np.argwhere(marked)
    if not len(places):
        raise ScanError("its mask marks nothing")
    margin = _pixels((crop.margin,) * places.shape[1], scan, crop)
    return _cut(scan, places.min(0) - margin, places.max(0) + 1 + margin)


def around_point(scan: Scan, point: tuple[float, ...], crop: CropConfig) -> Scan:
    """A box of a given extent around a point; what would lie outside of the scan is left out.

    Args:
        scan: What is cut.
        point: Its coordinates, counted as `crop` says.
        crop: Extent, units and what the coordinates count.

    Raises:
        ScanError: If the point is not in the scan, has another number of axes, or cannot be placed
            because the file does not say how the patient lay.
    """
    axes = scan.values.ndim - 1
    if len(point) != axes or crop.size is None:
        raise ScanError(f"it has {axes} axes, but its point has {len(point)} (data.crop.point)")
    middle = _index(scan, np.asarray(point, dtype=np.float64), crop)
    shape = np.array(scan.values.shape[1:])
    if (middle < -0.5).any() or (middle > shape - 0.5).any():
        raise ScanError(
            f"its point {_x(tuple(round(n, 1) for n in middle.tolist()))} lies outside of its "
            f"{_x(shape.tolist())} pixels (data.crop.point, data.crop.point_in)"
        )
    size = crop.size if axes == 3 else crop.size[::-1]
    extent = np.maximum(_pixels(size, scan, crop), 1)
    start = np.round(middle - (extent - 1) / 2).astype(int)
    return _cut(scan, start, start + extent)


def _index(scan: Scan, point: NDArray[np.float64], crop: CropConfig) -> NDArray[np.float64]:
    """The point as an index along each axis of the values."""
    if crop.point_in == "index":
        return point if len(point) == 3 else point[::-1]  # x is the column of a picture
    if scan.affine is None or len(point) != 3:
        raise ScanError(
            "it does not say how the patient lay, so a point in mm cannot be placed. Give indices "
            "(data.crop.point_in=index)"
        )
    mm = point * (-1, -1, 1) if crop.point_in == "lps_mm" else point
    return np.asarray(np.linalg.solve(scan.affine, np.append(mm, 1.0))[:3])


def _pixels(extent: tuple[float, ...], scan: Scan, crop: CropConfig) -> NDArray[np.int64]:
    numbers = np.asarray(extent, dtype=np.float64)
    if crop.unit == "mm" and numbers.any():
        if scan.spacing is None:
            raise ScanError(
                "it does not say its spacing, which data.crop needs. Set data.crop.unit=pixel"
            )
        numbers = numbers / scan.spacing
    return np.round(numbers).astype(np.int64)


def _cut(scan: Scan, start: NDArray[np.int64], stop: NDArray[np.int64]) -> Scan:
    low = np.maximum(start, 0)
    high = np.minimum(stop, scan.values.shape[1:])
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    affine = scan.affine
    if affine is not None:
        affine = affine.copy()
        affine[:3, 3] += affine[:3, :3] @ low
    return replace(scan, values=scan.values[(slice(None), *box)], affine=affine)


def _x(numbers: tuple[float, ...] | list[int]) -> str:
    return " x ".join(f"{n:g}" for n in numbers)
