"""Results by subgroup of the metadata: a table per column, and how far its subgroups are apart."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import DivisionRecord, EvaluationRecord, SubgroupRecord
from medldr.folders.privacy import hide_ids
from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline
from medldr.reporting.sections.domain_gap import spoken
from medldr.reporting.sections.run.numbers import where
from medldr.reporting.table import DASH, Cell, Row, Table
from medldr.reporting.wording import ordered


def subgroups(files: RunFiles) -> Section | None:
    """A table for each column of the metadata that was divided; None without any."""
    scored, split = files.evaluation, headline(files.evaluation)
    if scored is None or split is None or not split.subgroups:
        return None
    groups = split.unit == "group"
    blocks: list[Block] = [
        subgroup_table(name, division, scored, groups=groups, ids=files.ids)
        for name, division in split.subgroups.items()
    ]
    return section("run", "subgroups", where(scored), *blocks)


def subgroup_table(
    name: str,
    division: DivisionRecord,
    scored: EvaluationRecord,
    *,
    groups: bool,
    ids: frozenset[str] = frozenset(),
) -> Table:
    """The subgroups of one column, the one with the lowest accuracy marked.

    Args:
        name: The column.
        division: Its subgroups.
        scored: The evaluation, for the task and its classes.
        groups: Whether items belong to groups, whose number is then a column.
        ids: Ids and groups, which no page may show.
    """
    table = Table(f"By {hide_ids(name, ids)}", [hide_ids(name, ids), "Images"])
    if groups:
        table.columns.append("Groups (patients)")
    table.columns.append(_classes_heading(scored))
    if scored.positive_class is None:
        table.texts = (len(table.columns) - 1,)
    keys = ordered(key for entry in division.values.values() for key in entry.metrics)
    table.columns += [metric_facts(key).heading for key in keys]
    gap = division.gaps.get("accuracy")
    for value, entry in division.values.items():
        lowest = gap is not None and value == gap.lowest
        tags = {f"lowest of {gap.of if gap else 0}": lowest, "few groups": entry.few_groups}
        sizes = (entry.n, entry.n_groups)[: 2 if groups else 1]
        cells = [Cell(DASH if size is None else size) for size in sizes]
        cells += [_classes(entry, scored), *_numbers(table, keys, entry)]
        held = tuple(tag for tag, holds in tags.items() if holds and entry.reason is None)
        table.rows.append(Row(hide_ids(value, ids), cells, held, "worst" if lowest else ""))
    table.notes = [hide_ids(note, ids) for note in _notes(division)]
    return table


def _classes_heading(scored: EvaluationRecord) -> str:
    if scored.positive_class is not None:
        return "Positives"
    of = "Positives" if scored.task == "multi-label" else "Images"
    return f"{of}: {' / '.join(scored.class_names)}"


def _classes(entry: SubgroupRecord, scored: EvaluationRecord) -> Cell:
    if not entry.classes:
        return Cell()
    if scored.positive_class is not None:
        return Cell(entry.classes.get(scored.positive_class, 0))
    return Cell(" / ".join(f"{count:,}" for count in entry.classes.values()))


def _numbers(table: Table, keys: Sequence[str], entry: SubgroupRecord) -> list[Cell]:
    if entry.reason is not None:
        return [table.number(key, Estimate(reason=entry.reason)) for key in keys]
    held = entry.metrics
    return [table.number(key, Estimate.of(held[key]) if key in held else None) for key in keys]


def _notes(division: DivisionRecord) -> list[str]:
    said = []
    if division.edges:
        cut = " and ".join(f"{edge:.12g}" for edge in division.edges)
        said.append(sentence(f"cut_{division.how}", edges=cut))
    for metric, gap in division.gaps.items():
        known = metric_facts(metric)
        unit = " percentage points" if known.percent else ""
        said.append(
            sentence(
                "subgroup_gap", metric=spoken(metric).capitalize() if metric != "auc" else "AUC",
                lowest=gap.lowest, of=gap.of, highest=gap.highest,
                gap=f"{known.show(gap.value)}{unit}",
            )
        )  # fmt: skip
    if division.missing:
        said.append(sentence("subgroup_missing", count=f"{division.missing:,}"))
    if any(entry.few_groups and entry.reason is None for entry in division.values.values()):
        said.append(sentence("few_groups"))
    return said
