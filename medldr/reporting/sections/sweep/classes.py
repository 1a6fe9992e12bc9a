"""Recall of each class, methods across: what an accuracy may hide."""

from __future__ import annotations

from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Section
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.table import Cell, Row, Table


def classes(results: Results) -> Section:
    """A table per column; empty without a result."""
    section = Section("classes", "Behind the accuracy: recall of each class", "Classes")
    for column in results.columns if results.splits else ():
        section.add(recall_table(results.study, column, results.splits[0]))
    return section


def recall_table(study: Study, column: Column, split: str) -> Table | None:
    """Recall of each class; None without a result."""
    if column.comparison is None:
        return None
    found = {
        (score.name, score.method): score
        for score in column.comparison.classes
        if (score.split, score.metric) == (split, "recall")
    }
    names = [row for row in study.rows if any(method == row for _, method in found)]
    if not names:
        return None
    labels = column.comparison.task == "multi-label"
    kind, count = ("label", "Positive") if labels else ("class", "Images")
    table = Table(
        f"{column.name}: {measure('recall').heading} of each {kind}, "
        f"{SPLIT_TITLES.get(split, split).lower()}",
        [kind.capitalize(), count, *names],
    )
    sizes = {score.name: score.n for score in reversed(found.values())}
    for name in dict.fromkeys(name for name, _ in found):
        scores = [found.get((name, row)) for row in names]
        cells = [table.number("recall", None if s is None else s.estimate) for s in scores]
        table.rows.append(Row(name, [Cell(sizes[name]), *cells]))
    return table
