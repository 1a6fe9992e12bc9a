"""As much of a document as fits into so many lines of a terminal.

The verdict stays. What a reader misses least goes first: footnotes, rows of controls and oracles,
rows of methods that the verdict does not name. A last line says how much is left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from textwrap import shorten

from medldr.data.counting import counted
from medldr.reporting.document import Block, Bullets, Document, Paragraph, Section
from medldr.reporting.table import CHANCE, Row, Table

MOST_SAID = 3
"""Sentences that stand beside a verdict."""
_FEWEST = 3
"""Rows that stay until all further sentences have gone."""
_NAMED = 2
"""Rank of a row that the verdict speaks of."""


def fitted(
    document: Document, lines: int, height: Callable[[Document], int], rest: str
) -> Document:
    """A document of at most so many lines.

    Args:
        document: Its tables are no wider than a line.
        lines: How many lines it may take.
        height: How many lines a document takes.
        rest: Where that can be read which does not fit, such as ``on the page``.
    """
    whole = _with(document, [part for block in _blocks(document) for part in _parts(block)])

    def shown(less: Document, rows: int) -> Document:
        """With tables of at most so many rows, and how much is left out."""
        blocks = [_of_rows(block, rows, whole) for block in _blocks(less)]
        return _counted(_with(less, [b for b in blocks if b is not None]), whole, rest)

    def first(tries: Sequence[Document]) -> int:
        """The first that fits, each being shorter than the one before; else the last."""
        place = bisect_left(tries, True, key=lambda page: height(page) <= lines)
        return min(place, len(tries) - 1)

    most = _with(whole, [b for b in (_of_rows(b, lines, whole) for b in _blocks(whole)) if b])
    if (verdict := whole.verdict) is not None:
        most = replace(most, verdict=replace(verdict, more=verdict.more[:MOST_SAID]))
    if height(found := shown(most, lines)) <= lines:
        return found
    tables = [block for block in _blocks(most) if isinstance(block, Table)]
    named = [sum(_rank(row, whole) == _NAMED for row in table.rows) for table in tables]
    levels = list(_shorter(most))
    level = levels[first([shown(less, max([_FEWEST, *named])) for less in levels])]
    tries = [shown(level, rows) for rows in range(lines, -1, -1)]
    return _cut(tries[first(tries)], lines, height)


def _blocks(document: Document) -> Sequence[Block]:
    return [block for section in document.sections for block in section.blocks]


def _with(document: Document, blocks: Sequence[Block]) -> Document:
    return replace(document, sections=[Section("", "", "", [*blocks])])


def _parts(block: Block) -> Sequence[Block]:
    """Sentences one by one."""
    if not isinstance(block, Bullets):
        return [block]
    return [replace(block, items=[item]) for item in block.items]


def _rank(row: Row, document: Document) -> int:
    """How much a row is missed: the reference and guessing are what all others are seen beside."""
    if {"control", "oracle"}.intersection(row.tags) or row.style == "missing":
        return 0
    named = document.verdict is not None and row.heading in document.verdict.text
    return _NAMED if named or row.style in ("head", "reference", CHANCE) else 1


def _of_rows(block: Block, most: int, document: Document) -> Block | None:
    """A table of at most so many rows, those of the highest ranks; other blocks as they are."""
    if not isinstance(block, Table) or len(block.rows) <= most:
        return block
    order = sorted(range(len(block.rows)), key=lambda n: (-_rank(block.rows[n], document), n))
    rows = [block.rows[n] for n in sorted(order[:most])]
    return replace(block, rows=rows) if rows else None


def _shorter(document: Document) -> Iterator[Document]:
    """Without footnotes, then without one sentence after the other, warnings last."""
    document = _with(document, [b.bare() if isinstance(b, Table) else b for b in _blocks(document)])
    yield document
    for text in reversed([block for block in _blocks(document) if not isinstance(block, Table)]):
        document = _with(document, [block for block in _blocks(document) if block is not text])
        yield document
    while (verdict := document.verdict) is not None and verdict.more:
        document = replace(document, verdict=replace(verdict, more=verdict.more[:-1]))
        yield document
    while document.banners:
        document = replace(document, banners=document.banners[:-1])
        yield document


def _cut(document: Document, lines: int, height: Callable[[Document], int]) -> Document:
    """A document that fits, the text of its verdict cut at a word where that alone is too long."""
    while (verdict := document.verdict) and height(document) > lines and len(verdict.text) > 1:
        text = shorten(verdict.text, 9 * len(verdict.text) // 10, placeholder=" …").strip()
        document = replace(document, verdict=replace(verdict, text=text))
    return document


def _counted(shown: Document, whole: Document, rest: str) -> Document:
    """With a last line that says how many rows and sentences are left out."""
    rows, said = (all_ - left for all_, left in zip(_sizes(whole), _sizes(shown), strict=True))
    parts = [counted(rows, "more row", "more rows")] if rows else []
    parts += [counted(said, "more sentence", "more sentences")] if said else []
    if not parts:
        return shown
    return _with(shown, [*_blocks(shown), Paragraph(f"and {' and '.join(parts)} {rest}")])


def _sizes(document: Document) -> tuple[int, int]:
    """Rows, and sentences beside them."""
    blocks, verdict = _blocks(document), document.verdict
    rows = [len(block.rows) for block in blocks if isinstance(block, Table)]
    texts = sum(not isinstance(block, Table) for block in blocks)
    further = 0 if verdict is None else len(verdict.more)
    return sum(rows), texts + further + len(document.banners)
