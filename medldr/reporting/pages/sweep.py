"""The page of a sweep, and what of it is printed on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from medldr.errors import did_you_mean
from medldr.folders.sweep_record import SweepFolder
from medldr.metrics import ALIASES
from medldr.reporting.document import Banner, Bullets, Document, Paragraph, Section
from medldr.reporting.read.study import Study
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import Column, columns, splits
from medldr.reporting.results.held_out import HeldOut, held_out_sets
from medldr.reporting.sections.by_rule import by_rule
from medldr.reporting.sections.held_out import held_out
from medldr.reporting.sections.published.held_out import held_out_published
from medldr.reporting.sections.published.sweep import sweep_published
from medldr.reporting.sections.selection import selection
from medldr.reporting.sections.sweep import result as grids
from medldr.reporting.sections.sweep import sets
from medldr.reporting.sections.sweep.classes import classes
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.differences import differences
from medldr.reporting.sections.sweep.missing_runs import missing_lines, missing_runs
from medldr.reporting.table import Table

DEFAULT_METRICS = ("accuracy", "auc")


@dataclass(frozen=True)
class SweepPage:
    """A sweep, computed once: its numbers and its page.

    Attributes:
        results: The numbers.
        document: The page.
    """

    results: Results
    document: Document

    @property
    def complete(self) -> bool:
        """Whether every run that was there could be read and compared."""
        study = self.results.study
        unreadable = any(entry.state == "unreadable" for entry in study.every)
        apart = any(column.problem for column in self.results.columns)
        return not (unreadable or apart or study.unreadable)


def sweep_page(folder: SweepFolder) -> SweepPage:
    """Read a sweep, compare its columns, and lay the page out.

    Raises:
        InputError: If the folder holds no runs, or its `sweep.json` is damaged.
    """
    study = read_study(folder)
    found = columns(study)
    metrics, notes = _metrics(study, found)
    results = Results(study, found, metrics, splits(found), held_out_sets(study))
    notes = [*study.notes, *notes, *(note for column in found for note in column.notes)]
    remarks = Section("notes", "What to know about these numbers", "Notes")
    remarks.add(Bullets(notes))
    sections = [
        grids.result(results),
        held_out(results.held_out, metrics[0]),
        selection(study),
        missing_runs(study, found),
        remarks,
        differences(results),
        by_rule(study, found, metrics, results.splits),
        classes(results),
        grids.calibration(results),
        sets.domains(results),
        grids.worst_group(results),
        _published(results),
        sets.curves(results),
        sets.runs(results),
        sets.glossary(results),
    ]
    document = Document(
        title=study.layout.title,
        kicker="medldr · report of a sweep",
        subtitle=_subtitle(study, results.held_out, found),
        banners=_banners(study, found),
        sections=[section for section in sections if section.blocks],
        wide=True,
    )
    return SweepPage(results, document)


def _published(results: Results) -> Section:
    """Published numbers beside ours."""
    section = Section("published", "Published numbers", "Published")
    tables = [
        *sweep_published(results.study, results.columns),
        *held_out_published(results.held_out),
    ]
    if tables:
        section.add(
            Paragraph(
                "Beside numbers that others have published for these sets. They can be compared "
                "directly only where the protocol is the same."
            ),
            *tables,
        )
    return section


def _subtitle(study: Study, sets: Sequence[HeldOut], found: Sequence[Column]) -> str:
    """The size of a sweep in words."""
    done = sum(entry.run is not None for entry in study.every)
    domains = sum(len(of_set.domains) for of_set in sets)
    size = (
        f"{_count(domains, 'held-out domain')} of {_count(len(sets), 'data set')}"
        if sets
        else _count(len(found), "set")
    )
    runs = f"{done} of {_count(len(study.every), 'run')} with a result"
    methods = _count(len(study.rows), "method")
    return f"{methods}, {size}, {runs}; differences are to {study.reference}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _metrics(study: Study, found: Sequence[Column]) -> tuple[list[str], list[str]]:
    """The metrics asked for that were computed, and a note on every other one."""
    compared = [column.comparison for column in found if column.comparison is not None]
    there = {score.metric for comparison in compared for score in comparison.scores}
    named = {metric.rsplit("/", 1)[-1]: None for metric in study.layout.metrics}
    asked = list(dict.fromkeys(ALIASES.get(key, key) for key in named)) or list(DEFAULT_METRICS)
    known = [metric for metric in asked if metric in there]
    notes = [
        f"There is no measure {metric!r}, which the sweep asks for.{did_you_mean(metric, there)}"
        for metric in asked
        if there and metric not in there
    ]
    return known or list(DEFAULT_METRICS), notes


def _banners(study: Study, found: Sequence[Column]) -> list[Banner]:
    banners = [Banner("remark", study.layout.remark)] if study.layout.remark else []
    oracles = [row for row in study.rows if study.oracle(row)]
    if oracles:
        banners.append(
            Banner(
                "oracle",
                f"ORACLE SELECTION in {', '.join(oracles)}: weights were chosen by looking at the "
                "test split. Those numbers are upper bounds, not measurements.",
            )
        )
    missing = [entry for entry in study.every if entry.run is None]
    if missing:
        kinds = [entry.state for entry in missing]
        each = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        text = f"{len(missing)} of {_count(len(study.every), 'run')} without a result: {each}."
        banners.append(Banner("warning", text))
    apart = [column.name for column in found if column.problem]
    if apart:
        text = f"Left out, because its runs cannot be compared: {', '.join(apart)}."
        banners.append(Banner("warning", text))
    done = [entry for entry in study.entries if entry.run is not None]
    cells = [(entry.member.row, entry.member.column) for entry in done]
    if any(cells.count(cell) == 1 for cell in set(cells)):
        banners.append(
            Banner(
                "warning",
                "At least one number comes from a single seed, so that nothing is known of how "
                "much it would change with another.",
            )
        )
    return banners


def terminal_page(page: SweepPage, folder: str = "", *, styled: bool = True) -> Document:
    """What of a sweep is printed: its grids, held-out domains, and what is missing.

    Args:
        page: The sweep.
        folder: Its folder, for a hint at what is said in few words; none if empty.
        styled: Whether bold and underlined text is seen, as in a terminal but not in a file.
    """
    study, document = page.results.study, page.document
    shown = [_plain(table) for _, table in document.tables(["result"])]
    left_out = [replace(table, intervals=False) for _, table in document.tables(["left_out"])]
    section = Section("result", "", "", [*shown, *left_out])
    legend = _legend(shown, styled=styled)
    legend += ["↓ lowest of a row's domains"] if left_out else []
    section.add(Paragraph(f"\n{'; '.join(legend)}" if legend else ""))
    problems = [f"{c.name} is left out: {c.said}" for c in page.results.columns if c.problem]
    lines = [*problems, *study.notes, *missing_lines(study, folder)]
    section.add(Bullets(lines, "warnings"))
    return Document(document.title, "", banners=document.banners, sections=[section])


def _plain(table: Table) -> Table:
    """A grid in few words: no intervals, no footnotes."""
    rows = [
        replace(row, mark="", cells=[replace(cell, mark="") for cell in row.cells])
        for row in table.rows
    ]
    return replace(table, rows=rows, intervals=False, footnotes=[], notes=[])


def _legend(tables: Sequence[Table], *, styled: bool) -> list[str]:
    """How to read the numbers that are there; empty where they need no words."""
    cells = [cell.estimate for table in tables for row in table.rows for cell in row.cells]
    there = [found for found in cells if found is not None]
    parts = ["mean ±SD over seeds"] if any(found.sd is not None for found in there) else []
    if any(found.n is not None and found.n < (found.planned or 0) for found in there):
        parts.append("(n/planned) where runs are missing")
    if styled and any(found.marks for found in there):
        parts.append("best bold, second best underlined")
    return parts
