"""What is behind the columns and rows of a sweep: data, networks, protocols, runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from medldr.config.sections import dataset_name
from medldr.evaluation.metrics.score import DEFINITIONS
from medldr.metrics import MEASURES
from medldr.reporting.document import Figures, Pairs, Paragraph, Section
from medldr.reporting.figures.overlays import overlay_figures
from medldr.reporting.sections.comparison.tables import (
    domain_table,
    gap_table,
    runs_table,
)
from medldr.reporting.sections.run.facts import model_text
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.result import CALIBRATION
from medldr.reporting.sections.training import training_table
from medldr.reporting.table import DASH, Cell, Row, Table


def domains(results: Results) -> Section:
    """Accuracy in each domain, and what is lost from seen to unseen ones."""
    section = Section("domains", "Domains", "Domains")
    tables = []
    for column in results.columns:
        if column.comparison is not None:
            ordered = column.comparison.controls_last(results.study.layout.controls)
            found = [table for table in (domain_table(ordered), gap_table(ordered)) if table]
            tables += [replace(t, caption=f"{column.name}: {t.caption}") for t in found]
    if tables:
        section.add(
            Paragraph(
                "A domain is a source of images, such as a hospital or a scanner. No training "
                "image came from an unseen one. Seen minus unseen is how much is lost on the way, "
                "from the seen split that its table names."
            ),
            *tables,
        )
    return section


def curves(results: Results) -> Section:
    """Learning curves, column by column."""
    section = Section("curves", "Learning curves", "Curves")
    drawings = []
    for number, column in enumerate(results.columns, 1):
        found = {
            row: [e.files.log for e in results.study.of(row, column.name) if e.files is not None]
            for row in results.study.rows
        }
        drawings += overlay_figures(found, column.name, number)
    section.add(Figures(drawings))
    return section


def runs(results: Results) -> Section:
    """Each set, how its rows were trained, and the runs of each row."""
    section = Section("runs", "Sets and runs", "Runs")
    section.add(sets_table(results))
    for column in results.columns:
        section.add(training_table(results.study, column))
        if column.comparison is not None:
            table = runs_table(column.comparison)
            section.add(replace(table, caption=f"{column.name}: {table.caption}"))
    if any(column.comparison is not None for column in results.columns):
        section.add(
            Paragraph(
                "“As reference” says whether a row followed the same protocol as the reference "
                "(where that has no result, the first row that has one).",
                "small",
            )
        )
    return section


def sets_table(results: Results) -> Table:
    """Data, network, protocol, sizes and runs of each column."""
    table = Table(
        "The sets",
        ["Column", "Data", "Network", "Protocol", "Judged on", "Runs with a result"],
        texts=(1, 2, 3, 4),
    )
    for column in results.columns:
        entries = results.study.of(column=column.name)
        there = [entry.files for entry in entries if entry.files is not None]
        compared = column.comparison
        judged = [compared.title(s) for s in column.splits] if compared is not None else []
        words = [
            _each(dataset_name(files.config, files.facts) for files in there),
            _each(model_text(files.config, files.record) for files in there),
            _each(files.protocol or "none" for files in there),
            "; ".join(judged),
        ]
        count = Cell(f"{len(there)} of {len(entries)}", order=float(len(there)))
        tags = ("left out",) if column.problem else ()
        cells = [Cell(text or DASH) for text in words]
        table.rows.append(Row(column.name, [*cells, count], tags=tags))
    return table


def _each(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def glossary(results: Results) -> Section:
    """What the metrics mean."""
    section = Section("glossary", "How to read the numbers", "Glossary")
    keys = list(dict.fromkeys((*results.metrics, *CALIBRATION, "recall")))
    pairs = [(MEASURES[k].title, MEASURES[k].meaning) for k in keys if k in MEASURES]
    pairs += [(k, DEFINITIONS[k]) for k in keys if k not in MEASURES and k in DEFINITIONS]
    section.add(Pairs(pairs, glossary=True))
    return section
