"""Results by subgroup of the metadata: a table per column, and what sets two of them apart."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import (
    DivisionRecord,
    EvaluationRecord,
    Number,
    SubgroupRecord,
)
from medldr.folders.privacy import hide_ids
from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline
from medldr.reporting.sections.domain_gap import points_text
from medldr.reporting.sections.run.parts import Part, metrics_table, size_cell, where
from medldr.reporting.table import Table
from medldr.reporting.wording import bracketed, ordered


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
    found = difference(*(Estimate.of(held.get(key, Number())) for held in (one, other)))
    if found.mean is None or found.low is None:
        return ""
    known, side = metric_facts(key), direction(found)
    what = {"unclear": ": no clear difference"}.get(side, f": {side}")
    return f"{points_text(found.mean, key)}{bracketed(found, known, level, signed=True)}{what}."


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One number minus an independent one.

    Source:
        Zou & Donner 2008, "Construction of confidence limits about effect measures" (MOVER): the
        distances of both numbers to the ends of their intervals, squared and added.

    Example:
        >>> one, other = Estimate(0.8, low=0.77, high=0.84), Estimate(0.6, low=0.57, high=0.64)
        >>> found = difference(one, other)
        >>> round(found.low, 3), round(found.high, 3)
        (0.15, 0.25)
    """
    if one.mean is None or other.mean is None:
        return Estimate()
    apart = one.mean - other.mean
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(apart)
    below = hypot(one.mean - one.low, other.high - other.mean)
    above = hypot(one.high - one.mean, other.mean - other.low)
    return Estimate(apart, low=apart - below, high=apart + above)
