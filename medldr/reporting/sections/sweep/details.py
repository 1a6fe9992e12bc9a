"""What a sweep shows below its result: classes, probabilities, domains, groups, rules, folds."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from medldr.evaluation.comparison.comparison import Score
from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.metrics import METRICS, metric_facts, other_half
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.frame import rule_means
from medldr.reporting.sections.comparison.tables import count_cell, domain_table, gap_table
from medldr.reporting.sections.sweep.common import WORST, Results
from medldr.reporting.sections.sweep.grid import heading, pivot
from medldr.reporting.table import Cell, Row, Table, paired
from medldr.reporting.wording import rule_text, split_name

CALIBRATION = ("ece", "brier", "nll")
RANKED = ("auc", "auprc")
"""Metrics that rank all items, so that scores of several models are ranked together."""
REPORTED = "The rule that the run reports; other tables use it unless they name another."


def classes(results: Results) -> Section | None:
    """Recall of each class in each column; of labels, what their own thresholds reach."""
    tables = []
    for column in results.columns:
        scores = () if column.comparison is None else column.comparison.classes
        keys = list(dict.fromkeys(score.metric.rpartition("/")[2] for score in scores))
        decided = [key for key in keys if other_half(key)][:1]  # the other half is in its cells
        tables += [class_table(results, column, key) for key in decided or keys]
    return section("sweep", "classes", *tables)


def class_table(results: Results, column: Column, metric: str) -> Table | None:
    """One metric of each class on the first split, methods across; None without a result."""
    compared, split = column.comparison, results.splits[0]
    if compared is None:
        return None
    found = {
        (score.class_, score.method, score.metric.rpartition("/")[2]): score
        for score in compared.classes
        if score.split == split
    }
    of_metric = {place[:2]: score for place, score in found.items() if place[2] == metric}
    names = [row for row in results.study.rows if any(method == row for _, method in of_metric)]
    if not names:
        return None
    kind, count = ("label", "Positive") if compared.task == "multi-label" else ("class", "Images")
    grouped = compared.splits[split].groups is not None
    columns = [kind.capitalize(), count, *(["Groups"] if grouped else []), *names]
    caption = f"{heading(metric)}, of each {kind}, {split_name(split).lower()}"
    table = Table(f"{column.name}: {caption}", columns)
    other = other_half(metric)
    for class_ in dict.fromkeys(class_ for class_, _ in of_metric):
        first = next(score for (name, _), score in of_metric.items() if name == class_)
        cells = [Cell(first.n), *([count_cell(first.n_groups)] if grouped else [])]
        for row in names:
            score, half = of_metric.get((class_, row)), found.get((class_, row, other))
            cell = table.number(metric, _of(column, score))
            cells.append(paired(cell, other, None if half is None else half.estimate))
        table.rows.append(Row(class_, cells))
    return table


def _of(column: Column, score: Score | None) -> Estimate | None:
    """A number with how many of the planned runs it is of; None where it was not computed."""
    if score is None:
        return None
    return replace(score.estimate, n=score.runs, planned=column.planned.get(score.method, 0))


def calibration(results: Results) -> Section | None:
    """How far probabilities are from what happens: one table of the first split."""
    split = next(iter(results.splits), "")
    headings = [metric_facts(key).heading for key in CALIBRATION]
    table = Table(f"Calibration: {split_name(split).lower()}", ["Method", *headings])
    for column in results.columns:

        def cell(row: str, key: str, column: Column = column) -> Cell:
            return table.number(key, column.estimate(split, key, row))

        part = pivot(results.study, Table("", []), CALIBRATION, cell)
        where = f"{column.name}: " if len(results.columns) > 1 else ""
        for row in () if part is None else part.rows:
            table.rows.append(replace(row, heading=f"{where}{row.heading}"))
    return section("sweep", "calibration", table if table.rows else None)


def worst_group(results: Results) -> Section | None:
    """Grids of the worst group; None where no run has one, or the main grids show it already."""
    if WORST in results.metrics:
        return None
    grids = results.grids("worst group", [WORST], needed=True)
    return section("sweep", "groups", *grids, meaning=METRICS[WORST].meaning)


def domains(results: Results) -> Section | None:
    """Accuracy in each domain where a column has several, and the gap from seen to unseen ones."""
    tables = list[Table]()
    for column in results.columns:
        if column.comparison is None:
            continue
        ordered = column.comparison.controls_last(results.study.layout.controls)
        by_domain = domain_table(ordered)
        several = by_domain if by_domain is not None and len(by_domain.rows) > 1 else None
        made = [each for each in (several, gap_table(ordered)) if each is not None]
        tables += [replace(table, caption=f"{column.name}: {table.caption}") for table in made]
    return section("sweep", "domains", *tables)


def rules(results: Results) -> Section | None:
    """What the weights of each selection rule reach, where rules disagree."""
    tables = [rule_table(results, column.name) for column in results.columns if results.splits]
    oracle = any("(oracle)" in head for table in tables if table for head in table.columns)
    return section("sweep", "rules", *tables, oracle=sentence("by_oracle") if oracle else "")


def rule_table(results: Results, column: str) -> Table | None:
    """The first metric on the first split, rules across; None where all rules reach the same."""
    metric, split = results.metrics[0], results.splits[0]
    means = rule_means(results.study, column, metric, split)
    found = {(mean.row, mean.rule): mean for mean in means}
    reached: dict[str, set[float | None]] = {}
    for (row, _), mean in found.items():
        reached.setdefault(row, set()).add(mean.estimate.mean)
    if all(len(values) == 1 for values in reached.values()):
        return None
    names = {mean.rule: mean.oracle for mean in found.values()}
    where = split_name(split).lower()
    caption = f"{column}: {metric_facts(metric).heading} by selection rule, {where}"
    titles = {rule: rule_text(rule).removeprefix("the ") for rule in names}
    headings = [f"{titles[r]} (oracle)" if oracle else titles[r] for r, oracle in names.items()]
    table = Table(caption, ["Method", *headings])

    def cell(row: str, rule: str) -> Cell:
        mean = found.get((row, rule))
        if mean is None:
            return Cell()
        if mean.estimate.mean is None:
            reason = f"evaluated and defined in {mean.scored} of {mean.estimate.n} runs"
            return table.number(metric, Estimate(reason=reason))
        mark = table.sign(REPORTED) if mean.reported else ""
        return Cell(replace(mean.estimate, se=None), metric_facts(metric), mark=mark)

    return pivot(results.study, table, list(names), cell)


def folds(results: Results) -> Section | None:
    """How folds were pooled, and each metric beside its mean over them; None without folds."""
    study = results.study
    if not any(entry.folds for entry in study.entries):
        return None
    numbers = {column.name: len(fold_names(study, column.name)) for column in results.columns}
    metrics = dict.fromkeys((*results.metrics, "auc"))
    tables = [fold_table(results, name, m) for name, n in numbers.items() if n for m in metrics]
    pooled = (t for e in study.entries if e.run is not None for t in e.run.predictions.values())
    decided = any(table.decision is not None for table in pooled)
    many = " or ".join(map(str, sorted({*numbers.values()} - {0})))
    thresholds = sentence("fold_thresholds") if decided else ""
    return section("sweep", "folds", *tables, folds=many, thresholds=thresholds)


def fold_table(results: Results, column: str, metric: str) -> Table | None:
    """A metric of each method, pooled and as a mean over folds; None where none has a number."""
    known, study = metric_facts(metric), results.study
    table = Table(
        f"{column}: {known.heading}, {len(fold_names(study, column))} folds",
        ["Method", "Pooled", "Mean of folds", "Folds from", "Folds to"],
        notes=[sentence("fold_ranks")] if metric in RANKED else [],
        intervals=False,
    )

    numbers = {row: _fold_numbers(study, row, column, metric) for row in study.rows}

    def cell(row: str, place: int) -> Cell:
        value = numbers[row][place]
        if isinstance(value, float):
            return Cell(known.show(value), order=value)
        return table.number(metric, value)

    return pivot(study, table, range(4), cell)


def _fold_numbers(
    study: Study, row: str, column: str, metric: str
) -> tuple[Estimate | None, Estimate | None, float | None, float | None]:
    """Pooled predictions, and the mean and ends of single folds where each fold has a number.

    Means are over the folds of each seed, then over seeds.
    """

    def scored(entry: Entry) -> float | None:
        found = None if entry.files is None else entry.files.evaluation
        return None if found is None else found.scores.value("test", metric)

    done = [entry for entry in study.of(row, column) if entry.folds and entry.files is not None]
    pooled = [value for entry in done if (value := scored(entry)) is not None]
    each = [[scored(fold) for fold in entry.folds.values()] for entry in done]
    known = [[value for value in values if value is not None] for values in each]
    together = spread(pooled) if pooled else None
    if not known or known != each:
        return together, None, None, None
    every = [value for values in known for value in values]
    return together, spread([fmean(values) for values in known]), min(every), max(every)


def fold_names(study: Study, column: str) -> list[str]:
    """Names of the folds of a column, in the order of the sweep; empty where none are pooled."""
    return list(dict.fromkeys(name for entry in study.of(column=column) for name in entry.folds))
