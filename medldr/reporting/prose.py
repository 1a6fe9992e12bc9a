"""The fixed words of every page, kept in `templates/sections.json`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from medldr.reporting.document import Block, Paragraph, Section


@cache
def _words() -> dict[str, Any]:
    path = Path(__file__).parent / "templates" / "sections.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def sentence(name: str, /, **given: object) -> str:
    """A sentence with the values it has a place for.

    Example:
        >>> sentence("no_test_split", split="validation")
        'No test split was scored: these are validation results.'
    """
    return str(_words()["sentences"][name]).format(**given)


def section(page: str, name: str, /, *blocks: Block | None, **given: object) -> Section | None:
    """A section: its fixed paragraphs, what it shows, and a closing remark.

    Args:
        page: ``run``, ``comparison`` or ``sweep``.
        name: The section, whose anchor it is unless the file says otherwise.
        blocks: What it shows.
        given: Values of its paragraphs; a paragraph that is empty with them is left out.

    Returns:
        None where no block has content.

    Example:
        >>> made = section("run", "domains", Paragraph("Numbers."), worst="")
        >>> made.title, len(made.blocks), section("run", "domains", None, worst="")
        ('Results by domain', 2, None)
    """
    words = _words()[page][name]
    shown = Section(words.get("anchor", name), words["title"], words["short"])
    shown.add(*blocks)
    if not shown.blocks:
        return None
    made = Section(shown.anchor, shown.title, shown.short)
    made.add(*(Paragraph(text.format(**given).strip()) for text in words.get("text", ())))
    made.add(*shown.blocks, Paragraph(words.get("remark", "").format(**given), "small"))
    return made
