"""The end of packing: read back what was written, describe it, and give it its name."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable, LazyImages
from medldr.data.packs.blocks import Blocks
from medldr.data.packs.format import (
    FORMAT,
    IMAGES,
    TABLE,
    Facts,
    FileFacts,
    cannot_keep,
    deciding_keys,
    file_facts,
    open_images,
    write_facts,
)
from medldr.data.packs.table import hash_columns, read_columns, write_table
from medldr.data.reading.check import check_table
from medldr.data.threads import progress
from medldr.folders.files import sync_folder
from medldr.folders.provenance import now, versions


def describe(
    table: ImageTable,
    section: DatasetConfig,
    partial: Path,
    digests: list[str],
    console: Console,
) -> None:
    """Read everything back, look at every image once, and write what the pack is."""
    images = _read_back(partial / IMAGES, table, digests, console)
    write_table(partial, table)
    facts = Facts(
        format=FORMAT,
        dataset=table.name,
        task=table.task,
        class_names=table.class_names,
        shape=tuple(int(n) for n in table.images.shape),
        label_dtype=table.labels.dtype.name,
        keys=deciding_keys(section),
        hashes=table.hashes,
        stamp=table.images.stamp if isinstance(table.images, LazyImages) else None,
        columns=hash_columns(table),
        notes=table.notes,
        findings=(),
        shared_groups=table.shared_groups,
        bad_files=table.bad_files,
        block_rows=Blocks.of(table.images.shape).each,
        blocks=tuple(digests),
        files={IMAGES: images, TABLE: file_facts(partial / TABLE)},
        made={"time": now(), "versions": {**versions(), "Pillow": version("Pillow")}},
    )
    packed = replace(table, images=open_images(partial, facts))
    if hash_columns(replace(packed, **read_columns(partial, facts))) != facts.columns:
        raise ValueError(f"{partial / TABLE} does not give back the columns of {table.name}")
    write_facts(partial, facts.model_copy(update={"findings": tuple(check_table(packed))}))


def _read_back(
    path: Path,
    table: ImageTable,
    digests: list[str],
    console: Console,
) -> FileFacts:
    """Size and checksum of `images.npy`, every block of which is compared with its hash."""
    whole = hashlib.sha256()
    blocks = Blocks.of(table.images.shape)
    row_bytes = table.images.nbytes // len(table)
    bad = []
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):  # from the disk itself, not from the memory before it
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        size = os.fstat(file.fileno()).st_size
        whole.update(file.read(size - table.images.nbytes))
        with progress(console, "verifying", blocks.rows) as advance:
            for number in range(len(blocks)):
                block = file.read(blocks.size(number) * row_bytes)
                whole.update(block)
                if hashlib.sha256(block).hexdigest() != digests[number]:
                    bad.append(number)
                advance(blocks.size(number))
    if bad:
        raise cannot_keep(path.parent, f"{len(bad)} of {len(blocks)} blocks of {IMAGES}")
    return FileFacts(bytes=size, sha256=whole.hexdigest())


def take_name(partial: Path, folder: Path) -> None:
    """Rename the whole pack; one that it replaces is gone only then."""
    old = folder.with_name(folder.name + ".old")
    if old.exists():
        shutil.rmtree(old)
    if folder.exists():
        folder.rename(old)  # open readers keep reading from it
    partial.rename(folder)
    sync_folder(folder.parent)
    if old.exists():
        shutil.rmtree(old)
