"""Recall of each class, methods across: what an accuracy may hide.

Labels are decided at each run's own thresholds: their tables are of sensitivity and specificity.
"""

from __future__ import annotations

from dataclasses import replace

from medldr.evaluation.comparison.comparison import Score
from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.comparison.tables import count_cell
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import split_name


def classes(results: Results) -> Section | None:
    """A table per column; None without a result."""
    columns = results.columns if results.splits else ()
    tables = [
        class_table(results.study, column, results.splits[0], metric)
        for column in columns
        for metric in _metrics(column)
    ]
    return section("sweep", "classes", *tables)


def _metrics(column: Column) -> list[str]:
    """Recall, or what labels have at their thresholds instead."""
    scores = () if column.comparison is None else column.comparison.classes
    found = list(dict.fromkeys(score.metric.rpartition("/")[2] for score in scores))
    return [key for key in found if metric_facts(key).threshold] or found


def class_table(study: Study, column: Column, split: str, metric: str) -> Table | None:
    """One metric of each class; None without a result."""
    if column.comparison is None:
        return None
    found = {
        (score.class_, score.method): score
        for score in column.comparison.classes
        if score.split == split and score.metric.endswith(f"/{metric}")
    }
    names = [row for row in study.rows if any(method == row for _, method in found)]
    if not names:
        return None
    labels = column.comparison.task == "multi-label"
    kind, count = ("label", "Positive") if labels else ("class", "Images")
    caption = f"{metric_facts(metric).heading} of each {kind}, {split_name(split).lower()}"
    grouped = column.comparison.splits[split].groups is not None
    columns = [kind.capitalize(), count, *(["Groups"] if grouped else []), *names]
    table = Table(f"{column.name}: {caption}", columns)
    sizes = {score.class_: score for score in reversed(found.values())}
    for name in dict.fromkeys(name for name, _ in found):
        scores = [found.get((name, row)) for row in names]
        cells = [table.number(metric, _of(column, score)) for score in scores]
        size = [Cell(sizes[name].n), *([count_cell(sizes[name].n_groups)] if grouped else [])]
        table.rows.append(Row(name, [*size, *cells]))
    return table


def _of(column: Column, score: Score | None) -> Estimate | None:
    """A number with how many of the planned runs it is of; None where it was not computed."""
    if score is None:
        return None
    return replace(score.estimate, n=score.runs, planned=column.planned.get(score.method, 0))
