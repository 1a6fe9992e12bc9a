"""What readers of any result should know of how the images were looked at and read."""

from __future__ import annotations

from typing import Final

import numpy as np

from medldr.data.image_table import ImageTable, LazyImages
from medldr.data.packs.pack import Pack
from medldr.data.reading.check import check_table

_LOOKED_AT_UP_TO: Final = 1 << 30
"""Bytes; `medldr data check` and `pack` look at every image of any set."""


def findings(table: ImageTable, pack: Pack | None) -> tuple[str, ...]:
    """Findings from reading every image: as recorded when that was done, or now if it is quick."""
    if pack is not None:
        return pack.facts.findings
    if table.looks is not None:
        return tuple(check_table(table))
    images = table.images
    in_memory = isinstance(images, np.ndarray) and not isinstance(images, np.memmap)
    if in_memory and images.nbytes < _LOOKED_AT_UP_TO:
        return tuple(check_table(table))
    return ()


def reading(table: ImageTable, workers: int) -> tuple[str, ...]:
    """How pictures could be read faster, where training would wait for them."""
    if workers or not isinstance(table.images, LazyImages):
        return ()
    return (
        f"{table.name} is decoded by the training process itself: set machine.workers to decode "
        "ahead of it, or decode everything once with `medldr data pack`",
    )
