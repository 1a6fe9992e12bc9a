"""A document on the terminal, readable at 80 columns: tables, cut where they are too wide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Bullets, Document, Heading, Pairs, Paragraph
from medldr.reporting.table import CHANCE, Cell, Table, interval
from medldr.reporting.writers.cells import noise, printed

WIDTH = 80
_NAMES = 22
"""Widest column of row headings in a table that has to be cut; longer ones fold."""
_HEAD = 14
"""Widest heading that makes a column wider; longer ones fold."""
_FEWEST = 3
"""Rows that a table keeps, however few lines there are."""
_FOLDED = 14
"""Narrowest column of row headings in which a longer one folds."""
_STYLES = {"best": "bold", "second": "underline"}
_COLOURS = {"remark": "bold", "warning": "red", "oracle": "bold red"}
_TONES = {"good": "bold green", "bad": "bold red", "open": "bold"}


def console() -> Console:
    """Standard output; a wide terminal is not filled, a pipe counts as 80 columns."""
    out = Console(highlight=False)
    return Console(highlight=False, width=min(out.width, 110) if out.is_terminal else WIDTH)


def print_document(document: Document, out: Console, *, lines: int | None = None) -> None:
    """Print a document; figures and folded texts are left to the page.

    Args:
        document: What to print.
        out: Where.
        lines: How many lines it may take, else the last rows of its longest table go; None: any.
    """
    if lines is not None:
        document = _fitting(document, out, lines)
    out.print(terminal_document(document, out.width))


def _fitting(document: Document, out: Console, lines: int) -> Document:
    """A document without the last rows of its longest table, which then says how many they were."""
    tables = [table for section in document.sections for table in section.tables]
    if not tables:
        return document
    longest = max(tables, key=lambda table: len(table.rows))
    count = len(longest.rows)

    def cut(left: int) -> Document:
        notes = [*longest.notes, *([f"and {count - left:,} more rows"] if left < count else [])]
        shorter = replace(longest, rows=longest.rows[:left], notes=notes)
        sections = [
            replace(part, blocks=[shorter if block is longest else block for block in part.blocks])
            for part in document.sections
        ]
        return replace(document, sections=sections)

    most = cut(min(count, lines))  # thousands of rows take long to render
    surplus = len(out.render_lines(terminal_document(most, out.width))) - lines
    return most if surplus <= 0 else cut(max(_FEWEST, min(count, lines) - surplus))


def terminal_document(document: Document, width: int = WIDTH) -> Group:
    """A document as rich prints it.

    Args:
        document: What to print.
        width: Characters of a line.
    """
    title = ": ".join(filter(None, (document.title, document.subtitle)))
    parts: list[RenderableType] = [Text(title, style="bold")] if title else []
    if (found := document.verdict) is not None:
        parts.append(Text.assemble((found.headline, _TONES[found.tone]), f" {found.text}"))
        parts += map(Text, found.more)
    parts += [Text(b.text, style=_COLOURS[b.kind]) for b in document.banners]
    for section in document.sections:
        for block in section.blocks:
            parts += _block(block, width)
    return Group(*parts)


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    if isinstance(block, Table):
        yield from _parts(block, width)
        yield from (Text(f"{sign} {text}") for sign, text in block.footnotes)
        yield from map(Text, block.notes)
    elif isinstance(block, Paragraph | Heading):
        yield Text(block.text, style="bold" if isinstance(block, Heading) else "")
    elif isinstance(block, Bullets):
        yield from (Text(i, style="red" if block.style == "warnings" else "") for i in block.items)
    elif isinstance(block, Pairs):
        yield from (Text(f"{name}: {text}") for name, text in block.items)


def _parts(table: Table, width: int) -> Iterator[RenderableType]:
    """As many tables as it takes, each as wide as fits, without columns that are all dashes."""
    headings = [f"{row.heading} {row.mark}".rstrip() for row in table.rows]
    # The row of chance level folds, so that its long heading does not cut the table.
    own = [len(head) for head, row in zip(headings, table.rows, strict=True) if row.style != CHANCE]
    folded = _FOLDED if len(own) < len(headings) else 0
    longest = max([len(table.columns[0]), folded, *own])
    room = start = width - min(_NAMES, longest)
    parts: list[tuple[int, list[tuple[str, list[Text]]]]] = []
    shown: list[tuple[str, list[Text]]] = []
    for number, head in enumerate(table.columns[1:]):
        cells = [row.cells[number] for row in table.rows]
        if all(cell.empty for cell in cells):
            continue
        texts = [cell_text(cell, intervals=table.intervals) for cell in cells]
        needed = 2 + max([min(len(head), _HEAD), *map(_wide, texts)])
        if shown and needed > room:
            parts.append((room, shown))
            room, shown = start, []
        shown.append((head, texts))
        room -= needed
    for left, columns in (*parts, (room, shown)):
        names = min(longest, width - start + max(left, 0))
        yield Text(f"\n{table.caption}", style="bold")
        yield _part(table, headings, columns, names)


def _wide(text: Text) -> int:
    return max((len(line) for line in text.plain.splitlines()), default=0)


def _part(
    table: Table, headings: list[str], columns: list[tuple[str, list[Text]]], names: int
) -> RichTable:
    """Some columns of a table, its row headings folded where they are longer than `names`."""
    drawn = RichTable(box=None, pad_edge=False, padding=(0, 1))
    drawn.add_column(table.columns[0], overflow="fold", min_width=min(names, 12), max_width=names)
    for head, texts in columns:
        widest = max(map(_wide, texts), default=0)
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
