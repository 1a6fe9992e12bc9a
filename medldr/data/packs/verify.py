"""Reading a whole pack again: is it what was written, and does it match its source?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.console import Console

from medldr.data.image_table import Images, LazyImages
from medldr.data.loading.workers import ahead
from medldr.data.packs.blocks import Blocks, hash_block
from medldr.data.packs.format import FACTS, IMAGES
from medldr.data.packs.open import Pack
from medldr.data.threads import progress
from medldr.errors import InputError

_LISTED = 10


def verify_blocks(pack: Pack, console: Console) -> None:
    """Compare every block with the hash that it was written with.

    Raises:
        InputError: If one is damaged; names its rows.
    """
    blocks = Blocks(len(pack.images), pack.facts.block_rows)
    if len(pack.facts.blocks) != len(blocks):
        raise InputError(f"{pack.folder / FACTS} is damaged: its blocks do not match {IMAGES}")
    bad = []
    with progress(console, "reading the pack", blocks.rows) as advance:
        for number, digest in enumerate(pack.facts.blocks):
            if hash_block(pack.images, blocks[number]) != digest:
                bad.append(blocks[number])
            advance(blocks.size(number))
    if bad:
        places = ", ".join(f"{rows.start} to {rows.stop - 1}" for rows in bad[:_LISTED])
        raise InputError(
            f"{pack.folder / IMAGES} is damaged: {len(bad)} of {len(blocks)} blocks differ from "
            f"what was written (rows {places}{', ...' if len(bad) > _LISTED else ''}). Remove "
            f"{pack.folder} and pack it again"
        )


@dataclass(frozen=True)
class _Comparison:
    """Compares one block of the source with the pack; returns its bad rows and why each is bad."""

    source: Images
    pack: Pack
    blocks: Blocks

    def __call__(self, number: int) -> tuple[int, list[tuple[int, str]]]:
        rows = self.blocks[number]
        try:
            same = np.array_equal(self.source[rows], self.pack.images[rows])
        except InputError:
            same = False
        return number, [] if same else [
            (row, reason)
            for row in range(rows.start, rows.stop)
            if (reason := self._difference(row)) is not None
        ]

    def _difference(self, row: int) -> str | None:
        try:
            same = np.array_equal(self.source[row], self.pack.images[row])
        except InputError as error:
            return str(error)
        return None if same else "different pixels"


def verify_source(pack: Pack, source: Images, *, workers: int, console: Console) -> None:
    """Compare every picture of the source with the pack.

    Args:
        pack: A pack with the same rows as the source.
        source: The images of the data set itself.
        workers: Processes that decode; 0 decodes in this one.
        console: Where to show progress.

    Raises:
        InputError: If a picture differs or cannot be read; names the first ones.
    """
    blocks = Blocks(len(pack.images), pack.facts.block_rows)
    count = workers if isinstance(source, LazyImages) else 0
    bad: list[tuple[int, str]] = []
    with progress(console, "comparing with the source", blocks.rows) as advance:
        numbers = range(len(blocks))
        for number, found in ahead(_Comparison(source, pack, blocks), numbers, count):
            bad += found
            advance(blocks.size(number))
    if bad:
        ids = pack.table().ids
        listed = "".join(f"\n  {ids[row]}: {reason}" for row, reason in bad[:_LISTED])
        more = f"\n  and {len(bad) - _LISTED} more" if len(bad) > _LISTED else ""
        raise InputError(
            f"{len(bad)} of {blocks.rows:,} images in {pack.folder} differ from the source:"
            f"{listed}{more}\nIf the source is right, pack it again (`medldr data pack` without "
            "--verify)"
        )
