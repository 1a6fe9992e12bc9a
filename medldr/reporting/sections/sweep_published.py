"""A sweep's numbers beside the published ones, with the protocol of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medldr.config.protocol import MODIFIED
from medldr.metrics import measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.published.augmentation import augmentation_id
from medldr.reporting.published.numbers import SHOWN, Published, published
from medldr.reporting.read.describe import dataset_name, method_id, section
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column

PAPER = "LatentDR paper"


@dataclass(frozen=True)
class Beside:
    """A published number and what ours is to it.

    Attributes:
        entry: The published number.
        ours: Our protocol id.
        augmentation: Our augmentation.
        same: Whether the two were measured under one protocol, with the same augmentation.
    """

    entry: Published
    ours: str
    augmentation: str
    same: bool


def beside(study: Study, column: str, row: str, metric: str) -> list[Beside]:
    """Published numbers of the same method, augmentation, network and data set, the paper's first.

    Of several protocols ours is taken, also where we changed something (`+modified`), else all;
    of augmentations ours, changed or not.
    A control row follows no published recipe and has none.
    """
    source = study.source(row, column)
    if source is None or row in study.layout.controls:
        return []
    augmentation = augmentation_id(source.config)
    found = published(
        dataset_name(source.config, source.run),
        metric=metric,
        method=method_id(source.config),
        model=str(section(source.config, "model").get("name")),
        augmentation=augmentation.removesuffix(MODIFIED),
    )
    ours = source.protocol
    near = [e for e in found if e.protocol == ours.removesuffix(MODIFIED)]
    entries = sorted(near or found, key=lambda e: (e.source != PAPER, e.source, e.protocol))
    return [
        Beside(entry, ours, augmentation, entry.matches(ours, augmentation)) for entry in entries
    ]


def published_tables(study: Study, columns: Sequence[Column]) -> list[Table]:
    """One table per measure that was published: per set our mean and the published number."""
    tables = [_table(study, columns, metric) for metric in SHOWN]
    return [table for table in tables if table.rows]


def _table(study: Study, columns: Sequence[Column], metric: str) -> Table:
    known = measure(metric)
    found = {
        (row, column.name): beside(study, column.name, row, metric)
        for row in study.rows
        for column in columns
    }
    shown = [c for c in columns if any(found[row, c.name] for row in study.rows)]
    table = Table(f"{known.heading}: ours beside published, test", ["Method"])
    for column in shown:
        table.columns += [f"{column.name}, ours", f"{column.name}, published"]
    for row in study.rows:
        sources = dict.fromkeys(b.entry.source for c in shown for b in found[row, c.name])
        for source in sources:
            cells: list[Cell] = []
            for column in shown:
                ours = column.row("test", metric, row)
                theirs = [b for b in found[row, column.name] if b.entry.source == source]
                mean = None if ours is None else ours["mean"]
                cells += [_ours(metric, mean), _theirs(table, metric, theirs)]
            table.rows.append(Row(f"{row}: {source}", cells))
    return table


def _ours(metric: str, mean: float | None) -> Cell:
    return Cell("–") if mean is None else Cell(measure(metric).show(mean), value=mean)


def _relation(found: Beside) -> str:
    if found.same:
        return "same protocol"
    equal = found.ours.removesuffix(MODIFIED) == found.entry.protocol
    return "ours is modified" if equal else "other protocol"


def _theirs(table: Table, metric: str, found: Sequence[Beside]) -> Cell:
    if not found:
        return Cell("–")
    first = found[0]
    note = f"{first.entry.source}, {first.entry.protocol}: {first.entry.note}."
    if first.entry.augmentation:
        note += f" Augmentation: {first.entry.augmentation}; ours: {first.augmentation}."
    if first.ours != first.entry.protocol:
        note += f" Ours: {first.ours or 'no protocol'}."
    return Cell(
        measure(metric).show(first.entry.value),
        detail=first.entry.protocol,
        extra=_relation(first),
        value=first.entry.value,
        mark=table.sign(note),
        style="same" if first.same else "",
    )
