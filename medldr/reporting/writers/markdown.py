"""A document as Markdown that GitHub, GitLab and editors show alike."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.foreign_text import escape
from medldr.reporting.document import (
    Block,
    Bullets,
    Document,
    Figures,
    Footnotes,
    Heading,
    Pairs,
    Paragraph,
)
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.cells import printed

_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}


def markdown_table(table: Table) -> str:
    """A table with its caption, footnotes and notes."""
    left = {0, *table.texts}
    ruler = [":--" if number in left else "--:" for number in range(len(table.columns))]
    lines = [f"**{escape(table.caption)}**", ""]
    lines += [_line([escape(text) for text in table.columns]), _line(ruler)]
    lines += [_line([_heading(row), *map(_cell, row.cells)]) for row in table.rows]
    return "\n\n".join(filter(None, ["\n".join(lines), _below(table)]))


def _below(said: Table | Footnotes) -> str:
    signed = "\n".join(f"<sup>{sign}</sup> {escape(text)}  " for sign, text in said.footnotes)
    return "\n\n".join(filter(None, [signed, *map(escape, said.notes)]))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heading(row: Row) -> str:
    tags = [tag for tag in row.tags if f"({tag})" not in row.heading]
    text = escape(row.heading) + (f" ({', '.join(tags)})" if tags else "")
    return text + (f"<sup>{row.mark}</sup>" if row.mark else "")


def _cell(cell: Cell) -> str:
    number = printed(cell)
    text = _MARKS.get(number.style, "{}").format(escape(number.text))
    text += f"<sup>{cell.mark}</sup>" if cell.mark else ""
    return "<br>".join([text, *(escape(p) for p in (number.detail, number.extra) if p)])


def markdown_page(document: Document) -> str:
    """The whole document; figures are on the page alone."""
    parts = [f"# {escape(document.title)}", escape(document.subtitle) + "."]
    if (found := document.verdict) is not None:
        parts += [f"**{escape(found.headline)}** {escape(found.text)}"]
        parts += map(escape, found.more)
    parts += [f"> **{escape(banner.text)}**" for banner in document.banners]
    drawn = False
    for section in document.sections:
        if all(isinstance(block, Figures) for block in section.blocks):
            drawn = True
        else:
            parts += [f"## {escape(section.title)}", *map(_block, section.page)]
    if drawn:
        parts.append("Learning curves and plots of the differences are in `report.html`.")
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(block: Block) -> str:
    """A block as Markdown; empty for what only a page can show."""
    if isinstance(block, Table):
        return markdown_table(block)
    if isinstance(block, Footnotes):
        return _below(block)
    if isinstance(block, Paragraph):
        return escape(block.text)
    if isinstance(block, Heading):
        return f"### {escape(block.text)}"
    if isinstance(block, Bullets):
        return "\n".join(f"- {escape(item)}" for item in block.items)
    if isinstance(block, Pairs):
        return "\n".join(f"- **{escape(name)}**: {escape(text)}" for name, text in block.items)
    return ""
