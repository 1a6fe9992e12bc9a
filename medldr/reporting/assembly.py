"""The verdict and the sections of a page, each made by itself: one that fails costs no other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from medldr.reporting.document import Bullets, Section, Verdict
from medldr.reporting.prose import said_of

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
