"""Packs: a data set's pixels as one memory-mapped array, decoded once and read at full speed.

`medldr data pack` makes one; every run of the same data set then reads from it. The data set's own
files take precedence where they are at hand: a pack that no longer agrees with them is refused.
Where they are absent, the pack alone is used.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from rich.console import Console

from medldr import plugins
from medldr.data.config import DatasetConfig
from medldr.data.image_table import BadFile, ImageTable, LazyImages
from medldr.data.packs.compare import differences, only_touched, stale
from medldr.data.packs.format import FACTS, deciding_keys, read_facts, write_facts
from medldr.data.packs.open import Pack, find_pack, open_pack, usual_place
from medldr.data.packs.verify import verify_blocks, verify_source
from medldr.data.packs.write import write_pack
from medldr.data.reading.check import validate_table
from medldr.errors import InputError
from medldr.folders.files import storage_errors

__all__ = ["Pack", "find_pack", "make_pack", "open_pack", "read_table", "usual_place", "verify"]


def read_table(section: DatasetConfig) -> tuple[ImageTable, Pack | None]:
    """The table of a `data` section, with the pixels of its pack where there is one.

    Returns:
        The table, and the pack that it reads from.

    Raises:
        InputError: If the data set cannot be read, or its pack cannot or does not agree with it.
    """
    module: Any = plugins.load("datasets", section.name)
    pack = find_pack(section)
    if pack is None:
        table: ImageTable = module.load(section)
        validate_table(table)
        return table, None
    here = section.model_copy(update={"download": False})  # a pack needs no download
    absent = absence(module, here)
    if absent is not None:
        table = pack.table()
        note = (
            f"{table.name} is read from its pack alone: its original files cannot be read here, so "
            "the pack was not compared with them"
        )
        table = replace(table, notes=(*table.notes, note))
        if table.bad_files and getattr(section, "on_bad_file", "skip") == "error":
            raise InputError(
                f"the pack {pack.folder} lacks {len(table.bad_files)} files that could not be "
                f"used, such as {table.bad_files[0].path} ({table.bad_files[0].reason}). Set "
                "data.on_bad_file=skip to leave them out too, or repair the files and pack again"
            )
        validate_table(table)
        return table, pack
    table = _source(module, here, pack)
    validate_table(table)
    changed = differences(pack, table)
    if changed:
        raise stale(pack, changed)
    return replace(table, images=pack.images), pack


def _source(module: Any, section: DatasetConfig, pack: Pack) -> ImageTable:
    """The table of the data set's own files, without looking at each of them where that is offered.

    Their names, sizes and times are compared all the same, and they were whole when packed.
    """
    again = getattr(module, "load_again", None)
    known = tuple(BadFile(*entry) for entry in pack.facts.bad_files)
    table: ImageTable = module.load(section) if again is None else again(section, known)
    return table


def absence(module: Any, section: DatasetConfig) -> str | None:
    """Why a data set's own files are not here, in a sentence; None where they are."""
    require = getattr(module, "require", None)
    if require is None:
        return None
    try:
        require(section)
    except InputError as error:
        return str(error).split(". ")[0].splitlines()[0]
    return None


def make_pack(
    table: ImageTable, section: DatasetConfig, folder: Path, *, workers: int, console: Console
) -> Literal["made", "there", "replaced"]:
    """Pack a table, unless its folder holds just that already; one process at a time.

    Args:
        table: As the data set itself gives it.
        section: The `data` section it comes from.
        folder: Folder of the pack.
        workers: Processes that decode; 0 decodes in this one.
        console: Where to report progress.

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
    with _one_at_a_time(folder, console):
        replaced = folder.exists()
        if replaced and _agrees(folder, table, section, console):
            return "there"
        write_pack(table, section, folder, workers=workers, console=console)
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
    verify_blocks(pack, console)
    if table is None:
        return "same"
    changed = differences(pack, table)
    if changed and not only_touched(changed):
        raise stale(pack, changed)
    verify_source(pack, table.images, workers=workers, console=console)
    if not changed or not isinstance(table.images, LazyImages):
        return "same"
    with _one_at_a_time(pack.folder, console), storage_errors(pack.folder):
        if read_facts(pack.folder) != pack.facts:
            raise InputError(
                f"{pack.folder} was packed again during the comparison. Run the same command again"
            )
        write_facts(pack.folder, pack.facts.model_copy(update={"stamp": table.images.stamp}))
    return "renewed"


@contextlib.contextmanager
def _one_at_a_time(folder: Path, console: Console) -> Iterator[None]:
    """Keep others from writing to the same pack; the lock ends with its holder, killed or not."""
    with storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = folder.with_name(f".{folder.name}.lock")
        lock = FileLock(place)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not place.exists():  # nobody holds what cannot be made
                raise PermissionError(errno.EACCES, "no file can be made", str(place)) from None
            console.print(f"another process is packing {folder}; waiting for it", soft_wrap=True)
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


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
        console.print(f"packing again: {text}", soft_wrap=True, markup=False, highlight=False)
    return not changed


def _is_of_others(folder: Path, section: DatasetConfig) -> bool:
    try:
        return read_facts(folder).keys != deciding_keys(section)
    except InputError:
        return False
