"""A document on the terminal, readable at 80 columns: tables, cut where they are too wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from medldr.metrics import measure
from medldr.reporting.document import Block, Bullets, Document, Heading, Pairs, Paragraph
from medldr.reporting.table import Cell, Row, Table, interval
from medldr.reporting.writers.cells import printed

WIDTH = 80
_NAMES = 22
"""Widest column of row headings; longer ones fold."""
_HEAD = 14
"""Widest heading that makes a column wider; longer ones fold."""
_STYLES = {"best": "bold", "second": "underline"}
_COLOURS = {"remark": "bold", "warning": "red", "oracle": "bold red"}


def console() -> Console:
    """Standard output; a wide terminal is not filled, a pipe counts as 80 columns."""
    out = Console(highlight=False)
    return Console(highlight=False, width=min(out.width, 110) if out.is_terminal else WIDTH)


def print_document(document: Document, out: Console) -> None:
    """Print a document.

    Args:
        document: What to print; figures and folded texts are left to the page.
        out: Where to.
    """
    out.print(terminal_document(document, out.width))


def terminal_document(document: Document, width: int = WIDTH) -> Group:
    """A document as rich prints it.

    Args:
        document: What to print.
        width: Characters of a line.
    """
    parts: list[RenderableType] = [Text(document.title, style="bold")] if document.title else []
    parts += [Text(b.text, style=_COLOURS[b.kind]) for b in document.banners]
    for section in document.sections:
        for block in section.blocks:
            parts += _block(block, width)
    return Group(*parts)


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    if isinstance(block, Table):
        yield from _cut(block, width)
        yield from (Text(f"{sign} {text}") for sign, text in block.footnotes)
        yield from map(Text, block.notes)
    elif isinstance(block, Paragraph):
        yield Text(block.text)
    elif isinstance(block, Heading):
        yield Text(block.text, style="bold")
    elif isinstance(block, Bullets):
        style = "red" if block.style == "warnings" else ""
        yield from (Text(item, style=style) for item in block.items)
    elif isinstance(block, Pairs):
        yield from (Text(f"{name}: {text}") for name, text in block.items)


def _cut(table: Table, width: int) -> Iterator[RichTable]:
    """As many tables as it takes, each as wide as fits."""
    headings = [f"{row.heading} {row.mark}".rstrip() for row in table.rows]
    names = min(_NAMES, max(map(len, [table.columns[0], *headings])))
    shown: list[tuple[str, list[Text]]] = []
    room = width - names
    for number, head in enumerate(table.columns[1:]):
        texts = [cell_text(row.cells[number], intervals=table.intervals) for row in table.rows]
        needed = 2 + max([min(len(head), _HEAD), *map(_wide, texts)])
        if shown and needed > room:
            yield _table(table, headings, shown, names)
            shown, room = [], width - names
        shown.append((head, texts))
        room -= needed
    yield _table(table, headings, shown, names)


def _wide(text: Text) -> int:
    return max((len(line) for line in text.plain.splitlines()), default=0)


def _table(
    table: Table,
    headings: Sequence[str],
    columns: Sequence[tuple[str, list[Text]]],
    names: int,
) -> RichTable:
    drawn = RichTable(
        title=Text(f"\n{table.caption}", style="bold"),
        title_justify="left", box=None, pad_edge=False, padding=(0, 1),
    )  # fmt: skip
    drawn.add_column(table.columns[0], overflow="fold", min_width=min(names, 12), max_width=names)
    for head, texts in columns:
        width = max(map(_wide, texts), default=0)
        drawn.add_column(
            Text(head, overflow="fold"),
            justify="right", min_width=width, max_width=max(width, _HEAD),
        )  # fmt: skip
    apart = False
    for number, row in enumerate(table.rows):
        if row.apart and not apart:
            drawn.add_row(Text("controls", style="italic"))
            apart = True
        drawn.add_row(_heading(row, headings[number]), *(texts[number] for _, texts in columns))
    return drawn


def _heading(row: Row, text: str) -> Text:
    return Text(text, style="bold" if row.style == "head" else "")


def cell_text(cell: Cell, *, intervals: bool) -> Text:
    """A cell on one line, its interval on a second one where that is asked for.

    Example:
        >>> from medldr.reporting.table import Estimate
        >>> found = Estimate(0.704, sd=0.015, low=0.658, high=0.745, n=2, planned=3)
        >>> print(cell_text(Cell(found, measure("accuracy")), intervals=True))
        70.4 ±1.5 (2/3)
        65.8–74.5
    """
    number = printed(cell)
    held = cell.estimate
    if held is None:
        return Text(number.text)
    text = number.text + (f" ±{number.spread}" if number.spread else "")
    if held.n is not None and held.planned and held.n < held.planned:
        text += f" ({held.n}/{held.planned})"
    if "lowest" in held.marks:
        text += " ↓"
    between = " to " if cell.signed else "–"
    known = cell.metric or measure("")
    ends = interval(held, known, signed=cell.signed, between=between) if intervals else ""
    if intervals and cell.extra:
        ends = "\n".join(filter(None, (ends, cell.extra)))
    return Text("\n".join(filter(None, (text, ends))), style=_STYLES.get(number.style, ""))
