"""The part of a scan that is kept: around what a mask marks, or around a point."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.config import CropConfig
from medldr.data.scans.scan import Scan, ScanError


class Grid(NamedTuple):
    """Where the pixels of a scan lie, without the pixels.

    Attributes:
        spatial: Pixels along each axis.
        spacing: mm along each axis; None if unknown.
        affine: ``(4, 4)``, from indices of a volume to mm (RAS+); None if unknown.
    """

    spatial: tuple[int, ...]
    spacing: tuple[float, ...] | None
    affine: NDArray[np.float64] | None

    @classmethod
    def of(cls, scan: Scan) -> Grid:
        """That of a scan."""
        return cls(scan.values.shape[1:], scan.spacing, scan.affine)


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
    margin = margin_around(Grid.of(scan), marked.shape, crop, marks=bool(marked.any()))
    places = np.argwhere(marked)
    return _cut(scan, places.min(0) - margin, places.max(0) + 1 + margin)


def margin_around(
    grid: Grid, mask: tuple[int, ...], crop: CropConfig, *, marks: bool
) -> NDArray[np.int64]:
    """Pixels to be added around what a mask marks, along each axis.

    Args:
        grid: Of the scan.
        mask: Pixels of the mask along each axis.
        crop: Margin and its unit.
        marks: Whether the mask marks anything.

    Raises:
        ScanError: If the mask does not fit; see `around_mask`.
    """
    if mask != grid.spatial:
        raise ScanError(
            f"its mask is {_x(mask)}, but it is {_x(grid.spatial)}. A mask needs the grid of its "
            "scan"
        )
    if not marks:
        raise ScanError("its mask marks nothing")
    return _pixels((crop.margin,) * len(mask), grid, crop)


def around_point(scan: Scan, point: tuple[float, ...], crop: CropConfig) -> Scan:
    """A box of a given extent around a point; beyond the scan it has the scan's lowest value.

    Args:
        scan: What is cut.
        point: Its coordinates, counted as `crop` says.
        crop: Extent, units and what the coordinates count.

    Raises:
        ScanError: If the point is not in the scan, has another number of axes, or cannot be placed
            because the file does not say how the patient lay.
    """
    start, stop = box_around(Grid.of(scan), point, crop)
    part = _cut(scan, start, stop)
    # A smaller box would be stretched to the size of the others, and so the scale would change.
    before, after = np.maximum(-start, 0), np.maximum(stop - scan.values.shape[1:], 0)
    if not before.any() and not after.any():
        return part
    borders = [(0, 0), *zip(before.tolist(), after.tolist(), strict=True)]
    values = np.pad(part.values, borders, constant_values=scan.values.min())
    return replace(part, values=values, affine=_moved(part.affine, -before))


def box_around(
    grid: Grid, point: tuple[float, ...], crop: CropConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First index of the box around a point along each axis, and the one after its last.

    Raises:
        ScanError: If there is no such box; see `around_point`.
    """
    axes = len(grid.spatial)
    if len(point) != axes or crop.size is None:
        raise ScanError(f"it has {axes} axes, but its point has {len(point)} (data.crop.point)")
    middle = _index(grid, np.asarray(point, dtype=np.float64), crop)
    shape = np.array(grid.spatial)
    if (middle < -0.5).any() or (middle >= shape - 0.5).any():
        raise ScanError(
            f"its point ({', '.join(f'{n:g}' for n in point)}) lies outside of its "
            f"{_x(grid.spatial)} pixels (data.crop.point, data.crop.point_in)"
        )
    size = crop.size if axes == 3 else crop.size[::-1]
    extent = np.maximum(_pixels(size, grid, crop), 1)
    # Halves go up; `np.round` sends them to even numbers, up for one point and down for the next.
    start = np.floor(middle - (extent - 1) / 2 + 0.5).astype(np.int64)
    return start, start + extent


def _index(grid: Grid, point: NDArray[np.float64], crop: CropConfig) -> NDArray[np.float64]:
    """The point as an index along each axis of the values."""
    if crop.point_in == "index":
        return point if len(point) == 3 else point[::-1]  # x is the column of a picture
    if grid.affine is None or len(point) != 3:
        raise ScanError(
            "it does not say how the patient lay, so a point in mm cannot be placed. Give indices "
            "(data.crop.point_in=index)"
        )
    mm = point * (-1, -1, 1) if crop.point_in == "lps_mm" else point
    return np.asarray(np.linalg.solve(grid.affine, np.append(mm, 1.0))[:3])


def _pixels(extent: tuple[float, ...], grid: Grid, crop: CropConfig) -> NDArray[np.int64]:
    numbers = np.asarray(extent, dtype=np.float64)
    if crop.unit == "mm" and numbers.any():
        if grid.spacing is None:
            raise ScanError(
                "it does not say its spacing, which data.crop needs. Set data.crop.unit=pixel"
            )
        numbers = numbers / grid.spacing
    return np.round(numbers).astype(np.int64)


def _cut(scan: Scan, start: NDArray[np.int64], stop: NDArray[np.int64]) -> Scan:
    low = np.maximum(start, 0)
    high = np.minimum(stop, scan.values.shape[1:])
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    return replace(scan, values=scan.values[(slice(None), *box)], affine=_moved(scan.affine, low))


def _moved(
    affine: NDArray[np.float64] | None, start: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """The affine of a part that begins at an index."""
    if affine is None:
        return None
    moved = affine.copy()
    moved[:3, 3] += affine[:3, :3] @ start
    return moved


def _x(numbers: tuple[float, ...]) -> str:
    return " x ".join(f"{n:g}" for n in numbers)
