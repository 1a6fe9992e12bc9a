"""The fixed words of every page, kept in `templates/sections.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from medldr.errors import did_you_mean
from medldr.reporting.document import Block, Paragraph, Section
from medldr.reporting.table import Table

FILE: Final = Path(__file__).parent / "templates" / "sections.json"


@dataclass(frozen=True)
class Said:
    """The fixed words of a section; title, paragraphs and remark have places for values.

    Attributes:
        title: Its heading.
        short: Its name in the navigation.
        anchor: Its name in the page; empty: the name of the entry.
        text: Paragraphs above what it shows.
        remark: A closing remark in small print.
        folded: Whether a reader opens it.
    """

    title: str
    short: str
    anchor: str = ""
    text: Sequence[str] = ()
    remark: str = ""
    folded: bool = False


@cache
def _words() -> Mapping[str, Mapping[str, Any]]:
    """The file, checked: by kind or page, then by name.

    Raises:
        ValueError: If an entry is neither a text nor the words of a section.
    """
    found = json.loads(FILE.read_text(encoding="utf-8"))
    for kind, entries in found.items():
        for name, entry in entries.items():
            try:
                entries[name] = entry if isinstance(entry, str) else Said(**entry)
            except TypeError as error:
                raise ValueError(f"{FILE.name}: {kind}.{name}: {error}") from error
    checked: Mapping[str, Mapping[str, Any]] = found
    return checked


def _entry(kind: str, name: str) -> Any:
    known = _words()[kind]
    if name not in known:
        raise LookupError(f"{FILE.name} has no {kind}.{name}.{did_you_mean(name, known)}")
    return known[name]


def sentence(name: str, /, **given: object) -> str:
    """A sentence with the values it has a place for.

    Raises:
        LookupError: If the file lacks it, or it has a place for another value.

    Example:
        >>> sentence("no_test_split", split="validation")
        'No test split was evaluated: these are validation results.'
    """
    text: str = _entry("sentences", name)
    return text.format(**given)


def words(kind: str) -> Mapping[str, str]:
    """Words of one kind, such as how a run can end (``endings``), by key, in page order.

    Example:
        >>> words("endings")["failed"]
        'This run has failed'
    """
    return _words()[kind]


def said_of(page: str, name: str) -> Said:
    """The fixed words of a section of a page.

    Raises:
        LookupError: If the file lacks them.

    Example:
        >>> said_of("run", "domains").short
        'Domains'
    """
    said: Said = _entry(page, name)
    return said


def section(page: str, name: str, /, *blocks: Block | None, **given: object) -> Section | None:
    """A section: its fixed paragraphs, what it shows, and a closing remark.

    Args:
        page: ``run``, ``comparison``, ``sweep``, ``analysis``, ``data`` or ``prediction``.
        name: The section, whose anchor it is unless the file says otherwise.
        blocks: What it shows.
        given: Values of its title and paragraphs; a paragraph that is empty with them is left out.

    Returns:
        None where no block has content.

    Raises:
        LookupError: If the file lacks the section, or it has a place for another value.

    Example:
        >>> made = section("run", "domains", Paragraph("Numbers."), count=3)
        >>> made.title, len(made.blocks), section("run", "domains", None, count=0)
        ('Results in each of 3 domains', 2, None)
    """
    said = said_of(page, name)
    title = said.title.format(**given)
    made = Section(said.anchor or name, title, said.short, folded=said.folded)
    made.add(*blocks)
    if not made.blocks:
        return None
    first = [text.format(**given).strip() for text in said.text]
    made.blocks[:0] = [Paragraph(text) for text in first if text]
    made.add(Paragraph(said.remark.format(**given), "small"))
    signs = Table("", [])
    made.blocks = [b.lettered(signs) if isinstance(b, Table) else b for b in made.blocks]
    return made
