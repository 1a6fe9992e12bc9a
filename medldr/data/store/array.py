"""One array on the disk, `images.npy`: written block by block, resumed, and never left incomplete.

Work in progress is in ``<folder>.partial``. A journal there records each block that was written,
with its hash, so the same call goes on where a killed process stopped. Only an array that was read
back and compared takes the folder's name.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from medldr.console import Console, say
from medldr.data.image_table import Images, LazyImages
from medldr.data.loading.workers import ahead
from medldr.data.threads import progress
from medldr.errors import InputError
from medldr.folders.files import StorageError, append_line, reading, storage_errors, sync_folder

IMAGES: Final = "images.npy"
BLOCK_BYTES: Final = 1 << 24

_JOURNAL: Final = "written.jsonl"
_LISTED: Final = 10
_SPARE: Final = 1 << 20  # bytes for what is written beside the array


@dataclass(frozen=True)
class Blocks:
    """How the rows of an array fall into blocks, which are written, hashed and compared at once.

    Attributes:
        rows: Rows of the array.
        each: Rows per block; the last one may be shorter.

    Example:
        >>> blocks = Blocks(rows=10, each=4)
        >>> len(blocks), blocks[2]
        (3, slice(8, 10, None))
    """

    rows: int
    each: int

    @classmethod
    def of(cls, images: Images, most: int | None = None) -> Blocks:
        """Blocks of at most so many bytes; unset: 16 MiB, a second's work.

        Latents take longer to make than to write, so their blocks are of 256 rows.
        """
        if images.ndim == 2:
            return cls(len(images), 256)
        row = math.prod(images.shape[1:]) * images.dtype.itemsize
        return cls(len(images), max(1, (most or BLOCK_BYTES) // max(1, row)))

    def __len__(self) -> int:
        return -(-self.rows // self.each)

    def __getitem__(self, number: int) -> slice:
        start = number * self.each
        return slice(start, min(start + self.each, self.rows))

    def size(self, number: int) -> int:
        """Rows of one block."""
        return min(self.each, self.rows - number * self.each)


def hash_block(images: NDArray[Any], rows: slice) -> str:
    """sha256 of some rows' pixels."""
    return hashlib.sha256(np.ascontiguousarray(images[rows]).data).hexdigest()


def other_blocks(
    images: NDArray[Any], blocks: Blocks, digests: Mapping[int, str], console: Console, title: str
) -> list[int]:
    """Numbers of the blocks whose pixels are not those that have these hashes."""
    other = []
    with progress(console, title, sum(map(blocks.size, digests))) as advance:
        for number, digest in digests.items():
            if hash_block(images, blocks[number]) != digest:
                other.append(number)
            advance(blocks.size(number))
    return other


def write_array(
    images: Images,
    blocks: Blocks,
    folder: Path,
    plan: str,
    *,
    workers: int,
    console: Console,
    title: str,
    room: str,
) -> list[str]:
    """Write images to `images.npy` of an unfinished folder, or the blocks that it lacks.

    Args:
        images: What is written.
        blocks: How it is divided.
        folder: The folder that will hold the array once `take_name` has been called.
        plan: What is being written, as one number; where another was begun, it starts over.
        workers: Processes that read; 0 reads in this one.
        console: Where to show progress.
        title: What is being done.
        room: What helps where the disk is full, as the end of a sentence.

    Returns:
        sha256 of each block.

    Raises:
        InputError: If images cannot be read; names them.
        StorageError: If there is no room or no permission.
    """
    partial = partial_of(folder)
    path, journal = partial / IMAGES, partial / _JOURNAL
    size = math.prod(images.shape) * images.dtype.itemsize
    with storage_errors(folder):
        partial.mkdir(parents=True, exist_ok=True)
        begun, recorded = _begun(path, images), _read_journal(journal, plan)
        if begun is None or recorded is None:
            shutil.rmtree(partial)
            _check_room(folder, size, room)
            partial.mkdir()
            # At its full length, which costs no room yet.
            begun = open_memmap(path, "w+", images.dtype, images.shape)
            append_line(journal, json.dumps({"plan": plan}))
            good: dict[int, str] = {}
        else:
            good = _still_good(begun, images, blocks, recorded, console)
            missing = blocks.rows - sum(map(blocks.size, good))
            _check_room(folder, missing * (size // blocks.rows), room)
            there = f"{blocks.rows - missing:,} of {blocks.rows:,} images"
            say(f"resuming {partial}: {there} are done", console)
    write = _BlockWriter(images, blocks, path, int(begun.offset))
    missing_blocks = [number for number in range(len(blocks)) if number not in good]
    unreadable: list[str] = []
    # Processes, because decoding in threads gains half as much: with two cores 1.9 against 1.5
    # times one (Pillow frees the interpreter's lock only while it decodes). Pixels in memory are
    # only copied: nothing to share out.
    count = workers if isinstance(images, LazyImages) else 0
    with progress(console, title, sum(map(blocks.size, missing_blocks))) as advance:
        for done in ahead(write, missing_blocks, count):
            if done.not_stored:
                raise StorageError(done.not_stored)
            if done.sha256:
                append_line(journal, json.dumps({"block": done.number, "sha256": done.sha256}))
                good[done.number] = done.sha256
            unreadable += done.unreadable
            advance(blocks.size(done.number))
    if unreadable:
        raise _cannot_read(unreadable, blocks.rows, folder)
    return [good[number] for number in range(len(blocks))]


def partial_of(folder: Path) -> Path:
    """Where an array is kept until it is complete."""
    return folder.with_name(folder.name + ".partial")


def take_name(folder: Path) -> None:
    """Give a complete array its folder's name; one that it replaces is gone only then."""
    partial = partial_of(folder)
    (partial / _JOURNAL).unlink(missing_ok=True)
    old = folder.with_name(folder.name + ".old")
    if old.exists():
        shutil.rmtree(old)
    if folder.exists():
        folder.rename(old)  # open readers keep reading from it
    partial.rename(folder)
    sync_folder(folder.parent)
    if old.exists():
        shutil.rmtree(old)


def read_rows(images: Images, rows: slice) -> NDArray[Any]:
    """Some rows, contiguous.

    Raises:
        ValueError: If their shape or type differs from what the images declare.
    """
    block = np.ascontiguousarray(images[rows])
    if block.dtype != images.dtype or block.shape != (rows.stop - rows.start, *images.shape[1:]):
        raise ValueError(
            f"rows {rows} are {block.dtype} {block.shape}, not {images.dtype} {images.shape}"
        )
    return block


class _Done(NamedTuple):
    """What a worker reports of a block: its hash, or why there is none."""

    number: int
    sha256: str = ""
    unreadable: tuple[str, ...] = ()
    not_stored: str = ""


@dataclass(frozen=True)
class _BlockWriter:
    """Reads one block of images and writes it to its place in `images.npy`."""

    images: Images
    blocks: Blocks
    path: Path
    offset: int

    def __call__(self, number: int) -> _Done:
        rows = self.blocks[number]
        try:
            block = read_rows(self.images, rows)
        except InputError as error:
            # A disk that failed briefly may read each row now: the block is reported all the same.
            return _Done(number, unreadable=tuple(self._unreadable(rows)) or (str(error),))
        try:
            with storage_errors(self.path, block.nbytes), self.path.open("r+b") as file:
                file.seek(self.offset + rows.start * (block.nbytes // len(block)))
                file.write(block.data)
        except StorageError as error:
            return _Done(number, not_stored=str(error))
        return _Done(number, sha256=hashlib.sha256(block.data).hexdigest())

    def _unreadable(self, rows: slice) -> Iterator[str]:
        """Why each bad row of a block is bad; all are listed, to be repaired together."""
        for row in range(rows.start, rows.stop):
            try:
                self.images[row]
            except InputError as error:
                yield str(error)


def open_array(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], size: int | None = None
) -> np.memmap[Any, np.dtype[Any]]:
    """Map an array that `write_array` wrote.

    Args:
        path: The file.
        dtype: Type of its numbers.
        shape: Its shape.
        size: Bytes of the file, if known.

    Raises:
        InputError: If it is missing, or not that array.
    """
    with reading(path, "the array that was written"):
        has = path.stat().st_size
        if size not in (None, has):
            raise ValueError(f"it has {has:,} bytes, but {size:,} were written")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        same = (array.dtype, array.shape) == (dtype, shape)
        if not isinstance(array, np.memmap) or not same or not array.flags.c_contiguous:
            raise ValueError(f"it is {array.dtype} {array.shape}, not {dtype} {shape}")
    return array


def _begun(path: Path, images: Images) -> np.memmap[Any, np.dtype[Any]] | None:
    """An `images.npy` that was begun for these images; None where its head is not whole."""
    try:
        return open_array(path, images.dtype, images.shape)
    except InputError:
        return None


def _read_journal(path: Path, plan: str) -> dict[int, str] | None:
    """Hash by number of each block on record; None where another plan or none was begun."""
    try:
        with reading(path):
            lines = path.read_text(encoding="utf-8").split("\n")
    except InputError:
        return None
    records = [record for record in map(_record, lines) if record is not None]
    if not records or records[0].get("plan") != plan:
        return None
    blocks = ((record.get("block"), record.get("sha256")) for record in records[1:])
    return {n: digest for n, digest in blocks if isinstance(n, int) and isinstance(digest, str)}


def _record(line: str) -> dict[str, Any] | None:
    """One line; None for the half of one, which a killed process may leave."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def _still_good(
    written: NDArray[Any],
    images: Images,
    blocks: Blocks,
    recorded: dict[int, str],
    console: Console,
) -> dict[int, str]:
    """The recorded blocks that are on the disk as they were written.

    Pixels in memory have no stamp that would reveal a change, so they are compared too.
    """
    gone = set(other_blocks(written, blocks, recorded, console, "verifying finished blocks"))
    if isinstance(images, np.ndarray):
        gone |= {n for n, digest in recorded.items() if hash_block(images, blocks[n]) != digest}
    return {number: digest for number, digest in recorded.items() if number not in gone}


def _check_room(folder: Path, needed: int, room: str) -> None:
    free = shutil.disk_usage(folder.parent).free
    if needed + _SPARE > free:
        raise StorageError(
            f"no space for {folder}: {needed + _SPARE:,} bytes needed, {free:,} free. Free some "
            f"space, {room}"
        )


def _cannot_read(unreadable: Sequence[str], total: int, folder: Path) -> InputError:
    more = f"\n  and {len(unreadable) - _LISTED} more" if len(unreadable) > _LISTED else ""
    listed = "\n  ".join(unreadable[:_LISTED])
    return InputError(
        f"{len(unreadable)} of {total:,} images cannot be read, so {folder} is not finished:"
        f"\n  {listed}{more}\nReplace them with intact copies (`medldr data check` lists the bad "
        "ones), then run the same command again"
    )
