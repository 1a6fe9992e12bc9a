"""Axes of a scan: a volume seen as a picture, and the part that is kept around a mask or a point.

Source:
    Our choice. A volume of a single slice is a picture, for no network of volumes has anything to
    see along an axis of one. Slices lie along the axis with the widest spacing, where one is
    clearly the widest; else from foot to head, as most are recorded; frames along the last axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.scan import Scan, ScanError, times

if TYPE_CHECKING:
    from PIL import Image

    from medldr.data.files.config import CropConfig, Rules

_WIDER: Final = 1.5
"""How much wider than the others a spacing is that tells where the slices lie."""


class Grid(Protocol):
    """Where pixels lie: a scan knows it, and so do the facts that are kept of one."""

    @property
    def spatial(self) -> tuple[int, ...]:
        """Pixels along each axis."""

    @property
    def spacing(self) -> tuple[float, ...] | None:
        """Millimetres between them."""

    @property
    def affine(self) -> Any:
        """From indices to places in the patient."""

    @property
    def frames(self) -> int:
        """Frames that have no places."""


# Pictures and volumes


def is_picture(spatial: Sequence[int]) -> bool:
    """Whether pixels of these numbers along each axis make one picture.

    Example:
        >>> is_picture((8, 6)), is_picture((8, 6, 1)), is_picture((8, 6, 4))
        (True, True, False)
    """
    return len(spatial) == 2 or 1 in spatial


def across(spatial: Sequence[int], spacing: Sequence[float] | None) -> int:
    """The axis along which the slices or frames of a volume lie.

    Example:
        >>> across((64, 64, 9), None), across((9, 64, 64), (5.0, 1.0, 1.0)), across((1, 8, 8), None)
        (2, 0, 0)
    """
    if 1 in spatial:
        return len(spatial) - 1 - list(spatial)[::-1].index(1)
    if spacing is None or max(spacing) < _WIDER * min(spacing):
        return 2
    return int(np.argmax(spacing))


def seen_as(
    spatial: tuple[int, ...], spacing: tuple[float, ...] | None, dims: int
) -> tuple[tuple[int, ...], tuple[float, ...] | None]:
    """Pixels and spacing along each axis, once a data set has that many axes; see `as_dims`.

    Example:
        >>> seen_as((8, 6, 4), (1.0, 2.0, 5.0), 2), seen_as((8, 6, 4), None, 3)
        (((6, 8), (2.0, 1.0)), ((8, 6, 4), None))
    """
    if dims == 3 or len(spatial) == 2:
        return spatial, spacing
    axis = across(spatial, spacing)
    columns, rows = (count for place, count in enumerate(spatial) if place != axis)
    if spacing is not None:
        x, y = (mm for place, mm in enumerate(spacing) if place != axis)
        spacing = (y, x)
    return (rows, columns), spacing


def require_dims(grid: Grid, dims: int, frame: str) -> None:
    """Refuse what a data set of so many axes has no place for.

    Args:
        grid: Of the scan.
        dims: Of the data set.
        frame: Which frame of several is taken (`data.frame`).

    Raises:
        ScanError: If a picture is wanted of several frames, or a volume of a picture.
    """
    spatial = grid.spatial
    if dims == 3 and len(spatial) == 2:
        raise ScanError(
            "it is a picture, not a volume (data.dims: 3). Name the folder of all its slices, or "
            "train on pictures with data.dims=2"
        )
    if dims == 2 and frame == "error" and not is_picture(spatial):
        count = spatial[across(spatial, grid.spacing)]
        raise ScanError(
            f"it has {count:,} {'frames' if grid.frames > 1 else 'slices'}, but pictures have one. "
            "Choose one with data.frame=first or middle, or train on volumes with data.dims=3"
        )


def as_dims(scan: Scan, rules: Rules) -> Scan:
    """A scan as a picture or as a volume, as the data set has them.

    A volume of one slice, or the frame that the rules choose, is a picture as radiologists see it:
    the patient's right on the left, the front (in other planes the head) at the top.

    Raises:
        ScanError: As `require_dims`.
    """
    require_dims(scan, rules.dims, rules.frame)
    if rules.dims == 3 or not scan.is_volume:
        return scan
    axis = across(scan.spatial, scan.spacing)
    number = 0 if rules.frame == "first" else scan.spatial[axis] // 2
    flat = as_picture(scan.values, axis, number, placed=scan.placed or scan.affine is not None)
    _, spacing = seen_as(scan.spatial, scan.spacing, 2)
    return replace(scan, values=flat, spacing=spacing, affine=None)


def as_picture(values: NDArray[Any], axis: int, number: int, *, placed: bool) -> NDArray[Any]:
    """A slice ``(C, rows, columns)`` of a volume ``(C, X, Y, Z)``, turned where that is RAS+."""
    flat = np.take(values, number, axis=axis + 1).swapaxes(1, 2)  # rows are the second axis
    return np.ascontiguousarray(flat[:, ::-1, ::-1] if placed else flat)


def apart(one: Grid, other: Grid) -> float:
    """How far the corners of a grid lie, in mm, from where another places the same indices.

    Args:
        one: The grid whose corners are looked at; it says where it lies.
        other: Says where it lies.
    """
    corners = np.array([*itertools.product(*((0, n - 1) for n in one.spatial))])
    moved = (np.array(one.affine) - np.array(other.affine))[:3]
    return float(np.linalg.norm(corners @ moved[:, :3].T + moved[:, 3], axis=1).max())


# The part that is kept


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
    margin = margin_around(scan, marked.shape, crop, marks=bool(marked.any()))
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
            f"its mask is {times(mask)}, but it is {times(grid.spatial)}. A mask needs the grid of "
            "its scan"
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
    start, stop = box_around(scan, point, crop)
    part = _cut(scan, start, stop)
    # A smaller box would be stretched to the size of the others, and so the scale would change.
    before, after = np.maximum(-start, 0), np.maximum(stop - scan.spatial, 0)
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
    if (middle < -0.5).any() or (middle >= np.array(grid.spatial) - 0.5).any():
        raise ScanError(
            f"its point ({', '.join(f'{n:g}' for n in point)}) lies outside of its "
            f"{times(grid.spatial)} pixels (data.crop.point, data.crop.point_in)"
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
    return np.asarray(np.linalg.solve(np.array(grid.affine), np.append(mm, 1.0))[:3])


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
    high = np.minimum(stop, scan.spatial)
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


def squashed(pixels: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture ``(1 or 3, h, w)`` of 8 bits at another size ``(H, W)``, whatever its proportions.

    Source:
        Pillow's bilinear filter over all pixels below one (antialiased).
    """
    if pixels.shape[1:] == size:
        return pixels
    from PIL import Image  # with a run's first picture, not with its start

    picture = Image.fromarray(as_shown(pixels))
    return as_stored(picture.resize(size[::-1], Image.Resampling.BILINEAR))


def as_shown(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pixels ``(1 or 3, H, W)`` as Pillow has them: ``(H, W)`` or ``(H, W, 3)``."""
    return np.ascontiguousarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))


def as_stored(picture: Image.Image) -> NDArray[np.uint8]:
    """A picture of Pillow's as pixels ``(1 or 3, H, W)``."""
    array = np.asarray(picture)
    return np.ascontiguousarray(array[None] if array.ndim == 2 else array.transpose(2, 0, 1))
