"""The page of a sweep, and the part of it that is printed on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from medldr.config.sections import dataset_name
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.document import Banner, Bullets, Document, Section
from medldr.reporting.prose import Parts, answered, assemble, section
from medldr.reporting.read.study import Study
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import Column, splits
from medldr.reporting.sections.basis import EVERY, banners, collapse_texts
from medldr.reporting.sections.held_out import held_out
from medldr.reporting.sections.published import held_out_published, sweep_published
from medldr.reporting.sections.rows import count, grouped, listed
from medldr.reporting.sections.selection import selection
from medldr.reporting.sections.sweep import details
from medldr.reporting.sections.sweep import result as grids
from medldr.reporting.sections.sweep.common import Results, for_pages, results_of
from medldr.reporting.sections.sweep.leaks import leaks
from medldr.reporting.sections.sweep.missing_runs import missing_lines, missing_runs
from medldr.reporting.sections.sweep.verdict import sweep_verdict
from medldr.reporting.table import Table


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
    shown = for_pages(results)
    found = shown.columns
    notes = [*study.notes, *notes, *(note for column in found for note in column.notes)]
    parts: Parts = [
        ("result", lambda: grids.result(shown)),
        ("grids", lambda: grids.other_grids(shown)),
        ("differences", lambda: details.differences(shown)),
        ("left_out", lambda: held_out(shown.held_out, results.metrics[0])),
        ("folds", lambda: details.folds(shown)),
        ("choice", lambda: selection(study)),
        ("missing", lambda: missing_runs(study, found)),
        ("notes", lambda: grids.numbers_made(shown, notes)),
        ("rules", lambda: details.rules(shown)),
        ("calibration", lambda: details.calibration(shown)),
        ("domains", lambda: details.domains(shown)),
        ("leaks", lambda: leaks(shown)),
        ("published", lambda: _published(shown)),
        ("curves", lambda: details.curves(shown)),
        ("runs", lambda: details.runs(shown)),
    ]
    document = Document(
        _title(study),
        "medldr · report of a sweep",
        _subtitle(results),
        _banners(study, found),
        assemble("sweep", parts),
        answered(lambda: sweep_verdict(shown)),
        wide=True,
    )
    return SweepPage(results, document)


def _published(results: Results) -> Section | None:
    of_sets = sweep_published(results.study, results.columns)
    return section("sweep", "published", *of_sets, *held_out_published(results.held_out))


def _title(study: Study) -> str:
    """The title of the sweep file; its plain name while a method that this counts never started."""
    states = {row: {entry.state for entry in study.of(row)} for row in study.rows}
    return study.name if {"not run"} in states.values() else study.layout.title


def _subtitle(results: Results) -> str:
    """The size of a sweep in words."""
    study, held = results.study, results.held_out
    begun = [e for e in study.entries if e.files is not None]
    names = {e.member.column: dataset_name(e.config, e.files.facts) for e in begun if e.files}
    sets = {names.get(column.name, column.name) for column in results.columns}
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


def _banners(study: Study, found: Sequence[Column]) -> list[Banner]:
    """A remark, what no accuracy of the foremost split should be read without, oracles."""
    split = next(iter(splits(found)), "")
    each = (
        (text, column.name)
        for column in found
        if column.comparison is not None
        for text in collapse_texts(*column.comparison.collapsed(split))
    )
    several = len(found) > 1
    texts = [f"{text} ({listed(of)})" if several else text for text, of in grouped(each).items()]
    texts.sort(key=lambda text: EVERY not in text)  # the worst first, whatever their column
    return banners(study.layout.remark, texts, split, [r for r in study.rows if study.oracle(r)])


def terminal_page(page: SweepPage, folder: str = "", *, styled: bool = True) -> Document:
    """What of a sweep is printed: its verdict, its first grid, and what is missing.

    Args:
        page: The sweep.
        folder: Its folder, for a hint at what is said in few words; none if empty.
        styled: Whether bold and underlined text is seen, as in a terminal but not in a file.
    """
    study, columns = page.results.study, page.results.columns
    shown = Section("result", "", "")
    for _, table in page.document.tables(["result"]):
        caption = "; ".join([table.caption, *_legend(table, columns, styled=styled)])
        shown.add(replace(table.bare(), caption=caption, intervals=False))
    problems = [f"{c.name} is left out: {c.said}" for c in columns if c.problem]
    lines = [*problems, *study.notes, *missing_lines(study, folder)]
    shown.add(Bullets(lines, "warnings"))
    return replace(page.document, title="", subtitle="", sections=[shown])


def _legend(table: Table, columns: Sequence[Column], *, styled: bool) -> list[str]:
    """How to read the numbers that are there; empty where they need no words."""
    there = [cell.estimate for row in table.rows for cell in row.cells if cell.estimate]
    parts = ["mean ±SD over seeds"] if any(found.sd is not None for found in there) else []
    if any(found.n is not None and found.n < (found.planned or 0) for found in there):
        parts.append("(n/planned) where runs are missing")
    if styled and any(found.marks for found in there):
        parts += grids.best_words([table], columns, short=True)
    return parts
