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
        'No test split was evaluated: these are validation results.'
    """
    return words("sentences")[name].format(**given)


def words(kind: str) -> dict[str, str]:
    """Words of one kind, such as the terms of `run.json` (``terms``), by key, in page order.

    Example:
        >>> words("terms")["starts"]
        'times started'
    """
    found: dict[str, str] = _words()[kind]
    return found


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
    said = _words()[page][name]
    folded = said.get("folded", False)
    made = Section(said.get("anchor", name), said["title"], said["short"], folded=folded)
    made.add(*blocks)
    if not made.blocks:
        return None
    first = [text.format(**given).strip() for text in said.get("text", ())]
    made.blocks[:0] = [Paragraph(text) for text in first if text]
    made.add(Paragraph(said.get("remark", "").format(**given), "small"))
    return made
