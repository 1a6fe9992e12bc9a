"""The page of a sweep, and the part of it that is printed on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from medldr.config.sections import dataset_name
from medldr.evaluation.intervals.estimate import TESTED
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.document import Banner, Bullets, Document, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import Column, splits
from medldr.reporting.sections.basis import no_groups_note
from medldr.reporting.sections.degenerate import EVERY, collapse_banner, collapse_texts
from medldr.reporting.sections.held_out import held_out
from medldr.reporting.sections.published.fixed_split import sweep_published
from medldr.reporting.sections.published.held_out import held_out_published
from medldr.reporting.sections.rows import count
from medldr.reporting.sections.selection import selection
from medldr.reporting.sections.sweep import details, sets
from medldr.reporting.sections.sweep import result as grids
from medldr.reporting.sections.sweep.common import Results, results_of
from medldr.reporting.sections.sweep.differences import differences
from medldr.reporting.sections.sweep.missing_runs import missing_lines, missing_runs
from medldr.reporting.table import Table
from medldr.reporting.wording import split_name


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
    results, notes = results_of(study)
    found, metrics = results.columns, results.metrics
    notes = [*study.notes, *notes, *(note for column in found for note in column.notes)]
    notes += no_groups_note([(c.name, c.comparison) for c in found if c.comparison is not None])
    ours = [*sweep_published(study, found), *held_out_published(results.held_out)]
    sections = (
        grids.result(results),
        details.folds(results),
        held_out(results.held_out, metrics[0]),
        selection(study),
        missing_runs(study, found),
        section("sweep", "notes", Bullets(notes)),
        differences(results),
        details.rules(results),
        details.classes(results),
        details.calibration(results),
        details.domains(results),
        details.worst_group(results),
        section("sweep", "published", *ours),
        sets.curves(results),
        sets.runs(results),
        sets.glossary(results),
    )
    document = Document(
        _title(study),
        "medldr · report of a sweep",
        _subtitle(results),
        list(_banners(study, found)),
        [made for made in sections if made is not None],
        wide=True,
    )
    return SweepPage(results, document)


def _title(study: Study) -> str:
    """The title of the sweep file; its plain name while a method that this counts never started."""
    states = {row: {entry.state for entry in study.of(row)} for row in study.rows}
    return study.name if {"not run"} in states.values() else study.layout.title


def _subtitle(results: Results) -> str:
    """The size of a sweep in words."""
    study, held = results.study, results.held_out
    sets = {_content(study, column.name) for column in results.columns}
    size = count(len(sets), "data set")
    if len(sets) < len(results.columns):
        size += f" in {len(results.columns)} columns"
    if held:
        domains = count(sum(len(of_set.domains) for of_set in held), "held-out domain")
        size = f"{domains} of {count(len(held), 'data set')}"
    done = sum(entry.run is not None for entry in study.every)
    runs = f"{done} of {count(len(study.every), 'run')} with results"
    methods = count(len(study.rows), "method")
    return f"{methods}, {size}, {runs}; differences are relative to {study.reference}"


def _content(study: Study, column: str) -> tuple[str, ...]:
    """What tells data sets apart: their name and splits; the column's name while nothing ran."""
    files = [entry.files for entry in study.of(column=column) if entry.files is not None]
    facts = {
        f"{dataset_name(of.config, of.facts)} {of.record.split_hash}"
        for of in files
        if of.record is not None
    }
    return tuple(sorted(facts)) or (column,)


def _banners(study: Study, found: Sequence[Column]) -> Iterator[Banner]:
    if study.layout.remark:
        yield Banner("remark", study.layout.remark)
    yield from _collapses(found)
    oracles = ", ".join(row for row in study.rows if study.oracle(row))
    if oracles:
        yield Banner("oracle", sentence("oracles", rows=oracles))
    states = Counter(entry.state for entry in study.every if entry.run is None)
    if states:
        each = ", ".join(f"{number} {state}" for state, number in states.items())
        size = f"{states.total()} of {count(len(study.every), 'run')}"
        yield Banner("warning", f"{size} without a result: {each}.")
    apart = ", ".join(column.name for column in found if column.problem)
    if apart:
        yield Banner("warning", f"Left out because the runs cannot be compared: {apart}.")
    members = [entry.member for entry in study.entries if entry.run is not None]
    seeds = set(Counter((member.row, member.column) for member in members).values())
    if 1 in seeds:
        yield Banner("warning", sentence("single_seed" if len(seeds) > 1 else "only_single_seeds"))


def _collapses(found: Sequence[Column]) -> Iterator[Banner]:
    """What no accuracy of the foremost split should be read without."""
    split, texts = next(iter(splits(found)), ""), list[str]()
    for column in found:
        there = column.comparison
        for text in [] if there is None else collapse_texts(*there.collapsed(split)):
            texts.append(f"{column.name}: {text}" if len(found) > 1 else text)
    texts.sort(key=lambda text: EVERY not in text)  # the worst first, whatever their column
    yield from collapse_banner(texts, split_name(split).lower())


def terminal_page(page: SweepPage, folder: str = "", *, styled: bool = True) -> Document:
    """What of a sweep is printed: its grids, held-out domains, and what is missing.

    Args:
        page: The sweep.
        folder: Its folder, for a hint at what is said in few words; none if empty.
        styled: Whether bold and underlined text is seen, as in a terminal but not in a file.
    """
    study, document = page.results.study, page.document
    grids = [_plain(table) for _, table in document.tables(["result"])]
    left_out = [replace(table, intervals=False) for _, table in document.tables(["left_out"])]
    legend = _legend(grids, page.results.columns, styled=styled)
    legend += ["↓ a method's lowest domain"] if left_out else []
    problems = [f"{c.name} is left out: {c.said}" for c in page.results.columns if c.problem]
    lines = [*problems, *study.notes, *missing_lines(study, folder)]
    shown = Section("result", "", "", [*grids, *left_out])
    shown.add(Paragraph("\n" + "; ".join(legend) if legend else ""), Bullets(lines, "warnings"))
    return Document(document.title, "", banners=document.banners, sections=[shown])


def _plain(table: Table) -> Table:
    """A grid in few words: no intervals, no footnotes."""
    rows = [
        replace(row, mark="", cells=[replace(cell, mark="") for cell in row.cells])
        for row in table.rows
    ]
    return replace(table, rows=rows, intervals=False, footnotes=[], notes=[])


def _legend(tables: Sequence[Table], columns: Sequence[Column], *, styled: bool) -> list[str]:
    """How to read the numbers that are there; empty where they need no words."""
    there = [c.estimate for table in tables for row in table.rows for c in row.cells if c.estimate]
    parts = ["mean ±SD over seeds"] if any(found.sd is not None for found in there) else []
    if any(found.n is not None and found.n < (found.planned or 0) for found in there):
        parts.append("(n/planned) where runs are missing")
    if styled and any(found.marks for found in there):
        parts.append("bold: best, or not clearly worse; underlined: next, if clearly better")
    elif styled and (seeds := [found.n for found in there if found.n is not None]):
        barred = next((column.barred for column in columns if column.barred), "")
        few = f"fewer than {TESTED} seeds make no test"
        clear = f"{barred} are not tested" if barred else "no difference is clear"
        why = few if max(seeds) < TESTED else clear
        parts.append(f"no best is marked: {why}")
    return parts
