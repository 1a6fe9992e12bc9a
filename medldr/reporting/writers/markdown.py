"""Tables and sections as Markdown that GitHub, GitLab and editors show alike."""

from __future__ import annotations

import re
from collections.abc import Sequence

from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.pages.sweep import SweepContent
from medldr.reporting.sections.sweep import Section

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}


def escape(text: str) -> str:
    r"""A text that Markdown prints as it is, on one line.

    Example:
        >>> print(escape("batch_size <4>|5"))
        batch\_size \<4\>\|5
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown_table(table: Table) -> str:
    """A table with its caption, footnotes and notes."""
    count = len(table.columns)
    left = {0, *table.texts}
    ruler = [":--" if number in left else "--:" for number in range(count)]
    lines = [f"**{escape(table.caption)}**", "", _line([escape(text) for text in table.columns])]
    lines.append(_line(ruler))
    lines += [_line([_heading(row), *map(_cell, row.cells)]) for row in table.rows]
    if table.footnotes:
        lines += ["", *(f"<sup>{sign}</sup> {escape(text)}  " for sign, text in table.footnotes)]
    for note in table.notes:
        lines += ["", escape(note)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heading(row: Row) -> str:
    tags = [tag for tag in row.tags if f"({tag})" not in row.heading]
    text = escape(row.heading) + (f" ({', '.join(tags)})" if tags else "")
    return text + (f"<sup>{row.mark}</sup>" if row.mark else "")


def _cell(cell: Cell) -> str:
    text = _MARKS.get(cell.style, "{}").format(escape(cell.text))
    text += f"<sup>{cell.mark}</sup>" if cell.mark else ""
    return "<br>".join([text, *(escape(part) for part in (cell.detail, cell.extra) if part)])


def markdown_page(content: SweepContent) -> str:
    """The whole report; figures are on the page alone."""
    parts = [f"# {escape(content.title)}", escape(content.subtitle) + "."]
    parts += [f"> **{escape(text)}**" for _, text in content.banners]
    parts += [_section(section) for section in content.sections if section.anchor != "curves"]
    if content.section("curves") is not None:
        parts.append("Learning curves and figures of the differences are in `report.html`.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> str:
    parts = [f"## {escape(section.title)}"]
    if section.leads:
        parts.append("\n".join(f"- {escape(lead)}" for lead in section.leads))
    parts += [escape(text) for text in section.texts]
    parts += [markdown_table(table) for table in section.tables]
    parts += [escape(section.small)] if section.small else []
    if section.glossary:
        terms = (f"- **{escape(name)}**: {escape(text)}" for name, text in section.glossary)
        parts.append("\n".join(terms))
    return "\n\n".join(parts)
