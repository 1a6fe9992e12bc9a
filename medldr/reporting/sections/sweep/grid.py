"""The grid of a sweep as a table, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medldr.config.sections import MODIFIED, dataset_name
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.run_record import Selection
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study
from medldr.reporting.results.class_mix import Chance, chance, mean_of_levels
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import Grid
from medldr.reporting.sections.basis import basis
from medldr.reporting.sections.chance import chance_row
from medldr.reporting.sections.rows import grouped, method_row
from medldr.reporting.sections.sweep.missing_runs import missing_text
from medldr.reporting.sections.training import differing
from medldr.reporting.table import Cell, Table
from medldr.reporting.wording import TARGETS, split_name


def grid_table(study: Study, grid: Grid, *, target: bool = False) -> Table:
    """A grid with its footnotes.

    Args:
        study: The sweep.
        grid: The numbers.
        target: Whether the test split is that of domains which were held out one at a time.
    """
    caption = f"{metric_facts(grid.metric).heading}: {split_name(grid.split)}"
    if target and grid.split == "test":
        caption = f"{caption} ({TARGETS['target_all']})"
    names = [column.name for column in grid.columns]
    table = Table(caption, ["Method", *names, *(["Average"] if grid.averages else [])])
    for row in study.rows:
        found = zip(grid.columns, grid.cells[row], strict=True)
        cells = [_cell(table, grid.metric, column, row, number) for column, number in found]
        if average := grid.averages.get(row):
            sign = table.sign(average.reason) if average.reason else ""
            defined = average.mean is not None
            cells.append(Cell(average, metric_facts(grid.metric), mark=sign) if defined else Cell())
        notes = [*settings_text(study, row), *differing(study, row, names)]
        mark = ",".join(map(table.sign, notes))
        reference, oracle = row == study.reference, study.oracle(row)
        control = row in study.layout.controls
        table.rows.append(
            method_row(row, cells, reference=reference, control=control, oracle=oracle, mark=mark)
        )
    levels = [_chance(column, grid.split) for column in grid.columns]
    levels += [mean_of_levels(levels)] if grid.averages else []
    last = chance_row([(grid.metric, level) for level in levels])
    table.rows += [] if last is None else [last]
    table.alone += basis(grid.columns, grid.split)
    if any(cell.estimate and cell.estimate.marks for row in table.rows for cell in row.cells):
        table.alone.append(sentence("best"))
    if study.untested and not study.fresh:
        table.notes.append(sentence("chosen_and_reported"))
    table.notes += [*rules_text(study, grid.columns), *protocols_text(study, grid.columns)]
    return table


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


def _cell(table: Table, metric: str, column: Column, row: str, found: Estimate | None) -> Cell:
    if found is None:
        missing = missing_text(column.missing.get(row, {}))
        return Cell(missing, style="missing") if missing else Cell()
    notes = [*column.footnotes(row), found.reason] if found.mean is not None else [found.reason]
    signs = [table.sign(note) for note in notes if note]
    return Cell(found, metric_facts(metric), mark=",".join(signs))


def rules_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """Which rule chose the weights behind a table: one sentence, none without results."""
    columns_shown = {column.name for column in columns}
    found = [
        (_rule(entry.files), row)
        for row in study.rows
        for entry in study.of(row)
        if entry.files is not None and entry.member.column in columns_shown
    ]
    rules = grouped((rule, row) for rule, row in found if rule)
    if len(rules) == 1:
        return [f"Weights chosen by {next(iter(rules))}."]
    return [f"Weights were chosen by different rules: {_each(rules)}."] if rules else []


def _each(groups: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{', '.join(names)}: {shared}" for shared, names in groups.items())


def _rule(files: RunFiles) -> str:
    chosen = None if files.evaluation is None else files.evaluation.selection
    return "" if chosen is None else rule_of(chosen)


def rule_of(chosen: Selection) -> str:
    """The rule of a run and, where its name does not say it, the split that it read.

    Example:
        >>> rule_of(Selection(rule="val_auc", split="val"))
        'val_auc'
        >>> rule_of(Selection(rule="val_auc", split="id_val"))
        'val_auc (on id_val)'
    """
    elsewhere = chosen.rule.startswith("val_") and chosen.split != "val"
    return f"{chosen.rule} (on {chosen.split or ''})" if elsewhere else chosen.rule


def protocols_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """A note on columns of one data set that follow different protocols."""
    found = [
        (
            dataset_name(files.config, files.facts),
            files.protocol.removesuffix(MODIFIED),
            column.name,
        )
        for column in columns
        for entry in study.of(column=column.name)
        if (files := entry.files) is not None
    ]
    notes = []
    for data in dict.fromkeys(data for data, _, _ in found):
        protocols = grouped(
            (protocol or "none", name) for of, protocol, name in found if of == data
        )
        if len(protocols) > 1 and len(set(map(tuple, protocols.values()))) > 1:
            notes.append(sentence("protocols", data=data, each=_each(protocols)))
    return notes
