"""The grid of a sweep for the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from medldr.folders.sweep_record import SweepFolder
from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Cell
from medldr.reporting.document import Table as PageTable
from medldr.reporting.pages.sweep import SweepContent, sweep_content
from medldr.reporting.pages.sweep_report import SweepReport
from medldr.reporting.results.grid import AVERAGE, BEST, SECOND, Grid, GridCell, GridRow
from medldr.reporting.sections.held_out import LOWEST
from medldr.reporting.sections.missing_runs import missing_lines
from medldr.reporting.writers.terminal import WIDTH, console

_STYLES = {BEST: "bold", SECOND: "underline"}
_NAME = 22
"""Widest column of names; longer ones fold."""
_HEAD = 14
"""Widest heading that makes a column wider; longer ones fold."""

Block = list[tuple[str, list[Text]]]
"""Columns of one table: heading, and a text per row."""


def print_sweep(folder: SweepReport | SweepFolder | Path | str) -> None:
    """Print the grids of a sweep, what is missing, and which files were written.

    Args:
        folder: A report that was just written, which saves reading it again, or the folder.

    Raises:
        InputError: If the folder holds no runs, or its `sweep.json` is damaged.
    """
    if isinstance(folder, SweepReport):
        content, files = folder.content, folder.files
        given = SweepFolder(folder.page.parent)
    else:
        given = folder if isinstance(folder, SweepFolder) else SweepFolder(folder)
        content, files = sweep_content(given), ()
    out = console()
    known = given.sweep.is_file()  # else there is nothing that `medldr sweep status` could read
    path = f"{given.path}" if known else ""
    out.print(sweep_tables(content, out.width, path, styled=out.is_terminal))
    for file in files:
        out.print(f"{file}", soft_wrap=True, highlight=False, markup=False)


def sweep_tables(
    content: SweepContent, width: int = WIDTH, folder: str = "", *, styled: bool = True
) -> Group:
    """The grids, cut into as many tables as the width asks for, and remarks below.

    Args:
        content: What to show.
        width: Characters of a line.
        folder: The sweep's folder, for a hint at what is told in few words; none if empty.
        styled: Whether bold and underlined text is seen, as in a terminal but not in a file.
    """
    parts: list[Table | Text] = [Text(content.title, style="bold")]
    for kind, text in content.banners:
        parts.append(Text(text, style="bold" if kind == "remark" else "red"))
    if len(content.columns) == 1 and content.grids:
        block = [column for grid in content.grids for column in _single(grid)]
        parts += _cut(content.columns[0].name, content.grids[0], block, width)
    else:
        for grid in content.grids:
            parts += _cut(grid.caption, grid, _columns(grid), width)
    left_out = content.section("left_out")
    for found in left_out.tables if left_out is not None else ():
        parts += _cut(found.caption, *_of_page(found), width)
        parts += [Text(f"{sign} {text}") for sign, text in found.footnotes]
        parts += [Text(note) for note in found.notes]
    legend = _legend(content.grids, styled=styled)
    if left_out is not None:
        legend = "; ".join(filter(None, (legend, "↓ lowest of a row's domains")))
    if legend:
        parts.append(Text(f"\n{legend}"))
    for column in content.columns:
        if column.problem:
            parts.append(Text(f"{column.name} is left out: {column.said}", style="red"))
    parts += [Text(note, style="red") for note in content.study.notes]
    parts += [Text(line, style="red") for line in missing_lines(content.study, folder)]
    return Group(*parts)


def _legend(grids: Sequence[Grid], *, styled: bool) -> str:
    """How to read the numbers that are there; empty where they speak for themselves."""
    cells = [cell for grid in grids for row in grid.rows for cell in (*row.cells, row.average)]
    there = [cell for cell in cells if cell is not None and cell.mean is not None]
    parts = ["mean ±SD over seeds"] if any(cell.sd is not None for cell in there) else []
    if any(cell.runs < cell.planned for cell in there):
        parts.append("(n/planned) where runs are missing")
    if styled and any(cell.mark for cell in there):
        parts.append("best bold, second best underlined")
    return "; ".join(parts)


def _columns(grid: Grid) -> Block:
    block = [
        (head, [_text(grid.metric, row.cells[number]) for row in grid.rows])
        for number, head in enumerate(grid.columns)
    ]
    averages = [row.average for row in grid.rows]
    if any(cell is not None and cell.mean is not None for cell in averages):
        texts = [Text("–") if cell is None else _text(grid.metric, cell) for cell in averages]
        block.append((AVERAGE, texts))
    return block


def _single(grid: Grid) -> Block:
    """The only set of a sweep, whose tables stand side by side."""
    head = f"{measure(grid.metric).heading}, {SPLIT_TITLES.get(grid.split, grid.split).lower()}"
    return [(head, texts) for _, texts in _columns(grid)]


def _of_page(table: PageTable) -> tuple[Grid, Block]:
    """A table of the page: its rows, and its columns as texts."""
    rows = [
        GridRow(f"{row.heading} {row.mark}".strip(), (), None, row.apart, False, False)
        for row in table.rows
    ]
    block = [
        (head, [_short(row.cells[number]) for row in table.rows])
        for number, head in enumerate(table.columns[1:])
    ]
    return Grid("accuracy", "test", table.columns[1:], rows), block


def _short(cell: Cell) -> Text:
    text = f"{cell.text} ±{cell.spread}" if cell.spread else cell.text
    if " of " in cell.count:
        text += f" ({cell.count.removeprefix('n ').replace(' of ', '/')})"
    return Text(f"{text} ↓" if cell.detail == LOWEST else text)


def _cut(title: str, grid: Grid, block: Block, width: int) -> list[Table | Text]:
    """As many tables as it takes, each as wide as fits."""
    names = min(_NAME, max(len(row.title) for row in grid.rows))
    parts: list[Table | Text] = []
    shown: Block = []
    room = width - names
    for head, texts in block:
        needed = 2 + max(min(len(head), _HEAD), *(len(text.plain) for text in texts))
        if shown and needed > room:
            parts.append(_table(title, grid, shown, names))
            shown, room = [], width - names
        shown.append((head, texts))
        room -= needed
    return [*parts, _table(title, grid, shown, names)]


def _table(title: str, grid: Grid, block: Sequence[tuple[str, list[Text]]], names: int) -> Table:
    table = Table(
        title=Text(f"\n{title}", style="bold"),
        title_justify="left", box=None, pad_edge=False, padding=(0, 1),
    )  # fmt: skip
    table.add_column("method", overflow="fold", min_width=min(names, 12), max_width=names)
    for head, texts in block:
        width = max(len(text.plain) for text in texts)
        table.add_column(
            Text(head, overflow="fold"),
            justify="right", min_width=width, max_width=max(width, _HEAD),
        )  # fmt: skip
    controls = False
    for number, row in enumerate(grid.rows):
        if row.control and not controls:
            table.add_row(Text("controls", style="italic"))
            controls = True
        table.add_row(Text(row.title), *(texts[number] for _, texts in block))
    return table


def _text(metric: str, cell: GridCell) -> Text:
    if cell.mean is None:
        return Text("n/a" if cell.runs else cell.missing or "–")
    known = measure(metric)
    text = known.show(cell.mean)
    if cell.sd is not None:
        text += f" ±{known.show(cell.sd)}"
    if cell.runs < cell.planned:
        text += f" ({cell.runs}/{cell.planned})"
    return Text(text, style=_STYLES.get(cell.mark, ""))
