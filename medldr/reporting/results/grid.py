"""The table of a sweep: rows methods, columns sets, the best marked as in a paper.

The best and the second best of a column are decided on the printed numbers, so that equal print
shares the mark. Control and oracle rows do not compete: the first explain others, the second
have seen the test split. Nor does a number of fewer runs than others have: which runs are missing
may not be by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from medldr.metrics import SPLIT_TITLES, Measure, measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid_notes import protocols_text, rules_text
from medldr.reporting.results.held_out import left_out
from medldr.reporting.results.target_parts import TARGETS
from medldr.reporting.results.training import differing

BEST, SECOND = "best", "second"
AVERAGE = "Average"
INCOMPLETE = "no average: a run is missing, or a number is undefined"


@dataclass(frozen=True)
class GridCell:
    """One method on one set.

    Attributes:
        mean: Over seeds; None where there is none.
        sd: Over seeds (ddof 1); None for a single one.
        low: Lower end of its 95 % interval.
        high: Upper end.
        runs: Runs with a result.
        planned: Runs planned.
        missing: Why runs have no result, in words.
        reason: Why the mean is undefined although there are results.
        footnotes: In what it differs from the reference although it must not.
        mark: ``best``, ``second`` or empty.
    """

    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    runs: int = 0
    planned: int = 0
    missing: str = ""
    reason: str = ""
    footnotes: tuple[str, ...] = ()
    mark: str = ""

    @property
    def count(self) -> str:
        """How many runs it is the mean of.

        Example:
            >>> GridCell(runs=3, planned=3).count, GridCell(runs=2, planned=3).count
            ('n 3', 'n 2 of 3')
        """
        if self.runs == self.planned:
            return f"n {self.runs}"
        return f"n {self.runs} of {self.planned}"


@dataclass(frozen=True)
class GridRow:
    """One method on all sets.

    Attributes:
        title: As printed.
        cells: One per column.
        average: Mean over the columns; None where there is one column only, or where the columns
            are held-out domains of several data sets.
        control: Set apart and not competing.
        oracle: Not competing.
        reference: What the others are compared with.
        notes: In what it was trained otherwise than the reference.
    """

    title: str
    cells: tuple[GridCell, ...]
    average: GridCell | None
    control: bool
    oracle: bool
    reference: bool
    notes: tuple[str, ...] = ()


@dataclass
class Grid:
    """One measure of all methods on all sets.

    Attributes:
        metric: The measure.
        split: The split judged.
        columns: As printed.
        rows: From top to bottom, controls last.
        notes: What a reader must be told about its columns.
        target: What the split is where domains were held out one at a time.
    """

    metric: str
    split: str
    columns: list[str]
    rows: list[GridRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    target: str = ""

    @property
    def caption(self) -> str:
        """What the table shows."""
        text = f"{measure(self.metric).heading}: {SPLIT_TITLES.get(self.split, self.split)}"
        return f"{text} ({self.target})" if self.target else text


def marks(values: Mapping[str, float | None], known: Measure) -> dict[str, str]:
    """Which values are the best and the second best, as they are printed.

    A measure of which neither more nor less is better has no best, and neither has a single
    value, nor several that are all the same.

    Example:
        >>> accuracy = measure("accuracy")
        >>> marks({"a": 0.7004, "b": 0.7001, "c": 0.69, "d": 0.5, "e": None}, accuracy)
        {'a': 'best', 'b': 'best', 'c': 'second'}
        >>> marks({"a": 0.1, "b": 0.2}, measure("ece")), marks({"a": 0.1}, accuracy)
        ({'a': 'best', 'b': 'second'}, {})
    """
    printed = {k: Decimal(known.show(v)) for k, v in values.items() if v is not None}
    ranked = sorted(set(printed.values()), reverse=known.better == "higher")
    if not known.better or len(ranked) < 2:
        return {}
    names = {ranked[0]: BEST, ranked[1]: SECOND}
    return {key: names[value] for key, value in printed.items() if value in names}


def make_grid(study: Study, columns: Sequence[Column], metric: str, split: str) -> Grid:
    """Lay one measure out; columns whose runs cannot be compared are left out."""
    shown = [column for column in columns if not column.problem]
    notes = [*rules_text(study, shown), *protocols_text(study, shown)]
    sets = left_out(study)
    target = TARGETS["target_all"] if sets and split == "test" else ""
    grid = Grid(metric, split, [column.name for column in shown], notes=notes, target=target)
    # A mean over the domains of several sets would not be the mean over the sets that papers print.
    averaged = len(shown) > 1 and len(sets) < 2
    known = measure(metric)
    rows = study.rows
    cells = {row: [_cell(column, metric, split, row) for column in shown] for row in rows}
    averages = {row: _average(cells[row]) for row in rows}
    competing = [r for r in rows if r not in study.layout.controls and not study.oracle(r)]
    for number in range(len(shown)):
        most = max((cells[row][number].runs for row in competing), default=0)
        full = [row for row in competing if cells[row][number].runs == most]
        found = marks({row: cells[row][number].mean for row in full}, known)
        for row, mark in found.items():
            cells[row][number] = _marked(cells[row][number], mark)
    for row, mark in marks({row: averages[row].mean for row in competing}, known).items():
        averages[row] = _marked(averages[row], mark)
    for row in rows:
        grid.rows.append(
            GridRow(
                title=row,
                cells=tuple(cells[row]),
                average=averages[row] if averaged else None,
                control=row in study.layout.controls,
                oracle=study.oracle(row),
                reference=row == study.reference,
                notes=tuple(differing(study, row, [column.name for column in shown])),
            )
        )
    return grid


def _marked(cell: GridCell, mark: str) -> GridCell:
    return GridCell(**{**vars(cell), "mark": mark})


def _cell(column: Column, metric: str, split: str, row: str) -> GridCell:
    planned, missing = column.planned.get(row, 0), column.why_missing(row)
    found = column.row(split, metric, row)
    if found is None:
        return GridCell(planned=planned, missing=missing)
    return GridCell(
        mean=found["mean"],
        sd=found["sd"],
        low=found["low"],
        high=found["high"],
        runs=found["runs"],
        planned=planned,
        missing=missing,
        reason=found["reason"] or "",
        footnotes=tuple(column.footnotes(row)),
    )


def _average(cells: Sequence[GridCell]) -> GridCell:
    """Mean over the sets, of a row that has every planned run in all of them."""
    means = [cell.mean for cell in cells if cell.runs == cell.planned and cell.mean is not None]
    if len(means) < len(cells) or not means:
        return GridCell(reason=INCOMPLETE)
    return GridCell(mean=math.fsum(means) / len(means))


def grid_table(grid: Grid) -> Table:
    """The grid as a table of the page, of Markdown and of LaTeX."""
    several = any(row.average is not None for row in grid.rows)
    table = Table(grid.caption, ["Method", *grid.columns, *([AVERAGE] if several else [])])
    for row in grid.rows:
        cells = [_table_cell(table, grid.metric, cell) for cell in row.cells]
        if row.average is not None:
            cells.append(_average_cell(grid.metric, row.average))
        tags = ["reference"] if row.reference else []
        tags += ["control"] if row.control else []
        tags += ["oracle"] if row.oracle else []
        style = "reference" if row.reference else ""
        mark = ",".join(table.sign(note) for note in row.notes)
        table.rows.append(Row(row.title, cells, tuple(tags), style, mark, apart=row.control))
    table.notes += grid.notes
    return table


def _table_cell(table: Table, metric: str, cell: GridCell) -> Cell:
    known = measure(metric)
    signs = ",".join(table.sign(note) for note in cell.footnotes)
    if cell.mean is None:
        if not cell.runs:
            return Cell(cell.missing or "–", style="missing" if cell.missing else "")
        return Cell("n/a", extra=cell.count, reason=cell.reason, mark=table.sign(cell.reason))
    detail = ""
    if cell.low is not None and cell.high is not None:
        detail = f"{known.show(cell.low)} to {known.show(cell.high)}"
    spread = "" if cell.sd is None else known.show(cell.sd)
    if cell.reason:
        signs = ",".join(filter(None, (signs, table.sign(cell.reason))))
    return Cell(
        known.show(cell.mean),
        detail=detail,
        extra=f"SD {spread}, {cell.count}" if spread else cell.count,
        value=cell.mean,
        mark=signs,
        style=cell.mark,
        spread=spread,
        count=cell.count,
    )


def _average_cell(metric: str, cell: GridCell) -> Cell:
    if cell.mean is None:
        return Cell("–")
    return Cell(measure(metric).show(cell.mean), value=cell.mean, style=cell.mark)
