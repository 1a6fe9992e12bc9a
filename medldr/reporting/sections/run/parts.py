"""Parts of a run (splits, domains, classes, subgroups, rules) as rows, their metrics as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import (
    DomainRecord,
    EvaluationRecord,
    Number,
    SplitRecord,
    SubgroupRecord,
)
from medldr.metrics import metric_facts
from medldr.reporting.document import Paragraph
from medldr.reporting.prose import sentence
from medldr.reporting.results.headline import headline_split
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import ordered, split_name


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
