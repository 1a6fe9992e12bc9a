"""The result of a sweep: its verdict and its grids."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.intervals.estimate import TESTED
from medldr.reporting.document import Bullets, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.data_sets import data_sets
from medldr.reporting.sections.basis import size_note
from medldr.reporting.sections.comparison.parts import interval_words
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.verdict import verdict
from medldr.reporting.table import Table


def result(results: Results) -> Section | None:
    """The verdict and the grids."""
    first = next((c.comparison for c in results.columns if c.comparison is not None), None)
    words = [] if first is None else [interval_words(first)]
    if results.averages(results.metrics[0]):
        shared = any(data.shared for data in data_sets(results.study, results.columns))
        columns = "columns" if results.held_out or shared else "sets"
        held = sentence("held_share") if results.held_out else ""
        apart = sentence("seeds_apart") if _seeds_apart(results.study) else ""
        words.append(sentence("average", columns=columns, held=held, apart=apart))
    leads = ["No run has a result yet."]
    if results.splits:
        leads = verdict(results.study, results.columns, results.metrics[0], results.splits[0])
    grids = results.grids("mean over seeds", results.metrics)
    words += best_words(grids, results.columns)
    words += [text for split in results.splits for text in size_note(results.columns, split)]
    made = Paragraph(" ".join(filter(None, words)), "small")
    return section("sweep", "result", Bullets(leads, "verdict"), *grids, made)


def _seeds_apart(study: Study) -> bool:
    """Whether any row was planned with other seeds in some columns."""
    seeds: dict[str, dict[str, set[int]]] = {}
    for member in (entry.member for entry in study.entries):
        seeds.setdefault(member.row, {}).setdefault(member.column, set()).add(member.seed)
    return any(len(set(map(frozenset, of_row.values()))) > 1 for of_row in seeds.values())


def best_words(tables: Sequence[Table], columns: Sequence[Column]) -> list[str]:
    """How to read the marks of these tables, or why there are none."""
    barred = list(dict.fromkeys(column.barred for column in columns if column.barred))
    cells = [cell.estimate for table in tables for row in table.rows for cell in row.cells]
    there = [found for found in cells if found is not None]
    untested = [sentence("best_untested", why=" and ".join(barred))] if barred else []
    if any(found.marks for found in there):
        return [sentence("best"), *untested]
    if untested:
        return untested
    seeds = [found.n for found in there if found.n is not None]
    if not seeds:
        return []
    return [sentence("best_few" if max(seeds) < TESTED else "best_unclear")]
