"""`medldr data split`: make the splits of a data set once, print them, write them to a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from medldr.commands.data import PLAIN, data_section, print_counts
from medldr.data.checks.table_checks import count_rows
from medldr.data.image_table import ImageTable
from medldr.data.load import load_table
from medldr.data.splits.folds import plan_manifest, rare_class_notes
from medldr.data.splits.manifest import Manifest, write_manifest
from medldr.errors import InputError
from medldr.types import SPLITS


def split(
    name: str,
    overrides: Sequence[str],
    *,
    out: Path,
    folds: int | None = None,
    leave_one_domain_out: bool = False,
    val: float | None = None,
    test: float | None = None,
    seed: int | None = None,
    replace_splits: bool = False,
    force: bool = False,
) -> None:
    """Make splits, print how many items of each class and domain they hold, and write them.

    Args:
        name: A data part, a packaged run, or a YAML file.
        overrides: The folder of the files first, if it is not the usual one; ``KEY=VALUE`` texts.
        out: The manifest to write.
        folds: Number of folds; unset: one division.
        leave_one_domain_out: Make one fold per domain.
        val: Share of all items that validates; unset: ``data.val_fraction``.
        test: Share of all items that is tested; unset: ``data.test_fraction``.
        seed: Seed of the division; unset: ``data.split_seed``.
        replace_splits: Make splits although the data set has its own.
        force: Replace another manifest of that name.

    Raises:
        InputError: If the data set cannot be read or divided so, has splits of its own, or another
            file is in the way.
        StorageError: If the manifest cannot be written.
    """
    section = data_section(name, overrides).with_seed(0)
    given = {"val_fraction": val, "test_fraction": test, "split_seed": seed}
    for option, value in (("--val", val), ("--test", test)):
        lowest = 0 if option == "--test" else 1e-9  # without validation no weights are chosen
        if value is not None and not lowest <= value < 1:
            raise InputError(f"{option} is {value:g}; it is a share of all items, between 0 and 1")
    if test is not None and folds is not None:
        raise InputError(f"--test: with --folds {folds} each fold tests 1/{folds} of the items")
    section = section.model_copy(update={k: v for k, v in given.items() if v is not None})
    table = load_table(section)
    if (table.splits != "").any() and not replace_splits:
        own = ", ".join(s for s in SPLITS if (table.splits == s).any())
        raise InputError(
            f"{table.name} has splits of its own ({own}), which published numbers belong to. To "
            "use others in their place, add --replace-splits"
        )
    manifest = plan_manifest(table, section, folds=folds, domains=leave_one_domain_out)
    console = Console()
    print_plan(table, manifest, console)
    for note in rare_class_notes(table, manifest):
        console.print(f"[yellow]note[/yellow] {escape(note)}", highlight=False, soft_wrap=True)
    new = write_manifest(out, manifest, force=force)
    console.print(f"{out} {'written' if new else 'holds just these splits already'}", **PLAIN)
    several = len(manifest.folds) > 1
    use = f" data.fold={next(iter(manifest.folds))}" if several else ""
    console.print(f"runs use it with data.manifest={out}{use}", **PLAIN)


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
    table = Table(box=None, pad_edge=False)
    table.add_column("domain", overflow="fold")
    for split_name in order:
        table.add_column(split_name, justify="right")
    for domain in dict.fromkeys(sorted(record["domain"] for record in records)):
        counts = {r["split"]: r["rows"] for r in records if r["domain"] == domain}
        cells = [f"{counts.get(split_name, 0):,}" for split_name in order]
        table.add_row(escape(domain or "(none)"), *cells)
    console.print(table)
