"""Ours on the fixed test split of a data set next to the published numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from medldr.evaluation.comparison.comparison import Comparison
from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.published.match import (
    Beside,
    Ours,
    Relation,
    beside,
    nearest_first,
    relation,
)
from medldr.reporting.published.numbers import METRICS, Published
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.basis import size_note
from medldr.reporting.table import Cell, Row, Table


@dataclass(frozen=True)
class OwnRow:
    """One of our rows: its heading, the ids of a run of it, and its numbers by metric."""

    heading: str
    ours: Ours
    numbers: Mapping[str, Estimate]


def comparison_published(comparison: Comparison, runs: Mapping[str, RunFiles]) -> Table | None:
    """All methods of a comparison on the test split next to the published ones.

    Args:
        comparison: The comparison.
        runs: The files of runs by the name of their folder; a method without any is left out.

    Returns:
        None where no number of the data set was published.
    """
    own = []
    for method in comparison.methods if "test" in comparison.splits else ():
        files = next((runs[name] for name in method.runs if name in runs), None)
        found = {key: comparison.estimate("test", key, method.name) for key in METRICS}
        if files is not None:
            n = len(method.seeds)
            means = {key: replace(mean, n=n) for key, mean in found.items() if mean is not None}
            own.append(OwnRow(method.name, Ours.of(files), means))
    return ours_and_published(own, comparison.splits["test"].counts if own else "")


def ours_and_published(own: Sequence[OwnRow], counts: str) -> Table | None:
    """Ours and published results, nearest first; None where none were published.

    Args:
        own: Our rows.
        counts: Images and groups of our test split, in words.
    """
    groups = nearest_first([row.ours for row in own])
    if not groups:
        return None
    augmented = any(entry.augmentation for group in groups for entry in group.values())
    words = ["Protocol", *(["Augmentation"] if augmented else []), "Same protocol"]
    metrics = [key for key in METRICS if any(key in group for group in groups)]
    columns = ["Method", *words, *(metric_facts(key).heading for key in metrics)]
    table = Table(
        f"Ours and published, test split, n = {counts}",
        columns,
        texts=tuple(range(1, 1 + len(words))),
    )
    if augmented:
        table.notes.append("“Same protocol” also implies the same augmentation.")

    def cells(protocol: Cell, augmentation: str, same: Cell, numbers: Sequence[Cell]) -> list[Cell]:
        return [protocol, *([Cell(augmentation)] if augmented else []), same, *numbers]

    for row in own:
        numbers = [table.number(key, row.numbers.get(key)) for key in metrics]
        protocol, augmentation = Cell(row.ours.protocol or "none"), row.ours.augmentation or "other"
        of_row = cells(protocol, augmentation, Cell(), numbers)
        table.rows.append(Row(row.heading, of_row, style="reference"))
    for group in groups:
        entry = next(iter(group.values()))
        mark = table.sign(f"{entry.source}: {entry.note}.")
        numbers = [published_cell(group.get(key)) for key in metrics]
        of_row = cells(
            Cell(entry.protocol, mark=mark), entry.augmentation, _same(entry, own), numbers
        )
        table.rows.append(Row(f"{entry.title} ({entry.source})", of_row))
    return table


def published_cell(entry: Published | None) -> Cell:
    """A published number alone."""
    return Cell() if entry is None else Cell(Estimate(entry.value), metric_facts(entry.metric))


def _same(entry: Published, own: Sequence[OwnRow]) -> Cell:
    """Whether ours follow the protocol of a published result, and which of ours."""
    same = [row.heading for row in own if relation(row.ours, entry) is Relation.SAME]
    if not same:
        return Cell("no")
    return Cell("yes" if len(same) == len(own) else f"as {', '.join(same)}", style="same")


def sweep_published(study: Study, columns: Sequence[Column]) -> list[Table]:
    """One table per published metric: per data set our mean and the published number.

    A row of ours has a row of the table per source, and per protocol of it where there are several.
    """
    tables = [_means_and_published(study, columns, metric) for metric in METRICS]
    return [table for table in tables if table.rows]


def _means_and_published(study: Study, columns: Sequence[Column], metric: str) -> Table:
    found = {
        (row, column.name): beside(study, column.name, row, metric)
        for row in study.rows
        for column in columns
    }
    shown = [c for c in columns if any(found[row, c.name] for row in study.rows)]
    caption = f"{metric_facts(metric).heading}: ours and published, test"
    table = Table(caption, ["Method"], intervals=False)
    for column in shown:
        table.columns += [f"{column.name}, ours", f"{column.name}, published"]
    for row in study.rows:
        places = dict.fromkeys(_place(b) for c in shown for b in found[row, c.name])
        protocols = Counter(source for source, _ in places)
        for source, protocol in places:
            cells: list[Cell] = []
            for column in shown:
                theirs = [b for b in found[row, column.name] if _place(b) == (source, protocol)]
                cells.append(mean_cell(metric, column.estimate("test", metric, row)))
                cells.append(_beside(table, theirs[0]) if theirs else Cell())
            which = f", {protocol}" if protocols[source] > 1 else ""
            table.rows.append(Row(f"{row}: {source}{which}", cells))
    table.notes += size_note(shown, "test")
    return table


def _place(found: Beside) -> tuple[str, str]:
    """Who published a number, and under which protocol."""
    return found.entry.source, found.entry.protocol


def mean_cell(metric: str, number: Estimate | None) -> Cell:
    """A number of ours with SD and number of seeds; a dash where there is none."""
    if number is None or number.mean is None:
        return Cell()
    own = Estimate(number.mean, number.sd, n=number.n, planned=number.planned)
    return Cell(own, metric_facts(metric))


def _beside(table: Table, found: Beside) -> Cell:
    entry, ours = found.entry, found.ours
    note = f"{entry.source}, {entry.protocol}: {entry.note}."
    if entry.augmentation:
        note += f" Augmentation: {entry.augmentation}; ours: {ours.augmentation}."
    if ours.protocol != entry.protocol:
        note += f" Ours: {ours.protocol or 'no protocol'}."
    return replace(
        published_cell(entry),
        detail=entry.protocol,
        extra=found.relation.value,
        mark=table.sign(note),
        style="same" if found.same else "",
    )
