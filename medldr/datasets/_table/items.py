"""What a row says besides its path: which part of the scan is kept, and its further columns."""

from __future__ import annotations

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
        InputError: If a row lacks its mask or point, or a mask does not exist.
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
                f"rows, such as that of {described.ids[empty[0]]}. Fill it in, or leave them out"
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
    found = find_places(texts, root)
    if found.absent:
        row, reason = next(iter(found.absent.items()))
        raise InputError(
            f"data.crop.mask: {len(found.absent):,} of {len(texts):,} masks cannot be found, such "
            f"as {texts[row]!r} of {described.ids[row]} ({reason})"
        )
    return [
        Source(place.path, place.part, mask=mask.path)
        for place, mask in zip(described.places, found.places, strict=True)
        if mask is not None
    ]


def _point(described: Described, row: int, cells: Sequence[str]) -> tuple[float, ...]:
    try:
        return tuple(float(cell) for cell in cells)
    except ValueError as error:
        raise InputError(
            f"data.crop.point: {', '.join(cells)} of {described.ids[row]} are not all numbers"
        ) from error


def further_columns(
    described: Described, crop: CropConfig | None
) -> Mapping[str, NDArray[np.str_]]:
    """Columns that results are divided by: all that do not only say which part is kept."""
    return {
        name: column for name, column in described.columns.items() if name not in crop_columns(crop)
    }
