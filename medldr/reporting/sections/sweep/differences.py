"""Paired differences of a sweep: to the reference, and of chosen pairs."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import TESTED
from medldr.metrics import other_half
from medldr.reporting.document import Figures, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.averages import average_differences
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.basis import basis
from medldr.reporting.sections.comparison.tables import difference_cell
from medldr.reporting.sections.held_out import target_of
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.grid import heading, pivot
from medldr.reporting.sections.sweep.result import differences_figure
from medldr.reporting.table import AVERAGE, Cell, Row, Table, paired
from medldr.reporting.wording import TARGETS, split_name

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
    figures = Figures([drawing for drawing in drawings if drawing is not None])
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
