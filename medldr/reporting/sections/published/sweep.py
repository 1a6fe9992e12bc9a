"""A sweep's means beside published numbers, with the protocol of each."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.published.match import Beside, beside
from medldr.reporting.published.numbers import METRICS
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.published.cells import number_cell
from medldr.reporting.table import Cell, Row, Table


def sweep_published(study: Study, columns: Sequence[Column]) -> list[Table]:
    """One table per published metric: per data set our mean and the published number."""
    tables = [_table(study, columns, metric) for metric in METRICS]
    return [table for table in tables if table.rows]


def _table(study: Study, columns: Sequence[Column], metric: str) -> Table:
    found = {
        (row, column.name): beside(study, column.name, row, metric)
        for row in study.rows
        for column in columns
    }
    shown = [c for c in columns if any(found[row, c.name] for row in study.rows)]
    table = Table(f"{metric_facts(metric).heading}: ours beside published, test", ["Method"])
    for column in shown:
        table.columns += [f"{column.name}, ours", f"{column.name}, published"]
    for row in study.rows:
        sources = dict.fromkeys(b.entry.source for c in shown for b in found[row, c.name])
        for source in sources:
            cells: list[Cell] = []
            for column in shown:
                theirs = [b for b in found[row, column.name] if b.entry.source == source]
                cells.append(number_cell(metric, column.estimate("test", metric, row)))
                cells.append(_published(table, theirs[0]) if theirs else Cell())
            table.rows.append(Row(f"{row}: {source}", cells))
    return table


def _published(table: Table, found: Beside) -> Cell:
    entry, ours = found.entry, found.ours
    note = f"{entry.source}, {entry.protocol}: {entry.note}."
    if entry.augmentation:
        note += f" Augmentation: {entry.augmentation}; ours: {ours.augmentation}."
    if ours.protocol != entry.protocol:
        note += f" Ours: {ours.protocol or 'no protocol'}."
    return Cell(
        Estimate(entry.value),
        metric_facts(entry.metric),
        detail=entry.protocol,
        extra=found.relation.value,
        mark=table.sign(note),
        style="same" if found.same else "",
    )
