"""`medldr data fetch | stats`, and the tables that they and `medldr data check` print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Column, Table

from medldr import plugins
from medldr.checking.find_data import data_section
from medldr.config import PLUGIN_SECTIONS
from medldr.console import Console
from medldr.data.checks.table_checks import count_rows
from medldr.data.checks.table_checks import stats as pixel_stats
from medldr.data.image_table import ImageTable
from medldr.data.load import load_table
from medldr.data.splits.manifest import Manifest
from medldr.errors import InputError
from medldr.types import SPLITS


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
