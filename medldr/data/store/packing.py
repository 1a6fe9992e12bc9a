"""Making a pack, and reading one again: is it what was written, and does it match its source?"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from medldr.console import Console, say
from medldr.data.checks.table_checks import check_table, looks_of
from medldr.data.config import DatasetConfig
from medldr.data.image_table import Images, ImageTable, LazyImages
from medldr.data.loading.workers import ahead
from medldr.data.store.array import (
    IMAGES,
    Blocks,
    other_blocks,
    partial_of,
    take_name,
    write_array,
)
from medldr.data.store.pack import Pack, differences, only_touched, open_pack, stale
from medldr.data.store.pack_files import (
    FACTS,
    FORMAT,
    LOOKS,
    TABLE,
    FileFacts,
    PackFacts,
    deciding_keys,
    hash_columns,
    proven_images,
    read_columns,
    read_facts,
    write_facts,
    write_looks,
    write_table,
)
from medldr.data.threads import progress
from medldr.errors import InputError
from medldr.folders.alone import alone
from medldr.folders.files import StorageError, checksum, storage_errors
from medldr.folders.provenance import now, versions

_LISTED: Final = 10


def make_pack(
    table: ImageTable,
    section: DatasetConfig,
    folder: Path,
    *,
    workers: int,
    console: Console,
    encoder: dict[str, JsonValue] | None = None,
    beside: Callable[[Path], None] | None = None,
) -> Literal["made", "there", "replaced"]:
    """Pack a table, unless its folder holds just that already; one process at a time.

    Args:
        table: As the data set itself gives it.
        section: The `data` section it comes from.
        folder: Folder of the pack.
        workers: Processes that decode; 0 decodes in this one.
        console: Where to report progress.
        encoder: What makes latents, where these are packed.
        beside: Writes what else belongs into the folder, given its place, before it takes its
            name; or what an agreeing folder lacks of that.

    Raises:
        InputError: If the folder is something else, or pictures cannot be read.
        StorageError: If it cannot be written.
    """
    if not len(table):
        raise InputError(f"{table.name} has no images")
    if folder.name.endswith((".partial", ".old")):
        raise InputError(
            f"--out: {folder.name} is a name reserved for unfinished packs; choose another"
        )
    with alone(folder, f"packing {folder}"):
        replaced = folder.exists()
        if replaced and _agrees(folder, table, section, console):
            if beside is not None:
                beside(folder)
            return "there"
        digests = write_array(
            table.images,
            Blocks.of(table.images),
            folder,
            _plan(table, section),
            workers=workers,
            console=console,
            title="packing" if encoder is None else "encoding",
            room="or choose a folder on another disk with --out",
        )
        with storage_errors(folder):
            _describe(table, section, partial_of(folder), digests, console, encoder)
        if beside is not None:
            beside(partial_of(folder))
        with storage_errors(folder):
            take_name(folder)
        return "replaced" if replaced else "made"


def verify(
    pack: Pack, table: ImageTable | None, *, workers: int, console: Console
) -> Literal["same", "renewed"]:
    """Read a pack again, and every picture of its source, and compare.

    Where the source's files were touched but hold the same pictures, their new modification
    times are recorded and the pack is usable again.

    Args:
        pack: The pack.
        table: As the data set itself gives it; None where its files are absent.
        workers: Processes that decode; 0 decodes in this one.
        console: Where to show progress.

    Returns:
        ``same``, or ``renewed`` where new times were recorded.

    Raises:
        InputError: If anything differs.
        StorageError: If the new times cannot be written.
    """
    pack.table()  # reads table.csv, which has a checksum of its own
    if pack.images.looks is not None:
        pack.images.looks()
    verify_blocks(pack, console)
    if table is None:
        return "same"
    changed = differences(pack, table)
    if changed and not only_touched(changed):
        raise stale(pack, changed)
    verify_source(pack, table.images, workers=workers, console=console)
    if not changed or not isinstance(table.images, LazyImages):
        return "same"
    with alone(pack.folder, f"packing {pack.folder}"), storage_errors(pack.folder):
        if read_facts(pack.folder) != pack.facts:
            raise InputError(
                f"{pack.folder} was packed again during the comparison. Run the same command again"
            )
        write_facts(pack.folder, pack.facts.model_copy(update={"stamp": table.images.stamp}))
    return "renewed"


def _agrees(folder: Path, table: ImageTable, section: DatasetConfig, console: Console) -> bool:
    """Whether an existing folder is the requested pack; reports what differs."""
    if not (folder / FACTS).is_file():
        raise InputError(f"{folder} exists and is not a pack. Choose another folder with --out")
    try:
        pack = open_pack(folder, section)
        changed = differences(pack, table)
    except InputError as error:
        if _is_of_others(folder, section):
            raise
        changed = [str(error)]
    for text in changed:
        say(f"packing again: {text}", console)
    return not changed


def _is_of_others(folder: Path, section: DatasetConfig) -> bool:
    try:
        return read_facts(folder).keys != deciding_keys(section)
    except InputError:
        return False


def _plan(table: ImageTable, section: DatasetConfig) -> str:
    """sha256 of what is packed, as far as it can be known without reading any pixel."""
    what = {
        "dataset": table.name,
        "keys": deciding_keys(section),
        "shape": list(table.images.shape),
        "columns": hash_columns(table),
        "hashes": table.hashes,
        "stamp": table.images.stamp if isinstance(table.images, LazyImages) else None,
        "block_rows": Blocks.of(table.images).each,
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _describe(
    table: ImageTable,
    section: DatasetConfig,
    partial: Path,
    digests: list[str],
    console: Console,
    encoder: dict[str, JsonValue] | None,
) -> None:
    """Read everything back, look at every image once, and write what the pack is."""
    images = _read_back(partial / IMAGES, Blocks.of(table.images), digests, console)
    write_table(partial, table)
    write_looks(partial, looks_of(images, np.arange(len(table)), title=f"reading {table.name}"))
    facts = PackFacts(
        format=FORMAT,
        dataset=table.name,
        task=table.task,
        class_names=table.class_names,
        shape=tuple(int(n) for n in table.images.shape),
        dtype="uint8" if table.images.dtype == np.uint8 else "float32",
        encoder=encoder,
        label_dtype=table.labels.dtype.name,
        keys=deciding_keys(section),
        hashes=table.hashes,
        stamp=table.images.stamp if isinstance(table.images, LazyImages) else None,
        columns=hash_columns(table),
        notes=table.notes,
        findings=(),
        shared_groups=table.shared_groups,
        bad_files=table.bad_files,
        combined=table.combined,
        block_rows=Blocks.of(table.images).each,
        blocks=tuple(digests),
        files={name: _file_facts(partial / name) for name in (IMAGES, TABLE, LOOKS)},
        made={"time": now(), "versions": {**versions(), "Pillow": version("Pillow")}},
    )
    packed = replace(table, images=proven_images(partial, facts))
    if hash_columns(replace(packed, **read_columns(partial, facts))) != facts.columns:
        raise ValueError(f"{partial / TABLE} does not give back the columns of {table.name}")
    write_facts(partial, facts.model_copy(update={"findings": tuple(check_table(packed))}))


def _read_back(path: Path, blocks: Blocks, digests: list[str], console: Console) -> NDArray[Any]:
    """`images.npy`, each block compared with its hash, as the disk itself gives it back.

    Raises:
        StorageError: If one differs.
    """
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):  # not from the memory before the disk
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    images: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    bad = other_blocks(images, blocks, dict(enumerate(digests)), console, "verifying")
    if bad:
        raise StorageError(
            f"{len(bad)} of {len(blocks)} blocks of {IMAGES} in {path.parent} does not read back "
            "as written: a disk or the memory of this machine is at fault. Run the same command "
            "again, with another --out if it recurs"
        )
    return images


def _file_facts(path: Path) -> FileFacts:
    """Size and checksum of a file, by reading it."""
    return FileFacts(bytes=path.stat().st_size, sha256=checksum(path))


def verify_blocks(pack: Pack, console: Console) -> None:
    """Compare every block with the hash that it was written with.

    Raises:
        InputError: If one is damaged; names its rows.
    """
    blocks = Blocks(len(pack.images), pack.facts.block_rows)
    images = np.asarray(pack.images)  # all bad blocks are told, not the first one
    written = dict(enumerate(pack.facts.blocks))
    bad = [
        blocks[number]
        for number in other_blocks(images, blocks, written, console, "reading the pack")
    ]
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
        block = self.blocks[number]
        if self._difference(block) is None:
            return number, []
        reasons = ((row, self._difference(row)) for row in range(block.start, block.stop))
        return number, [(row, reason) for row, reason in reasons if reason is not None]

    def _difference(self, rows: int | slice) -> str | None:
        try:
            same = np.array_equal(self.source[rows], np.asarray(self.pack.images)[rows])
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
        for number, differing in ahead(_Comparison(source, pack, blocks), numbers, count):
            bad += differing
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
