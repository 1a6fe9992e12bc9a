"""What a sweep shows below its result: differences, probabilities, domains, rules, folds, runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import TESTED, Estimate, spread
from medldr.metrics import metric_facts, other_half
from medldr.reporting.document import Drawing, Figures, Section
from medldr.reporting.figures.drawing import looks
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.averages import average_differences
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.frame import rule_means
from medldr.reporting.sections.basis import basis
from medldr.reporting.sections.comparison.tables import (
    difference_cell,
    domain_table,
    gap_table,
    runs_table,
)
from medldr.reporting.sections.held_out import target_of
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.grid import heading, pivot
from medldr.reporting.sections.sweep.result import differences_figure
from medldr.reporting.sections.training import overlay_figures
from medldr.reporting.table import AVERAGE, Cell, Row, Table, paired
from medldr.reporting.wording import TARGETS, rule_text, split_name

CALIBRATION = ("ece", "brier", "nll")
RANKED = ("auc", "auprc")
"""Metrics that rank all items, so that scores of several models are ranked together."""
REPORTED = "The rule that the run reports; other tables use it unless they name another."


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


def curves(results: Results) -> Section | None:
    """Learning curves, column by column."""
    study, drawings = results.study, list[Drawing]()
    styles = looks(study.rows, study.reference, study.layout.controls)
    for number, column in enumerate(results.columns, 1):
        cells = {row: study.of(row, column.name) for row in study.rows}
        logs = {row: [log for e in of for log in e.logs] for row, of in cells.items()}
        drawings += overlay_figures(logs, styles, column.name, number)
    return section("sweep", "curves", Figures(drawings), count=len(drawings))


def runs(results: Results) -> Section | None:
    """The runs of each row of each column: what they are, and how they were trained."""
    every = results.study.every
    files = {entry.member.run: entry.files for entry in every if entry.files is not None}
    compared = {c.name: c.comparison for c in results.columns if c.comparison is not None}
    tables = {name: runs_table(found, files) for name, found in compared.items()}
    shown = [replace(of, caption=f"{name}: {of.caption}") for name, of in tables.items()]
    return section("sweep", "runs", *shown, as_reference=sentence("as_reference"), count=len(every))


UNTESTED = sentence("few_no_p")


def differences(results: Results) -> Section | None:
    """Figures and tables; None where nothing can be compared."""
    study = results.study
    shown = [column for column in results.columns if column.comparison is not None]
    begun = all(column.comparison is not None or column.problem for column in results.columns)
    drawings = [differences_figure(results, metric) for metric in results.metrics[1:]]
    to_reference = results.tables(
        f"difference from {study.reference}",
        results.metrics,
        lambda metric, split: difference_table(
            study, shown, metric, split, averaged=begun and results.averages(metric)
        ),
    )
    of_pairs = results.tables(
        "pairs of methods, one minus the other",
        results.metrics,
        lambda metric, split: contrast_table(study, shown, metric, split),
    )
    figures = Figures.of(*drawings)
    part = results.held_out and target_of(results.held_out) == "target_in"
    held = sentence("whole_domain", target=TARGETS["target_all"]) if part else ""
    return section("sweep", "differences", figures, *to_reference, *of_pairs, whole=held)


def difference_table(
    study: Study, columns: Sequence[Column], metric: str, split: str, *, averaged: bool = False
) -> Table | None:
    """Every row minus the reference, in the same draws; None where there is nothing to show.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric.
        split: The split.
        averaged: Whether a mean over the columns says anything.
    """
    metrics = (metric, other_half(metric))
    averages = [
        average_differences(study, columns, key, split) if averaged and key else {}
        for key in metrics
    ]
    table = _table(f"difference from {study.reference}", "Method", columns, metric, split)
    table.columns += [AVERAGE] if averages[0] else []

    def cell(row: str, place: int) -> Cell:
        if place == len(columns):
            found = [of.get(row) for of in averages]
        else:
            found = [columns[place].difference(split, key, row) for key in metrics]
        return _cell(table, metrics, found)

    return pivot(study, table, range(len(table.columns) - 1), cell)


def contrast_table(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Table | None:
    """One row minus another, for the pairs that were asked for; None where there are none."""
    metrics = (metric, other_half(metric))
    table = _table("pairs of methods, one minus the other", "Pair", columns, metric, split)
    for pair in study.layout.contrasts:
        found = [
            [c.contrast(split, key, pair) if key else None for key in metrics] for c in columns
        ]
        table.rows.append(Row(" − ".join(pair), [_cell(table, metrics, each) for each in found]))
    return table if table.rows else None


def _table(what: str, first: str, columns: Sequence[Column], metric: str, split: str) -> Table:
    caption = f"{heading(metric)}: {what}, {split_name(split).lower()}"
    headings = [first, *(column.name for column in columns)]
    return Table(caption, headings, alone=basis(columns, split))


def _cell(table: Table, metrics: tuple[str, str], pair: Sequence[Difference | None]) -> Cell:
    """A difference with its interval and p, or that so few seeds have no p; and its other half."""
    found, half = pair
    if found is not None and found.seeds < TESTED and UNTESTED not in table.notes:
        table.notes.append(UNTESTED)
    cell = difference_cell(table, metrics[0], found)
    return paired(cell, metrics[1], None if half is None else half.estimate)
