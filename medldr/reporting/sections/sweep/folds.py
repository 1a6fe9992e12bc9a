"""Cross-validation: how folds were pooled, and each metric beside its mean over the folds."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.fold_means import FoldMeans, fold_means, fold_names
from medldr.reporting.sections.rows import method_row
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.table import DASH, Cell, Table

RANKED = ("auc", "auprc")
"""Metrics that rank all items, so that scores of several models are ranked together."""


def folds(results: Results) -> Section | None:
    """None where no folds were pooled."""
    study = results.study
    metrics = list(dict.fromkeys((*results.metrics, "auc")))
    tables = [
        fold_table(study, column, metric)
        for column in results.columns
        if fold_names(study, column.name)
        for metric in metrics
    ]
    if not any(entry.folds for entry in study.entries):
        return None
    pooled = (t for e in study.entries if e.run is not None for t in e.run.predictions.values())
    decided = any(table.decision is not None for table in pooled)
    numbers = {len(fold_names(study, column.name)) for column in results.columns} - {0}
    return section(
        "sweep",
        "folds",
        *(table for table in tables if table is not None),
        folds=" or ".join(map(str, sorted(numbers))),
        thresholds=sentence("fold_thresholds") if decided else "",
    )


def fold_table(study: Study, column: Column, metric: str) -> Table | None:
    """A metric of each method, pooled and as a mean over folds; None where none has a number."""
    known = metric_facts(metric)
    names = fold_names(study, column.name)
    table = Table(
        f"{column.name}: {known.heading}, {len(names)} folds",
        ["Method", "Pooled", "Mean of folds", "Folds from", "Folds to"],
        intervals=False,
    )
    any_number = False
    for row in study.rows:
        found = fold_means(study, row, column.name, metric)
        any_number = any_number or found.pooled is not None or found.of_folds is not None
        cells = _cells(table, metric, found)
        control, reference = row in study.layout.controls, row == study.reference
        table.rows.append(method_row(row, cells, control=control, reference=reference))
    if metric in RANKED:
        table.notes.append(sentence("fold_ranks"))
    return table if any_number else None


def _cells(table: Table, metric: str, found: FoldMeans) -> Sequence[Cell]:
    show = metric_facts(metric).show
    ends = [
        Cell(DASH) if value is None else Cell(show(value), order=value)
        for value in (found.lowest, found.highest)
    ]
    return [table.number(metric, found.pooled), table.number(metric, found.of_folds), *ends]
