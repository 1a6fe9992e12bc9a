"""A run's numbers in tables: of splits, domains, classes, rules, and recalibration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from medldr.evaluation.comparison.comparison import Size
from medldr.evaluation.recalibration import NOTICED
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import EvaluationRecord, Number, SplitRecord, Worst
from medldr.folders.run_record import Selection
from medldr.metrics import BY_GROUP, metric_facts
from medldr.reporting.document import Pairs, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split, page_order, tested_domains
from medldr.reporting.sections.run.parts import (
    Part,
    count_cell,
    metrics_table,
    numbers,
    of_domain,
    size_cell,
    where,
)
from medldr.reporting.sections.run.verdict import leading
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import ordered, split_name


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
    at_half = Paragraph(sentence("labels_at_half") if scored.operating_points else "", "small")
    name = "labels" if labels else "classes"
    return section("run", name, where(scored), table, at_half, count=len(parts))


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


NOT_EVALUATED: Final = "not evaluated; run `medldr evaluate` on the run again"
CALIBRATION: Final = ("ece", "brier", "nll", "calibration_slope")


def rules(files: RunFiles) -> Section | None:
    """What each selection rule chose, and what its weights reach; None for a single rule."""
    return section("run", "rules", rule_table(files), count=len(files.by_rule))


def rule_table(files: RunFiles) -> Table | None:
    """A row per rule, the reported one first; None where the run has a single rule."""
    if len(files.by_rule) < 2 or files.evaluation is None:
        return None
    split, keys = headline_split(files.evaluation), leading(files.evaluation)
    parts = []
    for place, (rule, (chosen, scored)) in enumerate(files.by_rule.items()):
        held: Mapping[str, Number] = {key: Number(reason=NOT_EVALUATED) for key in keys}
        if scored is not None:
            held = scored.splits[split].metrics if split in scored.splits else {}
        front = [
            Cell(split_name(chosen.split).lower()) if chosen.split else Cell(),
            Cell() if chosen.epoch is None else Cell(f"{chosen.epoch}", order=float(chosen.epoch)),
            Cell() if chosen.value is None else Cell(value_text(chosen), order=chosen.value),
        ]
        tags = [*(["reported"] if place == 0 else []), *(["oracle"] if chosen.oracle else [])]
        parts.append(Part(rule, held, front, tags=tags))
    first = ["Rule", "Selection split", "Epoch", "Value at selection"]
    caption = f"By selection rule, {split_name(split).lower()} split"
    table = metrics_table(caption, first, parts, keys=keys)
    table.texts = (1,)
    if any("oracle" in part.tags for part in parts):
        table.notes.append(sentence("rule_oracle"))
    return table


def value_text(chosen: Selection) -> str:
    """What a rule found where it chose, with its unit; empty where it compared nothing.

    Example:
        >>> value_text(Selection(rule="val_auc", value=0.5)), value_text(Selection(rule="last"))
        ('0.500', '')
    """
    if chosen.value is None:
        return ""
    return metric_facts(metric_of(chosen.rule)).with_unit(chosen.value)


def metric_of(rule: str) -> str:
    """The metric that a rule compares; empty for ``last``.

    Example:
        >>> metric_of("id_val_balanced_accuracy"), metric_of("oracle_auc"), metric_of("last")
        ('balanced_accuracy', 'auc', '')
        >>> metric_of("swad")
        'domain_loss'
    """
    if rule == "swad":
        return "domain_loss"
    return re.sub(r"^(last$|(id_val|val|oracle_out|oracle)_)", "", rule)


def recalibration(scored: EvaluationRecord) -> Section | None:
    """What recalibration changed, before and after; None for a run without it."""
    made = scored.recalibration
    if made is None:
        return None
    if made.temperature is None:
        said = sentence("not_recalibrated", reason=made.reason)
        return section("run", "recalibration", Paragraph(said))
    ends = (made.low, made.high)
    clear = None not in ends and not (ends[0] or 0) <= 1 <= (ends[1] or 0)
    tendency = "overconfident" if made.temperature > 1 else "underconfident"
    said = sentence(
        "recalibrated",
        temperature=f"{made.temperature:.3g}",
        interval=f" ({made.interval})" if made.interval else "",
        tendency=f"was {tendency}" if clear else "was not clearly over- or underconfident",
        split=split_name(made.split or "").lower(),
        size=made.size,
    )
    harm = " ".join(of.note for of in made.worsened if of.after - of.before >= NOTICED)
    return section(
        "run", "recalibration", Paragraph(said), recalibration_table(scored), Paragraph(harm)
    )


def recalibration_table(scored: EvaluationRecord) -> Table | None:
    """Each split before and after; None where nothing was recorded before."""
    old = {} if scored.recalibration is None else scored.recalibration.before
    parts = []
    for name in (name for name in page_order(scored) if name in old):
        before = {key: Number(value=value) for key, value in old[name].items()}
        after, title = scored.splits[name].metrics, split_name(name)
        parts.append(Part(f"{title}, before", before))
        parts.append(Part(f"{title}, after", {key: after[key] for key in before if key in after}))
    keys = [key for key in ordered(k for part in parts for k in part.metrics) if key in CALIBRATION]
    caption = "Calibration before and after"
    return metrics_table(caption, ["Split"], parts, keys=keys) if keys else None
