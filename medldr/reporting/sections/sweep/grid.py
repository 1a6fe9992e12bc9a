"""The grid of a sweep as a table, and what a reader must know of it."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.config.protocol import MODIFIED
from medldr.config.sections import dataset_name
from medldr.evaluation.estimate import Estimate
from medldr.folders.run_record import Selection
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import Grid
from medldr.reporting.results.target_parts import TARGETS
from medldr.reporting.sections.rows import method_row
from medldr.reporting.sections.sweep.missing_runs import missing_text
from medldr.reporting.sections.training import differing
from medldr.reporting.table import Cell, Table
from medldr.reporting.wording import split_name


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
        cells = [
            _cell(table, grid.metric, column, row, found)
            for column, found in zip(grid.columns, grid.cells[row], strict=True)
        ]
        if grid.averages:
            average = grid.averages[row]
            known = average.mean is not None
            cells.append(Cell(average, metric_facts(grid.metric)) if known else Cell())
        table.rows.append(
            method_row(
                row,
                cells,
                reference=row == study.reference,
                control=row in study.layout.controls,
                oracle=study.oracle(row),
                mark=",".join(table.sign(note) for note in differing(study, row, names)),
            )
        )
    table.notes += [*rules_text(study, grid.columns), *protocols_text(study, grid.columns)]
    return table


def _cell(table: Table, metric: str, column: Column, row: str, found: Estimate | None) -> Cell:
    if found is None:
        missing = missing_text(column.missing.get(row, {}))
        return Cell(missing, style="missing") if missing else Cell()
    notes = [*column.footnotes(row), found.reason] if found.mean is not None else [found.reason]
    signs = [table.sign(note) for note in notes if note]
    return Cell(found, metric_facts(metric), mark=",".join(signs))


def rules_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """Which rule chose the weights behind a table: one sentence, none without results."""
    rows: dict[str, list[str]] = {}
    for row in study.rows:
        for column in columns:
            for entry in study.of(row, column.name):
                judged = None if entry.files is None else entry.files.evaluation
                rule = rule_of(None if judged is None else judged.selection)
                if rule and row not in rows.setdefault(rule, []):
                    rows[rule].append(row)
    if not rows:
        return []
    if len(rows) == 1:
        return [f"Weights chosen by {next(iter(rows))}."]
    each = "; ".join(f"{', '.join(names)}: {rule}" for rule, names in rows.items())
    return [f"Weights were chosen by different rules: {each}."]


def rule_of(selection: Selection | None) -> str:
    """The rule of a run and, where its name does not say it, the split that it read.

    Example:
        >>> rule_of(Selection(rule="val_auc", split="val"))
        'val_auc'
        >>> rule_of(Selection(rule="val_auc", split="id_val"))
        'val_auc (on id_val)'
    """
    if selection is None:
        return ""
    elsewhere = selection.rule.startswith("val_") and selection.split != "val"
    return f"{selection.rule} (on {selection.split or ''})" if elsewhere else selection.rule


def protocols_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """A note on columns of one data set that follow different protocols."""
    found: dict[str, dict[str, list[str]]] = {}
    for column in columns:
        for entry in study.of(column=column.name):
            if entry.files is not None:
                data = dataset_name(entry.files.config, entry.files.facts)
                protocol = entry.files.protocol.removesuffix(MODIFIED) or "none"
                names = found.setdefault(data, {}).setdefault(protocol, [])
                names += [] if column.name in names else [column.name]
    return [
        f"Columns of {data} follow different protocols and are not to be compared: "
        + "; ".join(f"{', '.join(names)}: {protocol}" for protocol, names in protocols.items())
        + "."
        for data, protocols in found.items()
        if len(protocols) > 1 and len(set(map(tuple, protocols.values()))) > 1
    ]
