"""Paired differences of a sweep: to the reference, and of chosen pairs."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import TESTED
from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.forest import difference_figure
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.averages import average_differences
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.basis import basis
from medldr.reporting.sections.comparison.tables import difference_cell
from medldr.reporting.sections.rows import method_row
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import TARGETS, split_name

UNTESTED = sentence("few_no_p")


def differences(results: Results) -> Section | None:
    """Figures and tables; None where nothing can be compared."""
    study = results.study
    shown = [column for column in results.columns if column.comparison is not None]
    begun = all(column.comparison is not None or column.problem for column in results.columns)
    styles = looks(study.rows, study.reference, study.layout.controls)
    drawings = [
        difference_figure(column.comparison, styles, metric, column.name, number)
        for number, column in enumerate(results.columns, 1)
        for metric in results.metrics
        if column.comparison is not None and column.comparison.differs(metric)
    ]
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
    figures = Figures([drawing for drawing in drawings if drawing is not None])
    held = sentence("whole_domain", target=TARGETS["target_all"]) if results.held_out else ""
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
    caption = f"{metric_facts(metric).heading}: difference from {study.reference}"
    table = _table(caption, "Method", columns, split)
    averages = average_differences(study, columns, metric, split) if averaged else {}
    table.columns += ["Average"] if averages else []
    for row in study.rows:
        found = [column.difference(split, metric, row) for column in columns]
        if row != study.reference and any(found):
            cells = [_cell(table, metric, difference) for difference in found]
            cells += [difference_cell(table, metric, averages.get(row))] if averages else []
            table.rows.append(method_row(row, cells, control=row in study.layout.controls))
    table.alone += basis(columns, split)
    return table if table.rows else None


def contrast_table(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Table | None:
    """One row minus another, for the pairs that were asked for; None where there are none."""
    caption = f"{metric_facts(metric).heading}: pairs of methods, one minus the other"
    table = _table(caption, "Pair", columns, split)
    for pair in study.layout.contrasts:
        cells = [_cell(table, metric, column.contrast(split, metric, pair)) for column in columns]
        table.rows.append(Row(" − ".join(pair), cells))
    table.alone += basis(columns, split)
    return table if table.rows else None


def _table(caption: str, first: str, columns: Sequence[Column], split: str) -> Table:
    where = split_name(split).lower()
    return Table(f"{caption}, {where}", [first, *(column.name for column in columns)])


def _cell(table: Table, metric: str, found: Difference | None) -> Cell:
    """A difference with its interval and p, or that so few seeds have no p."""
    cell = difference_cell(table, metric, found)
    if found is None or found.seeds >= TESTED:
        return cell
    if UNTESTED not in table.notes:
        table.notes.append(UNTESTED)
    return cell
