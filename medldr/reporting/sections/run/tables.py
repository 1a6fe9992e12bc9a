"""A run's numbers in tables: all metrics, domains, groups, subgroups, classes, selection rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import hypot
from typing import Final

from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import (
    DivisionRecord,
    EvaluationRecord,
    Number,
    SplitRecord,
    SubgroupRecord,
)
from medldr.folders.privacy import hide_ids
from medldr.folders.run_record import Selection
from medldr.metrics import BY_GROUP, metric_facts
from medldr.reporting.document import Figures, Pairs, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split, page_order, tested_domains
from medldr.reporting.sections.domain_gap import points_text
from medldr.reporting.sections.run.drawn import frequency_figure
from medldr.reporting.sections.run.result import counts_text
from medldr.reporting.sections.run.verdict import leading, worst_group
from medldr.reporting.table import DASH, Cell, Row, Table
from medldr.reporting.wording import bracketed, comparison_metrics, ordered, split_name

MOST: Final = 100
"""A page shows no more groups than this; `evaluation.json` has all."""
NOT_EVALUATED: Final = "not evaluated; run `medldr evaluate` on the run again"
CALIBRATION: Final = ("ece", "brier", "nll", "calibration_slope")


def numbers(table: Table, keys: Iterable[str], held: Mapping[str, Number]) -> list[Cell]:
    """A cell for each metric; a dash where it was not computed."""
    return [table.number(key, Estimate.of(held[key]) if key in held else None) for key in keys]


def metrics_table(
    caption: str,
    first: Sequence[str],
    parts: Mapping[str, Mapping[str, Number]],
    front: Mapping[str, Sequence[Cell]],
    *,
    keys: Sequence[str] = (),
    tags: Mapping[str, Sequence[str]] | None = None,
    texts: tuple[int, ...] = (),
) -> Table:
    """Parts of a split down, their metrics across.

    Args:
        caption: What it shows.
        first: Headings of the columns before the metrics.
        parts: Numbers of each row.
        front: Its cells before them.
        keys: Metrics to show; without any, all but those at a threshold.
        tags: Words behind a row's heading.
        texts: Positions of columns with words.
    """
    every = ordered(key for held in parts.values() for key in held)
    keys = keys or [key for key in every if not metric_facts(key).threshold]
    table = Table(caption, [*first, *(metric_facts(key).heading for key in keys)], texts=texts)
    for name, held in parts.items():
        said = tuple((tags or {}).get(name, ()))
        table.rows.append(Row(name, [*front[name], *numbers(table, keys, held)], said))
    return table


def where(scored: EvaluationRecord) -> Paragraph:
    """The split that numbers are of."""
    return Paragraph(f"{split_name(headline_split(scored))} split.", "small")


def count_cell(n: int | None) -> Cell:
    """A count, or a dash."""
    return Cell() if n is None else Cell(n)


def splits(scored: EvaluationRecord) -> Section | None:
    """Every metric in every split."""
    table = split_table(scored) if scored.splits else None
    return section("run", "splits", table, count=0 if table is None else len(table.rows))


def split_table(scored: EvaluationRecord) -> Table:
    """Metrics down, splits across; below them the main ones of groups in place of images."""
    shown = page_order(scored)
    table = Table("All metrics in each evaluated split", ["Metric"])
    table.columns += [f"{split_name(n)}, n = {counts_text(split)}" for n, split in shown.items()]

    def add(keys: Collection[str], held: Sequence[Mapping[str, Number]], prefix: str = "") -> None:
        for key in keys:
            cells = [cell for each in held for cell in numbers(table, [key], each)]
            table.rows.append(Row(metric_facts(f"{prefix}{key}").heading, cells))

    every = [metrics_of(split) for split in shown.values()]
    add(ordered(key for held in every for key in held), every)
    groups = [{} if of.by_group is None else of.by_group.metrics for of in shown.values()]
    main = set(comparison_metrics(scored.task))
    add([key for key in ordered(key for held in groups for key in held)
         if key in main or _decides(key)], groups, BY_GROUP)  # fmt: skip
    return table


def _decides(key: str) -> bool:
    known = metric_facts(key)
    return known.calibration or bool(known.threshold and known.share)


def metrics_of(split: SplitRecord) -> dict[str, Number]:
    """The metrics of a split, its worst group among them where that is large enough."""
    worst = worst_group(split)
    return {**split.metrics, **({} if worst is None else {"worst_group": worst.accuracy})}


def domains(scored: EvaluationRecord) -> Section | None:
    """Results in each domain that it was tested on, seen and unseen; None without two."""
    found = dict(sorted(tested_domains(scored).items(), key=lambda of: (of[1].seen, of[0])))
    if len(found) < 2:
        return None
    grouped = any(of.n_groups not in (None, of.n) for of in found.values())
    sizes = {
        name: [count_cell(of.n), *([count_cell(of.n_groups)] if grouped else [])]
        for name, of in found.items()
    }
    tags = {
        name: ["seen" if of.seen else "unseen", *(["few groups"] if of.few_groups else [])]
        for name, of in found.items()
    }
    first = ["Domain", "Images", *(["Groups"] if grouped else [])]
    parts = {name: of.metrics for name, of in found.items()}
    table = metrics_table("Results by domain", first, parts, sizes, tags=tags)
    if any(of.few_groups for of in found.values()):
        table.notes.append(sentence("few_groups"))
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
    parts = {
        name: {"accuracy": Number(value=of.accuracy, low=of.low, high=of.high,
                                  reason="no known label" if of.accuracy is None else None)}
        for name, of in ranked[:MOST]
    }  # fmt: skip
    front = {name: [Cell(of.domain or DASH), Cell(of.n)] for name, of in ranked[:MOST]}
    tags = {} if worst is None else {worst.name: ["worst group"]}
    first, caption = ["Group", "Domain", "Images"], "Accuracy of each group, in ascending order"
    table = metrics_table(caption, first, parts, front, keys=["accuracy"], tags=tags, texts=(1,))
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
    front = {
        name: [count_cell(of.n), *([Cell(trained_on[name])] if trained_on else [])]
        for name, of in split.classes.items()
    }
    # The areas of two classes are one number, which leads the page.
    parts = {
        name: {k: v for k, v in of.metrics.items() if labels or scored.task != "binary"
               or not metric_facts(k).area}
        for name, of in split.classes.items()
    }  # fmt: skip
    first += ["Training images"] if trained_on else []
    table = metrics_table(f"Results by {first[0].lower()}", first, parts, front)
    drawing = None if scored.shots is None else frequency_figure(split, scored.shots)
    at_half = Paragraph(sentence("labels_at_half") if scored.operating_points else "", "small")
    name, count = "labels" if labels else "classes", len(parts)
    figures = None if drawing is None else Figures([drawing])
    return section("run", name, where(scored), table, at_half, figures, count=count)


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


def subgroups(files: RunFiles) -> Section | None:
    """A table for each column of the metadata that was divided; None without any."""
    scored, split = files.evaluation, headline(files.evaluation)
    if scored is None or split is None or not split.subgroups:
        return None
    tables = [
        subgroup_table(name, division, scored, groups=split.unit == "group", ids=files.ids)
        for name, division in split.subgroups.items()
    ]
    columns = ", ".join(hide_ids(name, files.ids) for name in split.subgroups)
    return section("run", "subgroups", where(scored), *tables, columns=columns)


def subgroup_table(
    name: str,
    division: DivisionRecord,
    scored: EvaluationRecord,
    *,
    groups: bool,
    ids: frozenset[str] = frozenset(),
) -> Table:
    """The subgroups of one column with their mix of classes, and what sets two of them apart.

    Args:
        name: The column.
        division: Its subgroups.
        scored: The evaluation, for the task and its classes.
        groups: Whether items belong to groups, whose number is then a column.
        ids: Ids and groups, which no page may show.
    """
    found = {hide_ids(value, ids): entry for value, entry in division.values.items()}
    positive = scored.positive_class
    of = "Positives" if positive is not None or scored.task == "multi-label" else "Images"
    mix = of if positive is not None else f"{of}: {' / '.join(scored.class_names)}"
    first = [hide_ids(name, ids), "Images", *(["Groups (patients)"] if groups else []), mix]
    keys = ordered(key for entry in found.values() for key in entry.metrics)
    front = {
        value: [count_cell(entry.n), *([count_cell(entry.n_groups)] if groups else []),
                _mix(entry, positive)]
        for value, entry in found.items()
    }  # fmt: skip
    parts = {
        value: {key: Number(reason=entry.reason) for key in keys} if entry.reason else entry.metrics
        for value, entry in found.items()
    }
    tags = {v: ["few groups"] for v, e in found.items() if e.few_groups and e.reason is None}
    texts = () if positive is not None else (len(first) - 1,)
    caption = f"By {first[0]}"
    table = metrics_table(caption, first, parts, front, keys=keys, tags=tags, texts=texts)
    table.notes = [hide_ids(note, ids) for note in _subgroup_notes(division, scored)]
    if tags:
        table.notes.append(sentence("few_groups"))
    return table


def _mix(entry: SubgroupRecord, positive: str | None) -> Cell:
    if not entry.classes:
        return Cell()
    if positive is None:
        return Cell(" / ".join(f"{count:,}" for count in entry.classes.values()))
    return Cell(entry.classes.get(positive, 0), detail=_prevalence(entry, positive))


def _prevalence(entry: SubgroupRecord, positive: str) -> str:
    known = sum(entry.classes.values())
    return f"{entry.classes.get(positive, 0) / known:.1%}" if known else ""


def _subgroup_notes(division: DivisionRecord, scored: EvaluationRecord) -> list[str]:
    said = []
    if division.edges:
        cut = " and ".join(f"{edge:.12g}" for edge in division.edges)
        said.append(sentence(f"cut_{division.how}", edges=cut))
    found = {name: entry for name, entry in division.values.items() if entry.metrics}
    if len(found) == 2:
        (one, first), (other, second) = found.items()
        pairs = [
            (key, first.metrics[key], second.metrics[key])
            for key in first.metrics
            if key in second.metrics
        ]
        said += [
            f"{one} minus {other}, {metric_facts(key).title}: {text}"
            for key, a, b in pairs
            if (text := _difference_text(key, a, b, scored.level))
        ]
        if (positive := scored.positive_class) is not None and said:
            shares = [f"{name} {_prevalence(entry, positive)}" for name, entry in found.items()]
            said.append(sentence("subgroup_mix", shares=", ".join(shares)))
    elif len(found) > 2:
        said.append(sentence("subgroup_several"))
    if division.missing:
        said.append(sentence("subgroup_missing", count=f"{division.missing:,}"))
    return said


def _difference_text(key: str, one: Number, other: Number, level: float) -> str:
    """A difference of two numbers of different images, with its interval; empty without one.

    Source:
        Zou & Donner 2008, "Construction of confidence limits about effect measures" (MOVER): the
        distances of both numbers to the ends of their intervals, squared and added.
    """
    found = difference(Estimate.of(one), Estimate.of(other))
    if found.mean is None or found.low is None:
        return ""
    known, side = metric_facts(key), direction(found)
    what = {"unclear": ": no clear difference"}.get(side, f": {side}")
    return f"{points_text(found.mean, key)}{bracketed(found, known, level, signed=True)}{what}."


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One number minus an independent one.

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


def rules(files: RunFiles) -> Section | None:
    """What each selection rule chose, and what its weights reach; None for a single rule."""
    return section("run", "rules", rule_table(files), count=len(files.by_rule))


def rule_table(files: RunFiles) -> Table | None:
    """A row per rule, the reported one first; None where the run has a single rule."""
    if len(files.by_rule) < 2 or files.evaluation is None:
        return None
    split, keys = headline_split(files.evaluation), leading(files.evaluation)
    first = ["Rule", "Selection split", "Epoch", "Value at selection"]
    parts, front, tags = {}, {}, {}
    for place, (rule, (chosen, scored)) in enumerate(files.by_rule.items()):
        known = scored.splits[split].metrics if scored and split in scored.splits else {}
        gone = {key: Number(reason=NOT_EVALUATED) for key in keys} if scored is None else {}
        parts[rule] = {**gone, **known}
        front[rule] = [
            Cell(split_name(chosen.split).lower()) if chosen.split else Cell(),
            Cell() if chosen.epoch is None else Cell(f"{chosen.epoch}", order=float(chosen.epoch)),
            Cell() if chosen.value is None else Cell(value_text(chosen), order=chosen.value),
        ]
        tags[rule] = [*(["reported"] if place == 0 else []), *(["oracle"] if chosen.oracle else [])]
    caption = f"By selection rule, {split_name(split).lower()} split"
    table = metrics_table(caption, first, parts, front, keys=keys, tags=tags, texts=(1,))
    if any("oracle" in said for said in tags.values()):
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
    prefixes = ("id_val_", "val_", "oracle_out_", "oracle_")
    known = next((prefix for prefix in prefixes if rule.startswith(prefix)), rule)
    return rule.removeprefix(known)


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
    harm = Paragraph(" ".join(each.note for each in made.worsened))
    return section("run", "recalibration", Paragraph(said), recalibration_table(scored), harm)


def recalibration_table(scored: EvaluationRecord) -> Table | None:
    """Splits down, each metric before and after; None where nothing was recorded before."""
    old = {} if scored.recalibration is None else scored.recalibration.before
    keys = [key for key in ordered(k for of in old.values() for k in of) if key in CALIBRATION]
    names = [name for name in page_order(scored) if name in old]
    if not keys or not names:
        return None
    table = Table("Calibration before and after", ["Split"], intervals=False)
    for key in keys:
        heading = metric_facts(key).heading
        table.columns += [f"{heading}, before", f"{heading}, after"]
    for name in names:
        new, cells = scored.splits[name].metrics, []
        for key in keys:
            after = new[key].value if key in new else None
            cells += [table.number(key, Estimate(v)) for v in (old[name].get(key), after)]
        table.rows.append(Row(split_name(name), cells))
    return table


def glossary(scored: EvaluationRecord) -> Section | None:
    """What each metric on the page means."""
    split = headline(scored)
    shown = {
        key for part in scored.splits.values() for key in (*metrics_of(part), *part.at_prevalence)
    }
    shown |= {key for of in (split.classes.values() if split else ()) for key in of.metrics}
    if any(part.calibration_fit for part in scored.splits.values()):
        shown |= {"calibration_intercept", "calibration_slope"}
    known = [(metric_facts(key).title, metric_facts(key).meaning) for key in ordered(shown)]
    pairs = [pair for pair in known if pair[1]]
    return section("run", "glossary", Pairs(pairs, glossary=True), count=len(pairs))
