"""The fixed words of every page, kept in `templates/sections.json`, and sections made of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from medldr.errors import did_you_mean
from medldr.reporting.document import Block, Bullets, Paragraph, Section, Verdict
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


logger = logging.getLogger("medldr.reporting")

STRICT = False
"""Whether an error in a section is raised, as the tests of medldr want it."""

T = TypeVar("T")
Parts: TypeAlias = Iterable[tuple[str, Callable[[], Section | None]]]


def assemble(page: str, parts: Parts) -> list[Section]:
    """Make the sections of a page, from top to bottom.

    A section that cannot be made is replaced by a sentence that says so and why; its traceback goes
    to the log. That holds for what happens while its function runs, so a page hands over functions
    and computes nothing else between them::

        sections = assemble("run", [
            ("result", lambda: result(files)),
            ("domains", lambda: domains(scored)),
        ])

    Args:
        page: Part of `sections.json`, such as ``run``.
        parts: Name of each section in that part, and what makes it; None is a section that has
            nothing to show.

    Returns:
        What could be made, and a sentence for each that could not.

    Example:
        >>> from medldr.reporting.document import Paragraph
        >>> domains = Section("domains", "Domains", "Domains", [Paragraph("Two of them.")])
        >>> made = assemble("run", [("curves", lambda: None), ("domains", lambda: domains)])
        >>> [section.title for section in made]
        ['Domains']
    """
    made = (_made(page, name, make) for name, make in parts)
    return [section for section in made if section is not None]


def _made(page: str, name: str, make: Callable[[], Section | None]) -> Section | None:
    said = said_of(page, name)

    def failed(reason: str) -> Section:
        text = Bullets([f"This section could not be made: {reason}"], "warnings")
        return Section(said.anchor or name, said.short, said.short, [text])

    return _guarded(f"the section {said.short!r}", make, failed)


def answered(make: Callable[[], Verdict]) -> Verdict:
    """The verdict of a page; one that cannot be made costs no page, and says why."""
    return _guarded(
        "the verdict", make, lambda why: Verdict("not made", f"The answer could not be made: {why}")
    )


def _guarded(what: str, make: Callable[[], T], failed: Callable[[str], T]) -> T:
    try:
        return make()
    except Exception as error:  # a page without a part is better than no page
        if STRICT:
            raise
        logger.warning("%s of a page could not be made", what, exc_info=True)
        return failed(f"{type(error).__name__}: {error}".strip().rstrip(":"))
