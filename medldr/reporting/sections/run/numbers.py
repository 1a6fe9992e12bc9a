"""A run's numbers in tables: by split, domain, group and class, and what the metrics mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import (
    ClassRecord,
    DomainRecord,
    EvaluationRecord,
    GroupRecord,
    Number,
    SplitRecord,
)
from medldr.metrics import BY_GROUP, metric_facts
from medldr.reporting.document import Figures, Pairs, Paragraph, Section
from medldr.reporting.figures.forest import domain_figure
from medldr.reporting.figures.frequency import frequency_figure
from medldr.reporting.prose import section, sentence, words
from medldr.reporting.results.headline import (
    headline,
    headline_split,
    metrics_of,
    page_order,
    tested_domains,
    worst_domain,
)
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.rows import domain_row
from medldr.reporting.sections.run.result import counts_text, title
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import comparison_metrics, ordered, split_name

MOST = 100
"""A page shows no more groups than this, the lowest first; `evaluation.json` has all."""


def splits(scored: EvaluationRecord) -> Section | None:
    """Every metric in every split."""
    table = split_table(scored) if scored.splits else None
    said = " ".join(filter(None, (by_group_text(scored), intervals_text(scored))))
    return section("run", "splits", table, Paragraph(said, "small"))


def split_table(scored: EvaluationRecord) -> Table:
    """Metrics down, splits across; below them the main ones of groups in place of images."""
    shown = page_order(scored)
    table = Table("All metrics in each evaluated split", ["Metric"])
    table.columns += [
        f"{split_name(name)}, n = {counts_text(split)}" for name, split in shown.items()
    ]
    tables = [metrics_of(split) for split in shown.values()]
    for key in ordered(key for metrics in tables for key in metrics):
        unit = " (%)" if metric_facts(key).percent else ""
        cells = [_number(table, key, metrics) for metrics in tables]
        table.rows.append(Row(f"{title(scored, key)}{unit}", cells))
    of_groups = [{} if of.by_group is None else of.by_group.metrics for of in shown.values()]
    for key in ordered(key for metrics in of_groups for key in metrics):
        known = metric_facts(f"{BY_GROUP}{key}")
        decides = known.threshold and known.share
        if decides or known.calibration or key in comparison_metrics(scored.task):
            cells = [_number(table, key, metrics) for metrics in of_groups]
            table.rows.append(Row(known.heading, cells))
    return table


def by_group_text(scored: EvaluationRecord) -> str:
    """What the scores of groups are of; empty where there are none."""
    how, split = scored.by_group, headline(scored)
    if how is None or split is None or split.by_group is None:
        return ""
    name, point = split_name(headline_split(scored)).lower(), how.operating_point
    made = words("aggregates")[how.aggregate]
    text = sentence("by_group", how=made, n=f"{split.by_group.n:,}", split=name)
    if point is None or point.threshold is None:
        return text
    chosen = split_name(point.split or "").lower()
    return f"{text} " + sentence("by_group_threshold", threshold=point.threshold, split=chosen)


def intervals_text(scored: EvaluationRecord) -> str:
    """How the intervals were made; empty where that is not known."""
    made, split = scored.intervals, headline(scored)
    if made is None or split is None:
        return ""
    return sentence(
        "run_intervals",
        level=100 * made.level,
        method=made.method,
        draws=made.draws,
        unit="groups (patients, slides)" if split.unit == "group" else "images",
        seed=made.seed,
    )


def domains(scored: EvaluationRecord) -> Section | None:
    """Results in each domain that it was tested on, seen and unseen; None without domains."""
    found = tested_domains(scored)
    if not found:
        return None
    gap, figure = Paragraph(gap_sentence(scored)), domain_figure(found)
    figures = Figures([] if figure is None else [figure])
    worst = worst_domain(found)
    said = _worst(worst, found[worst].metrics["accuracy"], len(found)) if worst else ""
    return section("run", "domains", gap, domain_table(found), figures, worst=said)


def _worst(name: str, number: Number, of: int) -> str:
    """The lowest of several, without an interval: the lowest of many is low by chance alone."""
    if number.value is None:
        return ""
    shown = metric_facts("accuracy").with_unit(number.value)
    return f"The lowest accuracy of {of} is {shown}, in {name}."


def domain_table(found: Mapping[str, DomainRecord]) -> Table:
    """Results in each domain, unseen ones first, the one with the lowest accuracy marked."""
    grouped = any(entry.n_groups not in (None, entry.n) for entry in found.values())
    table = Table("Results by domain", ["Domain", "Images", *(["Groups"] if grouped else [])])
    keys = _add_metrics(table, found.values())
    worst = worst_domain(found)
    for name, entry in sorted(found.items(), key=lambda item: (item[1].seen, item[0])):
        cells = _cells(table, keys, entry)
        groups = Cell() if entry.n_groups is None else Cell(entry.n_groups)
        cells[1:1] = [groups] if grouped else []
        is_worst = name == worst
        table.rows.append(domain_row(name, cells, entry.seen, entry.few_groups, worst=is_worst))
    if any(entry.few_groups for entry in found.values()):
        table.notes.append(sentence("few_groups"))
    return table


def groups(scored: EvaluationRecord) -> Section | None:
    """Accuracy of each group, where a run was asked to score groups.

    Groups may be patients. Their names are in `evaluation.json`, and so on a page, only where
    `evaluation.per_group` was set.
    """
    split = headline(scored)
    if split is None or not split.groups:
        return None
    worst = split.worst_group
    name = f"{worst.name} ({worst.n:,} images)" if worst else ""
    said = _worst(name, worst.accuracy, len(split.groups)) if worst else ""
    return section("run", "groups", where(scored), group_table(split), worst=said)


def group_table(split: SplitRecord) -> Table | None:
    """Groups of a split with their size, the lowest accuracy first; None without any."""
    if not split.groups:
        return None
    domains = any(entry.domain for entry in split.groups.values())
    table = Table("Accuracy of each group, lowest first", ["Group"], texts=(1,) if domains else ())
    table.columns += [*(["Domain"] if domains else []), "Images", metric_facts("accuracy").heading]
    worst = None if split.worst_group is None else split.worst_group.name
    for name, entry in sorted(split.groups.items(), key=_rank)[:MOST]:
        reason = "no known label" if entry.accuracy is None else ""
        cells = [Cell(entry.domain) if entry.domain else Cell()] if domains else []
        number = Estimate(entry.accuracy, low=entry.low, high=entry.high, reason=reason)
        cells += [Cell(entry.n), table.number("accuracy", number)]
        tags, style = (("worst",), "worst") if name == worst else ((), "")
        table.rows.append(Row(name, cells, tags, style))
    if len(split.groups) > MOST:
        said = "The {} groups with the lowest accuracy, of {:,}; evaluation.json lists all."
        table.notes.append(said.format(MOST, len(split.groups)))
    return table


def _rank(item: tuple[str, GroupRecord]) -> tuple[bool, float, str]:
    name, entry = item
    return (entry.accuracy is None, entry.accuracy or 0.0, name)


def classes(scored: EvaluationRecord) -> Section | None:
    """Results of each class or label; None where they were not scored."""
    split, labels = headline(scored), scored.task == "multi-label"
    if split is None or not split.classes:
        return None
    one, images = ("Label", "Positive") if labels else ("Class", "Images")
    table = Table(f"Results by {one.lower()}", [one, images])
    keys = _add_metrics(table, split.classes.values())
    trained_on = {} if scored.shots is None else scored.shots.counts
    table.columns += ["Training images"] if trained_on else []
    for name, entry in split.classes.items():
        more = [Cell(trained_on[name])] if trained_on else []
        table.rows.append(Row(name, [*_cells(table, keys, entry), *more]))
    drawing = None if scored.shots is None else frequency_figure(split, scored.shots)
    figures = None if drawing is None else Figures([drawing])
    at_half = Paragraph(sentence("labels_at_half") if scored.operating_points else "", "small")
    name = "labels" if labels else "classes"
    return section("run", name, where(scored), table, at_half, figures)


def where(scored: EvaluationRecord) -> Paragraph:
    """The split that numbers are of."""
    return Paragraph(f"{split_name(headline_split(scored))} split.", "small")


def _add_metrics(table: Table, parts: Iterable[DomainRecord | ClassRecord]) -> list[str]:
    """A column for each metric that any of them has, but those at a threshold."""
    keys = ordered(key for of in parts for key in of.metrics if not metric_facts(key).threshold)
    table.columns += [metric_facts(key).heading for key in keys]
    return keys


def _cells(table: Table, keys: Sequence[str], entry: DomainRecord | ClassRecord) -> list[Cell]:
    size = Cell() if entry.n is None else Cell(entry.n)
    return [size, *(_number(table, key, entry.metrics) for key in keys)]


def _number(table: Table, key: str, metrics: Mapping[str, Number]) -> Cell:
    return table.number(key, Estimate.of(metrics[key]) if key in metrics else None)


def glossary(scored: EvaluationRecord) -> Section | None:
    """What each metric on the page means."""
    split = headline(scored)
    shown = {key for part in scored.splits.values() for key in metrics_of(part)}
    shown |= {key for of in (split.classes.values() if split else ()) for key in of.metrics}
    shown |= {key for part in scored.splits.values() for key in part.at_prevalence}
    if any(part.calibration_fit for part in scored.splits.values()):
        shown |= {"calibration_intercept", "calibration_slope"}
    known = [(title(scored, key), metric_facts(key).meaning) for key in ordered(shown)]
    return section("run", "glossary", Pairs([pair for pair in known if pair[1]], glossary=True))
