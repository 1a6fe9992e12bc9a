"""Tables of a sweep with methods down; above all the grid, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from medldr.config.sections import MODIFIED, dataset_name
from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts, other_half
from medldr.reporting.prose import sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.averages import Averages
from medldr.reporting.results.class_mix import Chance, chance, mean_of_levels
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import Grid
from medldr.reporting.sections.basis import basis
from medldr.reporting.sections.rows import chance_row, grouped, method_row
from medldr.reporting.sections.sweep.missing_runs import missing_text
from medldr.reporting.table import AVERAGE, Cell, Table, first_word, paired
from medldr.reporting.wording import TARGETS, rule_text, split_name

C = TypeVar("C")


def pivot(
    study: Study,
    table: Table,
    across: Sequence[C],
    cell: Callable[[str, C], Cell],
    notes: Callable[[str], Iterable[str]] = lambda _: (),
) -> Table | None:
    """A table with a row for each method of a sweep; None where no method has anything to show.

    Args:
        study: The sweep.
        table: With its headings; gets the rows.
        across: What each further column is of.
        cell: The cell of a method in one of these columns.
        notes: Footnotes of a method.
    """
    for row in study.rows:
        cells = [cell(row, place) for place in across]
        if all(one.empty for one in cells):
            continue
        held = {"reference": row == study.reference, "oracle": study.oracle(row)}
        mark = table.mark(map(table.sign, notes(row)))
        control = row in study.layout.controls
        table.rows.append(method_row(row, cells, **held, control=control, mark=mark))
    return table if table.rows else None


def grid_table(study: Study, grid: Grid, *, target: bool = False) -> Table:
    """A grid with its footnotes.

    Args:
        study: The sweep.
        grid: The numbers.
        target: Whether the test split is that of domains which were held out one at a time.
    """
    known, other = metric_facts(grid.metric), other_half(grid.metric)
    caption = f"{heading(grid.metric)}: {split_name(grid.split)}"
    if target and grid.split == "test":
        caption = f"{caption} ({TARGETS['target_all']})"
    names = [column.name for column in grid.columns]
    table = Table(caption, ["Method", *names, *([AVERAGE] if grid.averages else [])])
    said = _footnotes(study, grid)
    every = _shared(said.values()) if len(study.rows) > 1 else []
    of_rows = {r: _shared(of for (row, _), of in said.items() if row == r) for r in study.rows}

    def cell(row: str, number: int) -> Cell:
        if number == len(names):
            average = grid.averages.get(row) or Estimate()
            if average.mean is None:
                return Cell()
            mark = table.sign(average.reason) if average.reason else ""
            half = Averages(study, other, grid.split).row(grid.columns, row) if other else None
            return replace(paired(Cell(average, known), other, half), mark=mark)
        column, found = grid.columns[number], grid.cells[row][number]
        if found is None:
            missing = missing_text(column.missing.get(row, {}))
            return Cell(missing, style="missing") if missing else Cell()
        own = [text for text in said.get((row, column.name), ()) if text not in of_rows[row]]
        texts = [*own, found.reason] if found.mean is not None else [found.reason]
        mark = table.mark(table.sign(text) for text in texts if text)
        pair = column.estimate(grid.split, other, row) if other else None
        return replace(paired(Cell(found, known), other, pair), mark=mark)

    def notes(row: str) -> list[str]:
        of_row = [text for text in of_rows[row] if text not in every]
        return [*settings_text(study, row), *of_row]

    pivot(study, table, range(len(table.columns) - 1), cell, notes)
    levels = [_chance(column, grid.split) for column in grid.columns]
    levels += [mean_of_levels(levels)] if grid.averages else []
    last = chance_row([(grid.metric, level) for level in levels])
    table.rows += [] if last is None else [last]
    table.alone += basis(grid.columns, grid.split)
    if any(cell.estimate and cell.estimate.marks for row in table.rows for cell in row.cells):
        table.alone.append(sentence("best"))
    if study.untested and not study.fresh:
        table.notes.append(sentence("chosen_and_reported"))
    table.notes += [*every, *_few_groups(grid), *_threshold(study, grid.metric)]
    table.notes += [*rules_text(study, grid.columns), *protocols_text(study, grid.columns)]
    return table


def heading(metric: str) -> str:
    """What a table is of; both halves of what is measured at one threshold.

    Example:
        >>> heading("auc"), heading("sensitivity_at_specificity")
        ('AUC', 'Sensitivity at the chosen threshold (%), below it the specificity reached')
    """
    other = other_half(metric)
    below = f", below it the {first_word(other)} reached" if other else ""
    return metric_facts(metric).heading + below


def _footnotes(study: Study, grid: Grid) -> dict[tuple[str, str], list[str]]:
    """What is said of each number, by method and column."""
    return {
        (row, column.name): column.footnotes(row)
        for row in study.rows
        for column, found in zip(grid.columns, grid.cells[row], strict=True)
        if found is not None and found.mean is not None
    }


def _shared(found: Iterable[Sequence[str]]) -> list[str]:
    """The texts that all have."""
    first, *others = [*found] or [()]
    return [text for text in first if all(text in of for of in others)]


def settings_text(study: Study, row: str) -> list[str]:
    """Among how many settings that of a row was chosen; nothing where no row had several."""
    number = study.settings(row)
    if max(map(study.settings, study.rows), default=1) == 1:
        return []
    by = "these runs themselves" if row in study.untested else "other seeds"
    return ["A single setting." if number == 1 else f"Chosen among {number} settings by {by}."]


def _chance(column: Column, split: str) -> Chance | None:
    found = column.comparison
    size = None if found is None else found.splits.get(split)
    return None if found is None or size is None else chance(size, found.task)


def _few_groups(grid: Grid) -> list[str]:
    few = [
        column.name
        for column in grid.columns
        if column.comparison is not None
        and (size := column.comparison.splits.get(grid.split)) is not None
        and size.few_groups
    ]
    return [f"{', '.join(few)}: {sentence('few_groups')}"] if few else []


def _threshold(study: Study, metric: str) -> list[str]:
    """How the thresholds of a metric that needs one were set."""
    points = [e.run.evaluation.operating_point for e in study.entries if e.run is not None]
    wanted = {100 * p.specificity for p in points if p is not None and p.specificity is not None}
    if not metric_facts(metric).threshold or not wanted:
        return []
    each = " or ".join(f"{value:g}%" for value in sorted(wanted))
    return [sentence("thresholds_set", wanted=each)]


def rules_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """Which rule chose the weights behind a table: one sentence, none without results."""
    names = {column.name for column in columns}
    chosen = [
        (entry.files.evaluation.selection, row)
        for row in study.rows
        for entry in study.of(row)
        if entry.files is not None and entry.files.evaluation and entry.member.column in names
    ]
    rules = grouped((rule_text(one.rule, one.split or ""), row) for one, row in chosen if one)
    if len(rules) == 1:
        return [f"Weights of each run: {next(iter(rules))}."]
    return [f"Weights were chosen by different rules: {_each(rules)}."] if rules else []


def _each(groups: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{', '.join(names)}: {shared}" for shared, names in groups.items())


def protocols_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """A note on columns of one data set that follow different protocols."""
    by_data: dict[str, list[tuple[str, str]]] = {}
    for column in columns:
        for entry in study.of(column=column.name):
            if (files := entry.files) is not None:
                place = files.protocol.removesuffix(MODIFIED) or "none", column.name
                by_data.setdefault(dataset_name(files.config, files.facts), []).append(place)
    protocols = {data: grouped(places) for data, places in by_data.items()}
    return [
        sentence("protocols", data=data, each=_each(of))
        for data, of in protocols.items()
        if len(set(map(tuple, of.values()))) > 1
    ]
