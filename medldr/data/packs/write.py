"""Making a pack: block by block, resumed where it stopped, and never left incomplete.

Work in progress is in `<folder>.partial`. Each block written is recorded with its hash; at the end
everything is read back and compared, and only then does the folder take its name.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from rich.console import Console

from medldr.data.config import DatasetConfig
from medldr.data.image_table import Images, ImageTable, LazyImages
from medldr.data.loading.workers import ahead
from medldr.data.packs.blocks import Blocks, hash_block
from medldr.data.packs.finish import describe, take_name
from medldr.data.packs.format import IMAGES
from medldr.data.packs.journal import Journal, plan_of
from medldr.data.threads import progress
from medldr.errors import InputError
from medldr.folders.files import StorageError, storage_errors

_LISTED: Final = 10
_SPARE: Final = 1 << 20  # bytes for `pack.json` and the folder


class _Block(NamedTuple):
    """What a worker reports for a block: its hash, or why there is none."""

    number: int
    sha256: str = ""
    unreadable: tuple[str, ...] = ()
    not_stored: str = ""


@dataclass(frozen=True)
class _Writer:
    """Reads one block of the source and writes it to its place in `images.npy`."""

    images: Images
    blocks: Blocks
    path: Path
    offset: int

    def __call__(self, number: int) -> _Block:
        try:
            block = read_rows(self.images, self.blocks[number])
        except InputError as error:
            # A disk that failed briefly may read each row now: the block is reported all the same.
            return _Block(number, unreadable=tuple(self._unreadable(number)) or (str(error),))
        row_bytes = block.nbytes // len(block)
        try:
            with storage_errors(self.path, block.nbytes), self.path.open("r+b") as file:
                file.seek(self.offset + self.blocks[number].start * row_bytes)
                file.write(block.data)
        except StorageError as error:
            return _Block(number, not_stored=str(error))
        return _Block(number, sha256=hashlib.sha256(block.data).hexdigest())

    def _unreadable(self, number: int) -> Iterator[str]:
        """Why each bad row of a block is bad; all are listed, to be repaired together."""
        rows = self.blocks[number]
        for row in range(rows.start, rows.stop):
            try:
                self.images[row]
            except InputError as error:
                yield str(error)


def read_rows(images: Images, rows: slice) -> NDArray[np.uint8]:
    """Some rows, contiguous.

    Raises:
        ValueError: If their shape or type differs from what the images declare.
    """
    block = np.ascontiguousarray(images[rows])
    if block.dtype != np.uint8 or block.shape != (rows.stop - rows.start, *images.shape[1:]):
        raise ValueError(f"rows {rows} are {block.dtype} {block.shape}, not uint8 {images.shape}")
    return block


def write_pack(
    table: ImageTable, section: DatasetConfig, folder: Path, *, workers: int, console: Console
) -> None:
    """Make a pack of a table, or resume an unfinished one.

    Args:
        table: As the data set gives it; validated.
        section: The `data` section it comes from.
        folder: The pack; replaced when there is one, once the new one is whole.
        workers: Processes that read; 0 reads in this one.
        console: Where to show progress.

    Raises:
        InputError: If pictures cannot be read; names them.
        StorageError: If there is no room or no permission, or the disk returns different bytes.
    """
    partial = partial_of(folder)
    blocks = Blocks.of(table.images.shape)
    path = partial / IMAGES
    journal = Journal(partial, plan_of(table, section, blocks.each))
    with storage_errors(folder):
        partial.mkdir(parents=True, exist_ok=True)
        begun, recorded = _begun(path, table.images.shape), journal.read()
        if begun is None or recorded is None:
            shutil.rmtree(partial)
            _check_room(folder.parent, table.images.nbytes + _SPARE, folder)
            partial.mkdir()
            offset = _write_header(path, table.images.shape)
            journal.begin()
            good: dict[int, str] = {}
        else:
            offset = begun
            good = _still_good(recorded, table, blocks, path, offset, console)
            missing = sum(blocks.size(n) for n in range(len(blocks)) if n not in good)
            row_bytes = table.images.nbytes // len(table)
            _check_room(folder.parent, missing * row_bytes + _SPARE, folder)
            console.print(
                f"resuming {partial}: {len(table) - missing:,} of {len(table):,} images are done",
                soft_wrap=True,
                highlight=False,
            )
    write = _Writer(table.images, blocks, path, offset)
    good |= write_blocks(write, good, journal, workers, console)
    digests = [good[number] for number in range(len(blocks))]
    with storage_errors(folder):
        describe(table, section, partial, digests, console)
        take_name(partial, folder)
    journal.remove(folder)


def partial_of(folder: Path) -> Path:
    """Where a pack is kept until it is complete."""
    return folder.with_name(folder.name + ".partial")


def _check_room(where: Path, needed: int, folder: Path) -> None:
    free = shutil.disk_usage(where).free
    if needed > free:
        raise StorageError(
            f"no space for {folder}: {needed:,} bytes needed, {free:,} free. Free some space, or "
            "choose a folder on another disk with --out"
        )


def _write_header(path: Path, shape: tuple[int, ...]) -> int:
    """Start `images.npy` at its full length, which costs no room yet; returns the data's offset."""
    empty = open_memmap(path, "w+", np.dtype(np.uint8), shape)
    return int(empty.offset)


def _begun(path: Path, shape: tuple[int, ...]) -> int | None:
    """Offset of the data in an `images.npy` that was begun; None where its head is not whole."""
    try:
        there = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = isinstance(there, np.memmap) and (there.dtype, there.shape) == (np.uint8, shape)
    return int(there.offset) if whole else None


def _still_good(
    recorded: dict[int, str],
    table: ImageTable,
    blocks: Blocks,
    path: Path,
    offset: int,
    console: Console,
) -> dict[int, str]:
    """The recorded blocks that are on the disk as they were written.

    Pixels in memory have no stamp that would reveal a change, so they are compared too.
    """
    written = np.memmap(path, np.uint8, "r", offset, table.images.shape)
    good = {}
    rows = sum(blocks.size(number) for number in recorded)
    with progress(console, "verifying finished blocks", rows) as advance:
        for number, digest in recorded.items():
            same = hash_block(written, blocks[number]) == digest
            if same and isinstance(table.images, np.ndarray):
                same = hash_block(table.images, blocks[number]) == digest
            if same:
                good[number] = digest
            advance(blocks.size(number))
    return good


def write_blocks(
    write: _Writer, good: dict[int, str], journal: Journal, workers: int, console: Console
) -> dict[int, str]:
    """Write the blocks that are not yet good; returns the checksum of each."""
    blocks = write.blocks
    numbers = [number for number in range(len(blocks)) if number not in good]
    written: dict[int, str] = {}
    unreadable: list[str] = []
    # Processes, because decoding in threads gains half as much: with two cores 1.9 against 1.5
    # times one (Pillow frees the interpreter's lock only while it decodes). Pixels in memory are
    # only copied: nothing to share out.
    count = workers if isinstance(write.images, LazyImages) else 0
    with progress(console, "packing", sum(map(blocks.size, numbers))) as advance:
        for done in ahead(write, numbers, count):
            if done.not_stored:
                raise StorageError(done.not_stored)
            if done.sha256:
                journal.add(done.number, done.sha256)
                written[done.number] = done.sha256
            unreadable += done.unreadable
            advance(blocks.size(done.number))
    if unreadable:
        more = f"\n  and {len(unreadable) - _LISTED} more" if len(unreadable) > _LISTED else ""
        listed = "\n  ".join(unreadable[:_LISTED])
        raise InputError(
            f"{len(unreadable)} of {blocks.rows:,} images cannot be read, so the pack is not "
            f"finished:\n  {listed}{more}\nReplace them with intact copies (`medldr data check` "
            "lists the bad ones), then run the same command again"
        )
    return written
