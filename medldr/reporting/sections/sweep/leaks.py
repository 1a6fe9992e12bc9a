"""What the latents of each method tell of the domain, beside what the class alone tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.evaluation.representation.leaks import ALONE, AT_RANDOM, PROBE
from medldr.evaluation.representation.neighbours import ROBUSTNESS
from medldr.folders.evaluation_record import LeaksRecord
from medldr.metric import Metric
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.grid import pivot
from medldr.reporting.table import Cell, Row, Table, side_by_side

LEVELS: Final = {PROBE: (ALONE, "Class alone"), ROBUSTNESS: (AT_RANDOM, "Neighbours at random")}
"""What each number is compared with."""


def leaks(results: Results) -> Section | None:
    """Methods down, columns across; both numbers in one table where there is a single column."""
    study = results.study
    made = [(of.heading, leak_table(study, of, *level)) for of, level in LEVELS.items()]
    found = [(heading, table) for heading, table in made if table is not None]
    if len(found) > 1 and len(study.columns) == 1:
        found = [("", side_by_side(f"{study.columns[0]}: what leaks", found))]
    return section("sweep", "leaks", *(table for _, table in found))


def leak_table(study: Study, metric: Metric, level: str, title: str) -> Table | None:
    """One number of each method in each column, and in a last row what it is compared with."""
    table = Table(f"{metric.heading}, held-back patients", ["Method", *study.columns])

    def cell(column: str, key: str, row: str | None = None) -> Cell:
        found = leaks_over_seeds(study, key, column, row)
        return Cell() if found is None else Cell(replace(found, se=None), metric)

    if pivot(study, table, study.columns, lambda row, column: cell(column, metric.name, row)):
        last = [cell(column, level) for column in study.columns]
        each = [tuple(c.estimate and c.estimate.mean for c in row.cells) for row in table.rows]
        if len(each) > 1 == len(set(each)):
            table.notes.append(sentence("leaks_alike"))
        table.rows.append(Row(title, last, apart=True))
    return table if table.rows else None


def leaks_over_seeds(
    study: Study, metric: str, column: str, row: str | None = None
) -> Estimate | None:
    """Mean and SD over the runs of a cell, or of a column; None where none has the number."""
    each = [of.metrics[metric].value for of in measured(study, column, row) if metric in of.metrics]
    known = [value for value in each if value is not None]
    return replace(spread(known), planned=len(study.of(row, column))) if known else None


def measured(study: Study, column: str, row: str | None = None) -> Iterator[LeaksRecord]:
    """What was measured of each run of a cell, or of a column."""
    for entry in study.of(row, column):
        if entry.files is not None and entry.files.evaluation is not None:
            found = entry.files.evaluation.leaks
            if found is not None:
                yield found
