"""A run's numbers in tables: all metrics, and those of domains, groups, and classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medldr.evaluation.comparison.comparison import Size
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import EvaluationRecord, Number, SplitRecord, Worst
from medldr.metrics import BY_GROUP, metric_facts
from medldr.reporting.document import Figures, Pairs, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.results.headline import headline, page_order, tested_domains
from medldr.reporting.sections.run.drawn import frequency_figure
from medldr.reporting.sections.run.parts import (
    Part,
    count_cell,
    metrics_table,
    numbers,
    of_domain,
    size_cell,
    where,
)
from medldr.reporting.table import DASH, Cell, Row, Table
from medldr.reporting.wording import ordered, split_name

MOST: Final = 100
"""A page shows no more groups than this; `evaluation.json` has all."""


def splits(scored: EvaluationRecord) -> Section | None:
    """Every metric in every split, and what each of them means."""
    table, found = split_table(scored), scored.splits.values()
    shown = ordered(key for split in found for key in (*split.metrics, *split.at_prevalence))
    known = [(metric_facts(key).title, metric_facts(key).meaning) for key in shown]
    if not table.rows:
        return None
    return section("run", "splits", table, Pairs(known, glossary=True), count=len(table.rows))


def split_table(scored: EvaluationRecord) -> Table:
    """Metrics down, splits across; below them those of groups in place of images."""
    shown = page_order(scored)
    table = Table("All metrics in each evaluated split", ["Metric"])
    table.columns += [
        f"{split_name(name)}, n = {Size(of.n, of.n_groups, unit=of.unit or '').counts}"
        for name, of in shown.items()
    ]
    every = [metrics_of(split) for split in shown.values()]
    for key in ordered(key for held in every for key in held):
        cells = [cell for held in every for cell in numbers(table, [key], held)]
        table.rows.append(Row(metric_facts(key).heading, cells))
    return table


def metrics_of(split: SplitRecord) -> dict[str, Number]:
    """The metrics of a split, those of its groups, and its worst group if that is large enough."""
    worst, groups = worst_group(split), split.by_group
    of_worst = {} if worst is None else {"worst_group": worst.accuracy}
    of_groups = {} if groups is None else {f"{BY_GROUP}{k}": v for k, v in groups.metrics.items()}
    return {**split.metrics, **of_worst, **of_groups}


def worst_group(split: SplitRecord) -> Worst | None:
    """The group with the lowest accuracy among those large enough to have one that says something.

    Files keep the lowest of all groups, as WILDS defines it, also where that is of one image.
    """
    large = [
        Worst(name=name, n=of.n, accuracy=Number(value=of.accuracy, low=of.low, high=of.high))
        for name, of in split.groups.items()
        if of.n >= FEWEST and of.accuracy is not None
    ]
    if split.groups:
        return min(large, key=lambda each: each.accuracy.value or 0.0, default=None)
    small = split.worst_group is None or (split.worst_group.n or 0) < FEWEST
    return None if small else split.worst_group


def domains(scored: EvaluationRecord) -> Section | None:
    """Results in each domain that it was tested on, unseen ones first; None without two."""
    found = sorted(tested_domains(scored).items(), key=lambda of: (of[1].seen, of[0]))
    if len(found) < 2:
        return None
    parts = [
        Part(n, of_domain(of).metrics, [size_cell(of)], of.few_groups, of.seen) for n, of in found
    ]
    table = metrics_table("Results by domain", ["Domain", "Images"], parts)
    return section("run", "domains", table, count=len(found))


def groups(scored: EvaluationRecord) -> Section | None:
    """Accuracy of each group, where a run was asked to score groups.

    Groups may be patients. Their names are in `evaluation.json`, and so on a page, only where
    `evaluation.per_group` was set.
    """
    split = headline(scored)
    if split is None or not split.groups:
        return None
    return section("run", "groups", where(scored), group_table(split), count=len(split.groups))


def group_table(split: SplitRecord) -> Table:
    """Groups of a split with their size, in the order of their accuracy."""
    ranked = sorted(
        split.groups.items(), key=lambda of: (of[1].accuracy is None, of[1].accuracy or 0.0, of[0])
    )
    worst = worst_group(split)
    parts = []
    for name, of in ranked[:MOST]:
        reason = "no known label" if of.accuracy is None else None
        number = Number(value=of.accuracy, low=of.low, high=of.high, reason=reason)
        tags = ["worst group"] if worst and name == worst.name else []
        front = [Cell(of.domain or DASH), Cell(of.n)]
        parts.append(Part(name, {"accuracy": number}, front, tags=tags))
    caption = "Accuracy of each group, in ascending order"
    table = metrics_table(caption, ["Group", "Domain", "Images"], parts, keys=["accuracy"])
    table.texts = (1,)
    if len(ranked) > MOST:
        said = "The first {} of {:,} groups in this order; evaluation.json lists all."
        table.notes.append(said.format(MOST, len(ranked)))
    return table


def classes(scored: EvaluationRecord) -> Section | None:
    """Results of each class or label; None where they were not scored."""
    split, labels = headline(scored), scored.task == "multi-label"
    if split is None or not split.classes:
        return None
    trained_on = {} if scored.shots is None else scored.shots.counts
    first = ["Label", "Positive"] if labels else ["Class", "Images"]
    first += ["Training images"] if trained_on else []
    parts = []
    for name, of in split.classes.items():
        front = [count_cell(of.n), *([count_cell(trained_on.get(name))] if trained_on else [])]
        # The areas of two classes are one number, which leads the page.
        apart = scored.task != "binary"
        held = {key: n for key, n in of.metrics.items() if apart or not metric_facts(key).area}
        parts.append(Part(name, held, front))
    table = metrics_table(f"Results by {first[0].lower()}", first, parts)
    drawing = None if scored.shots is None else frequency_figure(split, scored.shots)
    at_half = Paragraph(sentence("labels_at_half") if scored.operating_points else "", "small")
    figures, name = Figures([drawing] if drawing else []), "labels" if labels else "classes"
    return section("run", name, where(scored), table, at_half, figures, count=len(parts))


def label_table(split: SplitRecord, names: Sequence[str]) -> Table:
    """Right and wrong decisions of each label of a multi-label task.

    Args:
        split: Its ``L x 2 x 2`` counts have the truth (absent, present) in rows.
        names: One per label.
    """
    at = "its threshold" if split.confusion_at_thresholds else "a probability threshold of 0.5"
    table = Table(
        f"Decisions for each label at {at}",
        ["Label", "True positives", "False negatives", "False positives", "True negatives"],
    )
    for name, ((right, alarm), (missed, found)) in zip(names, split.decided or (), strict=True):
        table.rows.append(Row(name, [Cell(n) for n in (found, missed, alarm, right)]))
    return table
