"""A document on the terminal, readable at 80 columns: tables, cut where they are too wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from medldr.console import Console
from medldr.data.counting import counted
from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Bullets, Document, Paragraph
from medldr.reporting.table import AVERAGE, CHANCE, Cell, Table, interval
from medldr.reporting.writers.cells import noise, printed
from medldr.reporting.writers.fitting import fitted

WIDTH = 80
LINES = 25
"""What a command ends with, the path of the page included: it fits a small terminal."""
_NAMES = 22
"""Widest column of row headings in a table that has to be cut; longer ones fold."""
_HEAD = 14
"""Widest heading that makes a column wider; longer ones fold."""
_FOLDED = 14
"""Narrowest column of row headings in which a longer one folds."""
_STYLES = {"best": "bold", "second": "underline"}
_COLOURS = {"remark": "bold", "warning": "red", "oracle": "bold red"}
_TONES = {"good": "bold green", "bad": "bold red", "open": "bold"}


def console() -> Console:
    """Standard output; a wide terminal is not filled, a pipe counts as 80 columns."""
    out = Console(highlight=False)
    return Console(highlight=False, width=min(out.width, 110) if out.is_terminal else WIDTH)


def print_document(
    document: Document, out: Console, *, lines: int | None = None, rest: str = "on the page"
) -> None:
    """Print a document; figures and folded texts are left to the page.

    Args:
        document: What to print.
        out: Where.
        lines: How many lines it may take; what does not fit is left out. None: any, a table that is
            too wide is continued below itself.
        rest: Where that can be read which is left out.
    """
    if lines is not None:

        def height(shown: Document) -> int:
            return len(out.render_lines(terminal_document(shown, out.width)))

        sections = [
            replace(section, blocks=[_narrowed(block, out.width, rest) for block in section.blocks])
            for section in document.sections
        ]
        document = fitted(replace(document, sections=sections), lines, height, rest)
    out.print(terminal_document(document, out.width))


def terminal_document(document: Document, width: int = WIDTH) -> Group:
    """A document as rich prints it.

    Args:
        document: What to print.
        width: Characters of a line.
    """
    parts: list[RenderableType] = []
    if (found := document.verdict) is not None:
        parts.append(Text.assemble((found.headline, _TONES[found.tone]), f" {found.text}"))
        parts += map(Text, found.more)
    if title := ": ".join(filter(None, (document.title, document.subtitle))):
        parts.append(Text(title, style="bold"))
    parts += [Text(b.text, style=_COLOURS[b.kind]) for b in document.banners]
    for section in document.sections:
        for block in section.blocks:
            parts += _block(block, width)
    return Group(*parts)


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    if isinstance(block, Table):
        for numbers in _groups(block, width):
            yield Text(f"\n{block.caption}", style="bold")
            yield _drawn(_of_columns(block, numbers), width)
        yield from (Text(f"{sign} {text}") for sign, text in block.footnotes)
        yield from map(Text, block.notes)
    elif isinstance(block, Paragraph):
        yield Text(block.text)
    elif isinstance(block, Bullets):
        yield from (Text(i, style="red" if block.style == "warnings" else "") for i in block.items)


def _headings(table: Table) -> tuple[list[str], int]:
    """What stands in front of each row, and how wide it may become."""
    headings = [f"{row.heading} {row.mark}".rstrip() for row in table.rows]
    # The row of chance level folds, so that its long heading does not cut the table.
    own = [len(head) for head, row in zip(headings, table.rows, strict=True) if row.style != CHANCE]
    folded = _FOLDED if len(own) < len(headings) else 0
    return headings, max([len(table.columns[0]), folded, *own])


def _texts(table: Table, number: int) -> list[Text]:
    """The cells of a column; the first of numbers is 1."""
    return [cell_text(row.cells[number - 1], intervals=table.intervals) for row in table.rows]


def _needed(head: str, texts: Sequence[Text]) -> int:
    """Width of a column with the space around it, where its heading may fold."""
    return 2 + max(min(len(head), _HEAD), _widest(texts))


def _widest(texts: Sequence[Text]) -> int:
    return max((len(line) for text in texts for line in text.plain.splitlines()), default=0)


def _groups(table: Table, width: int) -> list[list[int]]:
    """Columns of as many tables as it takes, without those of dashes; the average in the first."""
    start = width - min(_NAMES, _headings(table)[1])
    groups, room = list[list[int]](), 0
    for number in sorted(range(1, len(table.columns)), key=lambda n: table.columns[n] != AVERAGE):
        if table.rows and all(row.cells[number - 1].empty for row in table.rows):
            continue
        needed = _needed(table.columns[number], _texts(table, number))
        if not groups or needed > room:
            groups.append([])
            room = start
        groups[-1].append(number)
        room -= needed
    return [sorted(group) for group in groups] or [[]]


def _of_columns(table: Table, numbers: Sequence[int]) -> Table:
    rows = [replace(row, cells=[row.cells[n - 1] for n in numbers]) for row in table.rows]
    return replace(table, columns=[table.columns[n] for n in (0, *numbers)], rows=rows)


def _narrowed(block: Block, width: int, rest: str) -> Block:
    """A table of the columns that fit, which says how many more there are."""
    if not isinstance(block, Table):
        return block
    shown, *others = _groups(block, width)
    left = sum(map(len, others))
    more = f" ({counted(left, 'more column', 'more columns')} {rest})" if left else ""
    return replace(_of_columns(block, shown), caption=f"{block.caption}{more}")


def _drawn(table: Table, width: int) -> RichTable:
    """A table that fits, its row headings folded where the columns need the room."""
    headings, longest = _headings(table)
    drawn = RichTable(box=None, pad_edge=False, padding=(0, 1))
    columns = [(h, _texts(table, n)) for n, h in enumerate(table.columns[1:], 1)]
    room = width - sum(_needed(head, texts) for head, texts in columns)
    names = min(longest, max(room, _NAMES))
    drawn.add_column(table.columns[0], overflow="fold", min_width=min(names, 12), max_width=names)
    for head, texts in columns:
        widest = _widest(texts)
        title, most = Text(head, overflow="fold"), max(widest, _HEAD)
        drawn.add_column(title, justify="right", min_width=widest, max_width=most)
    apart = False
    for number, row in enumerate(table.rows):
        if row.apart and not apart:
            apart = True
            if "control" in row.tags:
                drawn.add_row(Text("controls", style="italic"))
        name = Text(headings[number], style="bold" if row.style == "head" else "")
        drawn.add_row(name, *(texts[number] for _, texts in columns))
    return drawn


def cell_text(cell: Cell, *, intervals: bool) -> Text:
    """A cell on one line, its interval on a second one where that is asked for.

    Example:
        >>> from medldr.reporting.table import Estimate
        >>> found = Estimate(0.704, sd=0.015, low=0.658, high=0.745, n=2, planned=3)
        >>> print(cell_text(Cell(found, metric_facts("accuracy")), intervals=True))
        70.4 ±1.5 (2/3)
        65.8–74.5
    """
    number, held = printed(cell), cell.estimate
    if held is None:
        return Text(number.text)
    lines = [number.text + (f" ±{number.spread}" if number.spread else "")]
    if held.n is not None and held.planned and held.n < held.planned:
        lines[0] += f" ({held.n}/{held.planned})"
    if intervals:
        between, known = " to " if cell.signed else "–", cell.metric or metric_facts("")
        lines += [interval(held, known, signed=cell.signed, between=between)]
        lines += [] if held.noise is None else [noise(held.noise, known)]
    lines.append(cell.extra)
    return Text("\n".join(filter(None, lines)), style=_STYLES.get(number.style, ""))
