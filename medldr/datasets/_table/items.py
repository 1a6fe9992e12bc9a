"""What a row says besides its path: which part of the scan is kept, and its further columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.config import CropConfig
from medldr.data.scans.source import Source
from medldr.datasets._table.describe import Described
from medldr.datasets._table.places import find_places
from medldr.errors import InputError


def crop_columns(crop: CropConfig | None) -> tuple[str, ...]:
    """Columns that say which part of a scan is kept.

    Example:
        >>> crop_columns(CropConfig(mask="lesion")), crop_columns(None)
        (('lesion',), ())
    """
    if crop is None:
        return ()
    return (crop.mask,) if crop.mask is not None else crop.point or ()


def sources(described: Described, crop: CropConfig | None, root: Path) -> list[Source]:
    """Where each item is, with its mask or point.

    Args:
        described: All rows.
        crop: Which part is kept.
        root: Folder that paths of masks are relative to.

    Raises:
        InputError: If a row names no mask or point, or one that is no number.
    """
    places = described.places
    if crop is None:
        return [Source(place.path, place.part) for place in places]
    texts = {name: described.columns[name].tolist() for name in crop_columns(crop)}
    for name, cells in texts.items():
        empty = [row for row, cell in enumerate(cells) if not cell]
        if empty:
            raise InputError(
                f"data.crop: the column {name!r} is empty in {len(empty):,} of {len(cells):,} "
                f"rows, such as that of {described.ids[empty[0]]}. Fill it in, or take these rows "
                "out of the table"
            )
    if crop.mask is not None:
        return _with_masks(described, texts[crop.mask], root)
    points = [
        _point(described, row, [cells[row] for cells in texts.values()])
        for row in range(len(places))
    ]
    return [
        Source(place.path, place.part, point=point)
        for place, point in zip(places, points, strict=True)
    ]


def _with_masks(described: Described, texts: Sequence[str], root: Path) -> list[Source]:
    """Items with their masks; one that is absent is told with all that cannot be used."""
    found = find_places(texts, root)
    masks = [
        Source(root / text) if mask is None else Source(mask.path, mask.part)
        for text, mask in zip(texts, found.places, strict=True)
    ]
    return [
        Source(place.path, place.part, mask=mask)
        for place, mask in zip(described.places, masks, strict=True)
    ]


def _point(described: Described, row: int, cells: Sequence[str]) -> tuple[float, ...]:
    try:
        point = tuple(float(cell) for cell in cells)
    except ValueError:
        point = (math.nan,)
    if not all(map(math.isfinite, point)):
        raise InputError(
            f"data.crop.point: {', '.join(cells)} of {described.ids[row]} are not all numbers"
        )
    return point


def further_columns(
    described: Described, crop: CropConfig | None
) -> Mapping[str, NDArray[np.str_]]:
    """Columns that results are divided by: all that do not only say which part is kept."""
    return {
        name: column for name, column in described.columns.items() if name not in crop_columns(crop)
    }
