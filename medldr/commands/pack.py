"""`medldr data pack`: decode a data set once, and print where the pack is and how to use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medldr import plugins
from medldr.checking.find_data import data_section
from medldr.config import PLUGIN_SECTIONS
from medldr.console import Console, say
from medldr.data.checks.table_checks import validate_table
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted
from medldr.data.image_table import ImageTable
from medldr.data.load import absence, require_one_size
from medldr.data.store import find_pack, make_pack, open_pack, usual_place
from medldr.data.store import verify as verify_pack
from medldr.data.store.pack_files import FACTS
from medldr.errors import InputError
from medldr.folders.provenance import cores


def pack(
    name: str,
    overrides: Sequence[str],
    *,
    out: Path | None = None,
    verify: bool = False,
    workers: int | None = None,
) -> int:
    """Make a data set's pack, or with ``verify`` compare the existing one with its source.

    Args:
        name: A data part, a packaged run, or a YAML file.
        overrides: The folder of the files first, if it is not the usual one; ``KEY=VALUE`` texts.
        out: Folder of the pack; unset: its usual place, where runs find it.
        verify: Compare; packs first only if there is no pack yet.
        workers: Number of decoding processes; unset: one per core.

    Returns:
        0; 3 if the configuration leaves out files that are missing or broken.

    Raises:
        InputError: If there is a problem with the data set or the pack.
        StorageError: If the pack cannot be written.
    """
    section = data_section(name, overrides)
    console = Console(stderr=True)
    count = cores() if workers is None else workers
    if verify:
        table = _verify(section, out, count, console)
    else:
        table = _source(section)
        _make(table, section, out, count, console)
    if not table.bad_files:
        return 0
    left_out = counted(len(table.bad_files), "file was", "files were")
    say(f"{left_out} left out; bad_files in {FACTS} lists them", console)
    return 3


def _source(section: DatasetConfig) -> ImageTable:
    """The table from the data set's own files."""
    module: Any = plugins.load(PLUGIN_SECTIONS["data"], section.name)
    table: ImageTable = module.load(section)
    validate_table(table)
    require_one_size(table)
    if table.images.dtype != np.uint8:
        raise InputError(
            f"{table.name} has images with more than 8 bits, which a pack cannot hold. They are "
            "kept by data.cache (disk, memory) once they are read: no pack is needed"
        )
    return table


def _make(
    table: ImageTable, section: DatasetConfig, out: Path | None, workers: int, console: Console
) -> Path:
    usual = usual_place(section, table.name)
    folder = usual if out is None else out.absolute()
    size = _size(table.images.nbytes)
    say(f"{table.name}: {len(table):,} images, {size} in {folder}", console)
    try:
        made = make_pack(table, section, folder, workers=workers, console=console)
    except KeyboardInterrupt:
        say("run the same command to resume after the last block written", console)
        raise
    for finding in open_pack(folder, section).facts.findings:
        say(f"note: {finding}", console)
    what = {"made": "packed", "there": "already packed", "replaced": "packed again"}[made]
    use = "runs find it there" if folder == usual else f"to read from it, set data.packed={folder}"
    say(f"{table.name}: {what} in {folder}; {use}", Console())
    return folder


def _verify(section: DatasetConfig, out: Path | None, workers: int, console: Console) -> ImageTable:
    """Compare, and return the table it was compared with: without a source, the pack's own."""
    module: Any = plugins.load(PLUGIN_SECTIONS["data"], section.name)
    absent = absence(module, section.model_copy(update={"download": False}))
    table = _source(section) if absent is None else None
    if out is None:
        existing = find_pack(section)
    else:
        existing = open_pack(out.absolute(), section) if out.exists() else None
    if existing is None:
        if table is None:
            raise InputError(f"there is no pack, and no source to make one from: {absent}")
        existing = open_pack(_make(table, section, out, workers, console), section)
    outcome = verify_pack(existing, table, workers=workers, console=console)
    rows = f"{len(existing.images):,} images"
    against = "match the source" if table is not None else f"are as written ({absent})"
    renewed = "; the source files were touched: the pack's recorded modification times were updated"
    more = renewed if outcome == "renewed" else ""
    say(f"{existing.facts.dataset}: {rows} in {existing.folder} {against}{more}", Console())
    return existing.table() if table is None else table


def _size(count: int) -> str:
    """A number of bytes in readable form.

    Example:
        >>> _size(12_606_215_808), _size(2_048)
        ('12.6 GB', '0.0 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
