"""Parts of a run (splits, domains, classes, subgroups, rules) as rows, their metrics as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from medldr.evaluation.comparison.findings import apart, direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import (
    DivisionRecord,
    DomainRecord,
    EvaluationRecord,
    Number,
    SplitRecord,
    SubgroupRecord,
)
from medldr.folders.privacy import hide_ids
from medldr.metrics import metric_facts
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import bracketed, ordered, points_text, split_name


class Part(NamedTuple):
    """A row: its heading, its numbers, the cells before them, words behind the heading, its style.

    What training saw of it is None where that does not matter.
    """

    name: str
    metrics: Mapping[str, Number]
    front: Sequence[Cell] = ()
    few_groups: bool = False
    seen: bool | None = None
    tags: Sequence[str] = ()
    style: str = ""


def metrics_table(
    caption: str,
    first: Sequence[str],
    parts: Iterable[Part],
    *,
    keys: Sequence[str] = (),
    short: bool = False,
) -> Table:
    """A table of parts.

    Args:
        caption: What it shows.
        first: Headings of the columns before the metrics.
        parts: Its rows.
        keys: Metrics to show; without any, all that need no threshold.
        short: Whether it has to fit a terminal, which shows no tags.
    """
    parts = list(parts)
    keys = keys or [
        key
        for key in ordered(key for part in parts for key in part.metrics)
        if not metric_facts(key).threshold
    ]
    known = [metric_facts(key) for key in keys]
    table = Table(caption, [*first, *(of.short_heading if short else of.heading for of in known)])
    for part in parts:
        unseen, few = part.seen is False, part.few_groups
        held = {"seen": bool(part.seen), "unseen": unseen, "few groups": few}
        tags = (*(tag for tag, holds in held.items() if holds), *part.tags)
        name = f"{part.name}, unseen" if short and unseen else part.name
        cells = [*part.front, *numbers(table, keys, part.metrics)]
        table.rows.append(Row(name, cells, tags, part.style))
    if any(part.few_groups for part in parts) and not short:
        table.notes.append(sentence("few_groups"))
    return table


def numbers(table: Table, keys: Iterable[str], held: Mapping[str, Number]) -> list[Cell]:
    """A cell for each metric; a dash where it was not computed."""
    return [table.number(key, Estimate.of(held[key]) if key in held else None) for key in keys]


def of_domain(of: DomainRecord) -> DomainRecord:
    """A domain as tables show it: where it has fewer than `FEWEST` images, without numbers."""
    if (of.n or 0) >= FEWEST:
        return of
    none = Number(reason=f"fewer than {FEWEST} images")
    return of.model_copy(update={"metrics": dict.fromkeys(of.metrics, none)})


def count_cell(n: int | None, detail: str = "") -> Cell:
    """A count, or a dash."""
    return Cell() if n is None else Cell(n, detail=detail)


def size_cell(part: SplitRecord | DomainRecord | SubgroupRecord, mix: str = "") -> Cell:
    """Images, and below them the mix of classes, and groups where they are fewer."""
    apart = not isinstance(part, SplitRecord) or part.unit == "group"
    groups = f"{part.n_groups:,} groups" if apart and part.n_groups not in (None, part.n) else ""
    return count_cell(part.n, ", ".join(filter(None, (mix, groups))))


def where(scored: EvaluationRecord) -> Paragraph:
    """The split that numbers are of."""
    return Paragraph(f"{split_name(headline_split(scored))} split.", "small")


def subgroups(files: RunFiles) -> Section | None:
    """A table for each column of the metadata that was divided; None without any."""
    scored, split = files.evaluation, headline(files.evaluation)
    if scored is None or split is None or not split.subgroups:
        return None
    tables = [subgroup_table(n, of, scored, files.ids) for n, of in split.subgroups.items()]
    columns = ", ".join(hide_ids(name, files.ids) for name in split.subgroups)
    return section("run", "subgroups", where(scored), *tables, columns=columns)


def subgroup_table(
    name: str, division: DivisionRecord, scored: EvaluationRecord, ids: frozenset[str]
) -> Table:
    """The subgroups of one column with their mix of classes, and what sets two of them apart.

    Args:
        name: The column.
        division: Its subgroups.
        scored: The evaluation, for the task and its classes.
        ids: Ids and groups, which no page may show.
    """
    found, positive = division.values, scored.positive_class
    keys = ordered(key for entry in found.values() for key in entry.metrics)
    parts = [
        Part(
            hide_ids(value, ids),
            {key: Number(reason=of.reason) for key in keys} if of.reason else of.metrics,
            [size_cell(of, mix_text(of, positive))],
            of.few_groups and of.reason is None,
        )
        for value, of in found.items()
    ]
    column, mix = hide_ids(name, ids), positive or " / ".join(scored.class_names)
    table = metrics_table(f"By {column}", [column, f"Images ({mix})"], parts, keys=keys)
    table.notes += [hide_ids(note, ids) for note in subgroup_notes(division, scored)]
    return table


def mix_text(entry: SubgroupRecord, positive: str | None) -> str:
    """Positives with their share, or images of each class; empty if it was only counted.

    Example:
        >>> mix_text(SubgroupRecord(classes={"ill": 3, "well": 9}), "ill")
        '3 ill (25.0%)'
    """
    known = sum(entry.classes.values())
    if positive is None or not known:
        return " / ".join(f"{count:,}" for count in entry.classes.values())
    count = entry.classes.get(positive, 0)
    return f"{count:,} {positive} ({count / known:.1%})"


def subgroup_notes(division: DivisionRecord, scored: EvaluationRecord) -> list[str]:
    """How a column was divided, and the difference of its two subgroups, if it has two."""
    said = []
    if division.edges:
        cut = " and ".join(f"{edge:.12g}" for edge in division.edges)
        said.append(sentence(f"cut_{division.how}", edges=cut))
    found = {name: entry for name, entry in division.values.items() if entry.metrics}
    if len(found) == 2:
        (one, first), (other, second) = found.items()
        said += [
            f"{one} minus {other}, {metric_facts(key).title}: {text}"
            for key in first.metrics
            if (text := _difference_text(key, first.metrics, second.metrics, scored.level))
        ]
        if (positive := scored.positive_class) is not None and said:
            shares = [f"{name} {mix_text(entry, positive)}" for name, entry in found.items()]
            said.append(sentence("subgroup_mix", shares=", ".join(shares)))
    elif len(found) > 2:
        said.append(sentence("subgroup_several"))
    if division.missing:
        said.append(sentence("subgroup_missing", count=f"{division.missing:,}"))
    return said


def _difference_text(
    key: str, one: Mapping[str, Number], other: Mapping[str, Number], level: float
) -> str:
    """A difference of two numbers of different images, with its interval; empty without one."""
    found = apart(*(Estimate.of(held.get(key, Number())) for held in (one, other)))
    if found.mean is None or found.low is None:
        return ""
    known, side = metric_facts(key), direction(found)
    what = {"unclear": ": no clear difference"}.get(side, f": {side}")
    return f"{points_text(found.mean, key)}{bracketed(found, known, level, signed=True)}{what}."
