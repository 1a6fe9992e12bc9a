"""What is behind the columns and rows of a sweep: data, networks, protocols, runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from medldr.config.sections import dataset_name
from medldr.reporting.document import Drawing, Figures, Section
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.overlays import overlay_figures
from medldr.reporting.prose import section, sentence
from medldr.reporting.sections.comparison.tables import runs_table
from medldr.reporting.sections.run.about import model_text
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.training import training_table
from medldr.reporting.table import DASH, Cell, Row, Table


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
    """Each set, how its rows were trained, and the runs of each row."""
    tables: list[Table | None] = [sets_table(results)]
    for column in results.columns:
        tables.append(training_table(results.study, column))
        if column.comparison is not None:
            of_runs = runs_table(column.comparison)
            tables.append(replace(of_runs, caption=f"{column.name}: {of_runs.caption}"))
    compared = any(column.comparison is not None for column in results.columns)
    remark = sentence("as_reference") if compared else ""
    return section("sweep", "runs", *tables, as_reference=remark, count=len(results.study.every))


def sets_table(results: Results) -> Table:
    """Data, network, protocol, sizes and runs of each column."""
    table = Table(
        "The data sets",
        ["Column", "Data", "Network", "Protocol", "Evaluated on", "Runs with results"],
        texts=(1, 2, 3, 4),
    )
    for column in results.columns:
        entries = results.study.of(column=column.name)
        there = [entry.files for entry in entries if entry.files is not None]
        compared = column.comparison
        scored = [] if compared is None else [compared.title(split) for split in column.splits]
        words = (
            _each(dataset_name(files.config, files.facts) for files in there),
            _each(model_text(files.config, files.record) for files in there),
            _each(files.protocol or "none" for files in there),
            "; ".join(scored),
        )
        cells = [Cell(text or DASH) for text in words]
        cells.append(Cell(f"{len(there)} of {len(entries)}", order=float(len(there))))
        tags = ("left out",) if column.problem else ()
        table.rows.append(Row(column.name, cells, tags))
    return table


def _each(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))
