"""The first screen of a sweep below its verdict, further grids, and how the numbers were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from medldr.evaluation.intervals.estimate import TESTED, Estimate
from medldr.metrics import METRICS, metric_facts
from medldr.reporting.document import Bullets, Drawing, Figures, Pairs, Paragraph, Section
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.forest import BETTER, Whisker, forest_figure
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.basis import interval_words, no_groups_note, size_note
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.verdict import (
    columns_kind,
    competing,
    sweep_asked,
    whole_columns,
)
from medldr.reporting.table import AVERAGE, Table

MOST_METHODS = 4
"""Of more methods a figure shows those that the verdict is about; of still more, averages alone."""


@lru_cache(maxsize=2)
def every_grid(results: Results) -> list[Table]:
    """The grids of all metrics and splits, the foremost first; of a single column in one table."""
    single = len({entry.member.seed for entry in results.study.entries}) == 1
    return results.grids("a single seed" if single else "mean over seeds", results.metrics)


def result(results: Results) -> Section | None:
    """One figure and one table, of the primary metric; of a single column all metrics."""
    tables = every_grid(results)[:1]
    words = [*best_words(tables, results.columns, short=True)]
    words += [text for split in results.splits[:1] for text in size_note(results.columns, split)]
    figure = differences_figure(results, results.metrics[0])
    return section(
        "sweep", "result", Figures.of(figure), *tables, Paragraph(" ".join(words), "small")
    )


def other_grids(results: Results) -> Section | None:
    """The grids of other metrics and splits."""
    tables = every_grid(results)[1:]
    made = section("sweep", "grids", *tables)
    return made and replace(made, title=f"{made.title}: {'; '.join(t.caption for t in tables)}")


def differences_figure(results: Results, metric: str) -> Drawing | None:
    """Each method minus the reference in every column, and on average; None without any."""
    study, asked, split = results.study, sweep_asked(results), next(iter(results.splits), "")
    known, several = metric_facts(metric), len(results.columns) > 1
    methods = [r for r in study.rows if r != study.reference and not study.oracle(r)]
    told = [[r for r in rows if asked.found(r, metric)] for rows in (methods, competing(study))]
    shown = next((rows for rows in told if len(rows) <= MOST_METHODS), told[-1])
    columns = results.columns if len(shown) <= MOST_METHODS else ()
    styles = looks(study.rows, study.reference, study.layout.controls)
    rows = list[Whisker]()
    for method in shown:
        ink, mean = styles[method]["color"], asked.found(method, metric)
        whole = whole_columns(results, method)
        each = [(c, c.difference(split, metric, method)) for c in columns if several]
        found = [(column, of.estimate) for column, of in each if of is not None]
        if found and len(shown) > 1:
            rows.append(Whisker(method, Estimate()))
        rows += [
            Whisker(c.name, held, colour=ink)
            if c in whole
            else Whisker(f"{c.name} (incomplete)", held, "o", ink)
            for c, held in found
            if held.mean is not None
        ]
        if mean is not None:
            part = f" of {len(whole)}" if len(whole) < len(results.columns) else ""
            label = f"{AVERAGE}{part}" if found else method
            shape: Literal["diamond", "s"] = "diamond" if several else "s"
            rows.append(Whisker(label, mean.estimate, shape, ink))
    kind = columns_kind(results)
    parts = "a square per method"
    if several:
        parts = (
            f"a square per {kind}, the average as a diamond" if columns else "average per method"
        )
    few = all(asked.finding(method, metric) == "not compared" for method in shown)
    lost = " Open circles: runs are missing there." if any(r.shape == "o" for r in rows) else ""
    what = f"{shown[0]} minus" if len(shown) == 1 else "difference from"
    return forest_figure(
        f"difference-{metric.replace('_', '-').replace('/', '-')}", metric, rows,
        title=f"{known.title}: {what} {study.reference}", reference=study.reference,
        caption=f"Paired differences with 95% CI: {parts}; "
        f"{BETTER.get(known.better, 'the line marks no difference')}. "
        f"{sentence('line_few' if few else 'line')}{lost}",
    )  # fmt: skip


def best_words(
    tables: Sequence[Table], columns: Sequence[Column], *, short: bool = False
) -> list[str]:
    """How to read the marks of these tables, or why there are none."""
    barred = list(dict.fromkeys(column.barred for column in columns if column.barred))
    cells = [cell.estimate for table in tables for row in table.rows for cell in row.cells]
    there = [found for found in cells if found is not None]
    untested = [sentence("best_untested", why=" and ".join(barred))] if barred else []
    if any(found.marks for found in there):
        return [sentence("best_short" if short else "best"), *untested]
    if untested:
        return untested
    seeds = [found.n for found in there if found.n is not None]
    if not seeds:
        return []
    return [sentence("best_few" if max(seeds) < TESTED else "best_unclear")]


def numbers_made(results: Results, notes: Sequence[str]) -> Section | None:
    """What readers should know of the numbers: how they were made, and what metrics mean."""
    study, found = results.study, results.columns
    first = next((column.comparison for column in found if column.comparison is not None), None)
    texts = [*notes, *no_groups_note([(c.name, c.comparison) for c in found if c.comparison])]
    if first is not None:
        texts.append(interval_words(first))
        texts.append(sentence("tests", reference=study.reference))
    if results.averages(results.metrics[0]):
        kind = columns_kind(results)
        held = sentence("held_share") if results.held_out else ""
        apart = sentence("seeds_apart") if _seeds_apart(study) else ""
        texts.append(sentence("average", columns=f"{kind}s", held=held, apart=apart))
    texts += best_words(every_grid(results), found)
    texts += [text for split in results.splits[1:] for text in size_note(found, split)]
    meanings = [(METRICS[key].title, METRICS[key].meaning) for key in results.metrics
                if key in METRICS]  # fmt: skip
    return section("sweep", "notes", Bullets(list(filter(None, texts))), Pairs(meanings, True))


def _seeds_apart(study: Study) -> bool:
    """Whether any row was planned with other seeds in some columns."""
    seeds: dict[str, dict[str, set[int]]] = {}
    for member in (entry.member for entry in study.entries):
        seeds.setdefault(member.row, {}).setdefault(member.column, set()).add(member.seed)
    return any(len(set(map(frozenset, of_row.values()))) > 1 for of_row in seeds.values())
