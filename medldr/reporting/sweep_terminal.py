"""The grid of a sweep for the terminal, readable at 80 columns."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from medldr.members import SweepFolder
from medldr.reporting.grid import AVERAGE, BEST, SECOND, Grid, GridCell, GridRow
from medldr.reporting.measures import measure
from medldr.reporting.sweep_content import SweepContent, sweep_content
from medldr.reporting.sweep_report import SweepReport
from medldr.reporting.terminal import WIDTH, console

_STYLES = {BEST: "bold", SECOND: "underline"}
_NAME = 22
"""Widest column of names; longer ones fold."""


def print_sweep(folder: SweepReport | SweepFolder | Path | str) -> None:
    """Print the grids of a sweep, what is missing, and where the page is.

    Args:
        folder: A report that was just written, which saves reading it again, or the folder.

    Raises:
        InputError: If the folder holds no runs, or its `sweep.json` is damaged.
    """
    report = folder if isinstance(folder, SweepReport) else None
    if report is not None:
        content = report.content
    else:
        files = folder if isinstance(folder, SweepFolder) else SweepFolder(str(folder))
        content = sweep_content(files)
    out = console()
    out.print(sweep_tables(content, out.width))
    if report is not None:
        for path in report.files:
            out.print(f"{path}", soft_wrap=True, highlight=False, markup=False)


def sweep_tables(content: SweepContent, width: int = WIDTH) -> Group:
    """The grids, cut into as many tables as the width asks for, and remarks below."""
    parts: list[Table | Text] = [Text(content.title, style="bold")]
    parts += [
        Text(text, style="bold" if kind == "remark" else "red") for kind, text in content.banners
    ]
    for grid in content.grids:
        parts += _grid(grid, width)
    if content.grids:
        remark = "mean ±SD over seeds (n of planned, where some are missing)"
        parts.append(Text(f"\n{remark}; best bold, second best underlined"))
    for column in content.columns:
        if column.problem:
            parts.append(Text(f"{column.name} is left out: {column.problem}", style="red"))
    for entry in content.study.entries:
        if entry.run is None:
            why = f": {entry.error}" if entry.error else ""
            parts.append(Text(f"{entry.state}: {entry.member.run}{why}", style="red"))
    return Group(*parts)


def _grid(grid: Grid, width: int) -> list[Table | Text]:
    average = any(row.average is not None for row in grid.rows)
    heads = [*grid.columns, *([AVERAGE] if average else [])]
    texts = [[_text(grid.metric, cell) for cell in _cells(row)] for row in grid.rows]
    widths = [
        max(min(len(head), 14), *(len(line[n].plain) for line in texts))
        for n, head in enumerate(heads)
    ]
    names = min(_NAME, max(len(row.title) for row in grid.rows))
    parts: list[Table | Text] = []
    start = 0
    while start < len(heads):
        stop, room = start, width - names
        while stop < len(heads) and (stop == start or room >= widths[stop] + 2):
            room -= widths[stop] + 2
            stop += 1
        parts.append(_table(grid, heads, texts, range(start, stop), names))
        start = stop
    return parts


def _table(
    grid: Grid, heads: list[str], texts: list[list[Text]], shown: range, names: int
) -> Table:
    title = Text(f"\n{grid.caption}", style="bold")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1))
    table.add_column("method", overflow="fold", min_width=min(names, 12), max_width=names)
    for number in shown:
        width = max(len(line[number].plain) for line in texts)
        table.add_column(Text(heads[number], overflow="fold"), justify="right", min_width=width)
    for row, line in zip(grid.rows, texts, strict=True):
        if row.control and not any(r.control for r in grid.rows[: grid.rows.index(row)]):
            table.add_row(Text("controls", style="italic"))
        table.add_row(Text(row.title), *(line[number] for number in shown))
    return table


def _cells(row: GridRow) -> list[GridCell]:
    return [*row.cells, *([row.average] if row.average is not None else [])]


def _text(metric: str, cell: GridCell) -> Text:
    if cell.mean is None:
        return Text("n/a" if cell.runs else cell.missing or "–")
    known = measure(metric)
    text = known.show(cell.mean)
    if cell.sd is not None:
        text += f" ±{known.show(cell.sd)}"
    if cell.runs < cell.planned:
        text += f" ({cell.runs} of {cell.planned})"
    return Text(text, style=_STYLES.get(cell.mark, ""))
