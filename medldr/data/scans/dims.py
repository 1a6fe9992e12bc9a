"""Pictures and volumes: which of the two a scan is, and a volume seen as a picture.

Source:
    Our choice. A volume of a single slice is a picture, for no network of volumes has anything to
    see along an axis of one. Slices lie along the axis with the widest spacing, where one is
    clearly the widest; else from foot to head, as most are recorded; frames along the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from medldr.data.scans.rules import Rules
from medldr.data.scans.scan import Scan, ScanError

_WIDER: Final = 1.5
"""How much wider than the others a spacing is that tells where the slices lie."""


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


def as_dims(scan: Scan, rules: Rules) -> Scan:
    """A scan as a picture or as a volume, as the data set has them.

    A volume of one slice, or the frame that the rules choose, is a picture as radiologists see it:
    the patient's right on the left, the front (in other planes the head) at the top.

    Raises:
        ScanError: If a picture is wanted of several frames, or a volume of a picture.
    """
    spatial = scan.values.shape[1:]
    if not scan.is_volume:
        if rules.dims == 3:
            raise ScanError(a_picture())
        return scan
    if rules.dims == 3:
        return scan
    if not is_picture(spatial) and rules.frame == "error":
        raise ScanError(several(spatial, scan.spacing, film=scan.frames > 1))
    axis = across(spatial, scan.spacing)
    number = 0 if rules.frame == "first" else spatial[axis] // 2
    flat = np.take(scan.values, number, axis=axis + 1).swapaxes(1, 2)  # rows are the second axis
    if scan.affine is not None:
        flat = flat[:, ::-1, ::-1]
    _, spacing = seen_as(spatial, scan.spacing, 2)
    return replace(scan, values=np.ascontiguousarray(flat), spacing=spacing, affine=None)


def a_picture() -> str:
    """What to say of a picture among volumes."""
    return (
        "it is a picture, not a volume (data.dims: 3). Name the folder of all its slices, or train "
        "on pictures with data.dims=2"
    )


def several(spatial: Sequence[int], spacing: Sequence[float] | None, *, film: bool) -> str:
    """What to say of a volume, or of a film, among pictures."""
    count = spatial[across(spatial, spacing)]
    return (
        f"it has {count:,} {'frames' if film else 'slices'}, but pictures have one. Choose one "
        "with data.frame=first or middle, or train on volumes with data.dims=3"
    )
