"""The ways in which items become stored images, as a run's record names them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from medldr.data.image_table import ImageTable
from medldr.data.scans.rules import Rules

SCAN: Final = "scan"
OWN_PICTURE: Final = "own picture"
PICTURE: Final = "picture"
PACK: Final = "pack"
"""Images from a pack without its original files: how they were read is not known."""


def reading_of(table: ImageTable) -> dict[str, Any]:
    """How items become the images of a data set, as plain values.

    Args:
        table: The data set. One that was not made of files, such as arrays in an archive, is read
            as arrays and pictures of its size are.
    """
    if table.reading is not None:
        return dict(table.reading)
    channels, *size = table.images.shape[1:]
    eight_bit = table.images.dtype == np.uint8
    rules = Rules(
        dims=2 if len(size) == 2 else 3,
        channels=channels,
        size=tuple(size),
        spacing=None,
        pad=False,
        window="auto",
        percentiles=(0.5, 99.5),
        bit_depth=8 if eight_bit else 16,
        frame="error",
        ground="white",
        exif=True,
        crop=None,
        eight_bit=eight_bit and len(size) == 2,
    )
    return {"kind": SCAN, **rules.as_dict()}
