"""Paired differences of a sweep: to the reference, and of chosen pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medldr.evaluation.comparison.records import Difference
from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Drawing, Figures, Paragraph, Section
from medldr.reporting.figures.forest import difference_figure
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.target_parts import TARGETS
from medldr.reporting.sections.comparison.tables import show_p
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.table import Cell, Row, Table

SINGLE = (
    "No p is given where a row has a single seed: it would speak of these trained networks alone."
)


def differences(results: Results) -> Section:
    """Figures and tables; empty where nothing can be compared."""
    study = results.study
    shown = [column for column in results.columns if column.comparison is not None]
    figures = _figures(results)
    tables = [
        *results.each(
            f"difference to {study.reference}", lambda m, s: difference_table(study, shown, m, s)
        ),
        *results.each(
            "pairs of rows, one minus the other", lambda m, s: contrast_table(study, shown, m, s)
        ),
    ]
    section = Section("differences", "Paired differences", "Differences")
    if not figures and not tables:
        return section
    section.add(
        Paragraph(
            "Both methods judged the same images, so the luck of which images were drawn cancels "
            "in the difference."
        )
    )
    if results.held_out:
        section.add(
            Paragraph(
                f"On the test split they are differences on {TARGETS['target_all']}, and not on "
                "the 80 % that published tables score."
            )
        )
    section.add(Figures(figures), *tables)
    return section


def _figures(results: Results) -> list[Drawing]:
    drawings = [
        difference_figure(column.comparison, metric, column.name, number)
        for number, column in enumerate(results.columns, 1)
        for metric in results.metrics
        if column.comparison is not None and column.comparison.differs(metric)
    ]
    return [drawing for drawing in drawings if drawing is not None]


def difference_table(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Table | None:
    """Every row minus the reference, in the same draws; None where there is nothing to show."""
    table = Table(
        f"{measure(metric).heading}: difference to {study.reference}, {_where(split)}",
        ["Method", *(column.name for column in columns)],
    )
    for row in study.rows:
        if row == study.reference:
            continue
        cells = [
            _cell(
                table, metric, column, column.difference(split, metric, row), row, study.reference
            )
            for column in columns
        ]
        if not all(cell.empty for cell in cells):
            apart = row in study.layout.controls
            table.rows.append(Row(row, cells, ("control",) if apart else (), apart=apart))
    return table if table.rows else None


def contrast_table(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Table | None:
    """One row minus another, for the pairs that were asked for; None where there are none."""
    table = Table(
        f"{measure(metric).heading}: pairs of rows, one minus the other, {_where(split)}",
        ["Pair", *(column.name for column in columns)],
    )
    for pair in study.layout.contrasts:
        cells = [
            _cell(table, metric, column, column.contrast(split, metric, pair), *pair)
            for column in columns
        ]
        table.rows.append(Row(f"{pair[0]} − {pair[1]}", cells))
    return table if table.rows else None


def _cell(table: Table, metric: str, column: Column, found: Difference | None, *rows: str) -> Cell:
    """A difference with its interval, and its p unless either row has a single seed."""
    if found is None:
        return Cell()
    cell = table.number(metric, found.estimate, signed=True)
    if found.p is None or found.p_holm is None:
        return cell
    if column.fewest_seeds(*rows) < 2:
        if SINGLE not in table.notes:
            table.notes.append(SINGLE)
        return cell
    return replace(cell, extra=f"p {show_p(found.p)}, Holm {show_p(found.p_holm)}")


def _where(split: str) -> str:
    return SPLIT_TITLES.get(split, split).lower()
