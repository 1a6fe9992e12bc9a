"""`medldr data fetch | stats`, and the tables that they and `medldr data check` print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from medldr import plugins
from medldr.commands.study import data_of_study, require_data, undivided
from medldr.config import (
    PLUGIN_SECTIONS,
    load_config,
    load_part,
    packaged_names,
)
from medldr.config.load import is_sweep
from medldr.data.checks.table_checks import count_rows
from medldr.data.checks.table_checks import stats as pixel_stats
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted
from medldr.data.image_table import ImageTable
from medldr.data.load import load_table
from medldr.data.splits.manifest import Manifest
from medldr.errors import InputError
from medldr.types import SPLITS

PLAIN: Final[dict[str, Any]] = {"soft_wrap": True, "markup": False, "highlight": False}
"""How texts are printed as they are."""


def data_section(name: str, overrides: Sequence[str]) -> DatasetConfig:
    """The `data` section of a data part, a run, a run folder, or the file of a run or a sweep.

    Args:
        name: For example ``retinamnist`` (a part), ``retinamnist_erm`` (a run) or a YAML file. A
            sweep's data are those that its runs divide, without a domain held out.
        overrides: ``data.KEY=VALUE`` texts; the ``data.`` may be left out. A first one without
            ``=`` is the folder of the files, `data.root`.
    """
    known, changes = packaged_names("data"), data_changes(overrides)
    if is_sweep(name):
        return undivided(data_of_study(name, changes)[0][0])
    if name not in known:
        require_data(name)
        return cast(DatasetConfig, load_config(name, changes).data)
    values = load_part("data", name)["data"]
    # Check a whole configuration: a wrong key gets the same message as in a run.
    mapping = {"data": values, "transform": "none", "model": "resnet18", "algorithm": "erm"}
    return cast(DatasetConfig, load_config(mapping, changes).data)


def data_changes(overrides: Sequence[str]) -> list[str]:
    """Changes as a run takes them; a first one without ``=`` is the folder of the files."""
    if overrides and "=" not in overrides[0]:
        # Quoted, because a path may contain characters that YAML would interpret.
        overrides = [f"root={json.dumps(overrides[0], ensure_ascii=False)}", *overrides[1:]]
    return [text if text.startswith("data.") else f"data.{text}" for text in overrides]


def fetch(name: str, overrides: Sequence[str]) -> None:
    """Download the files of a data set, verify them, and print where they are."""
    section = data_section(name, [*overrides, "data.download=true"])
    module = plugins.load(PLUGIN_SECTIONS["data"], section.name)
    table = load_table(section)
    Console().print(f"{table.name}: {len(table):,} images, verified, {module.present(section)}")


def stats(name: str, overrides: Sequence[str]) -> None:
    """Print counts per split, domain and class, and the distribution of the training pixels."""
    table = load_table(data_section(name, overrides))
    console = Console()
    print_counts(table.name, count_rows(table), console)
    pixels = pixel_stats(table)
    size = " x ".join(str(n) for n in pixels["spatial_size"])
    console.print(f"task          {pixels['task']}")
    console.print(f"pixels        {pixels['channels']} channel(s), {size}")
    console.print(
        f"mean (0 to 1) {_numbers(pixels['mean'])}   of {pixels['rows']:,} training images"
    )
    console.print(f"SD (0 to 1)   {_numbers(pixels['std'])}")
    console.print(f"stored range  {pixels['min']} to {pixels['max']}")


def print_files(what: str, lines: Sequence[str], most: int, console: Console) -> None:
    """Print how many files are something, and the first of them."""
    console.print(f"{counted(len(lines), 'file', 'files')} {what}", **PLAIN)
    for line in lines[:most]:
        console.print(f"  {line}", **PLAIN)
    if len(lines) > most:
        console.print(f"  and {len(lines) - most:,} more", **PLAIN)


def print_counts(title: str, records: list[dict[str, Any]], console: Console) -> None:
    """Print the records of `count_rows`.

    Raises:
        InputError: If there are none.
    """
    if not records:
        raise InputError(f"{title} contains no images")
    from medldr.reporting.document import Document, Section
    from medldr.reporting.pages.data_check import count_table
    from medldr.reporting.writers.terminal import print_document

    counts = count_table(title, list(records[0]["classes"]), records)
    print_document(Document("", "", sections=[Section("counts", "", "", [counts])]), console)


def print_plan(table: ImageTable, manifest: Manifest, console: Console) -> None:
    """Print each fold: classes, images and groups of each split; then images of each domain."""
    row_of = {item: row for row, item in enumerate(table.ids.tolist())}
    for fold, parts in manifest.folds.items():
        column = np.full(len(table), "", dtype="<U8")
        for part, ids in parts.items():
            column[[row_of[item] for item in ids]] = part
        used = replace(table, splits=column)
        whole = replace(used, domains=np.full(len(table), "", np.str_))
        named = f", fold {fold}" if len(manifest.folds) > 1 else ""
        records = [record for record in count_rows(whole) if record["split"]]
        print_counts(f"{table.name}{named}", records, console)
        if (table.domains != "").any():
            _print_domains([r for r in count_rows(used) if r["split"]], list(parts), console)
        console.print()


def _print_domains(records: list[dict[str, Any]], parts: list[str], console: Console) -> None:
    """Images by domain and split."""
    order = [split for split in SPLITS if split in parts]
    splits = (Column(split_name, justify="right") for split_name in order)
    table = Table(Column("domain", overflow="fold"), *splits, box=None, pad_edge=False)
    for domain in dict.fromkeys(sorted(record["domain"] for record in records)):
        counts = {r["split"]: r["rows"] for r in records if r["domain"] == domain}
        cells = [f"{counts.get(split_name, 0):,}" for split_name in order]
        table.add_row(escape(domain or "(none)"), *cells)
    console.print(table)


def _numbers(values: list[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)
