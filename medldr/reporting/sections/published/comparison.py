"""Ours on the fixed test split of a data set beside all that was published of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from medldr.evaluation.comparison.comparison import Comparison
from medldr.evaluation.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.published.match import Ours, Relation, nearest_first, relation
from medldr.reporting.published.numbers import METRICS, Published
from medldr.reporting.read.run import RunFiles
from medldr.reporting.table import Cell, Row, Table


@dataclass(frozen=True)
class OwnRow:
    """One of our rows: its heading, the ids of a run of it, and its numbers by metric."""

    heading: str
    ours: Ours
    numbers: Mapping[str, Estimate]


def comparison_published(comparison: Comparison, runs: Mapping[str, RunFiles]) -> Table | None:
    """All methods of a comparison on the test split beside the published ones.

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
            means = {key: replace(mean, sd=None) for key, mean in found.items() if mean is not None}
            own.append(OwnRow(method.name, Ours.of(files), means))
    return ours_and_published(own)


def ours_and_published(own: Sequence[OwnRow]) -> Table | None:
    """Ours and published results, nearest first; None where none were published."""
    groups = nearest_first([row.ours for row in own])
    if not groups:
        return None
    augmented = any(entry.augmentation for group in groups for entry in group.values())
    words = ["Protocol", *(["Augmentation"] if augmented else []), "Same protocol"]
    table = Table(
        "Ours and published, test split",
        ["Method", *words, *(metric_facts(key).heading for key in METRICS)],
        texts=tuple(range(1, 1 + len(words))),
    )
    if augmented:
        table.notes.append("The same protocol also means the same augmentation.")
    for row in own:
        cells = [Cell(row.ours.protocol or "none")]
        cells += [Cell(row.ours.augmentation or "other")] if augmented else []
        cells += [Cell(), *(table.number(key, row.numbers.get(key)) for key in METRICS)]
        table.rows.append(Row(row.heading, cells, style="reference"))
    table.rows += [_published(table, group, own, augmented) for group in groups]
    return table


def _published(
    table: Table, group: Mapping[str, Published], own: Sequence[OwnRow], augmented: bool
) -> Row:
    entry = next(iter(group.values()))
    same = [row.heading for row in own if relation(row.ours, entry) is Relation.SAME]
    answer = "no" if not same else "yes" if len(same) == len(own) else f"as {', '.join(same)}"
    cells = [Cell(entry.protocol, mark=table.sign(f"{entry.source}: {entry.note}."))]
    cells += [Cell(entry.augmentation)] if augmented else []
    cells.append(Cell(answer, style="same" if same else ""))
    cells += [
        Cell(Estimate(group[key].value), metric_facts(key)) if key in group else Cell()
        for key in METRICS
    ]
    return Row(f"{entry.title} ({entry.source})", cells)
