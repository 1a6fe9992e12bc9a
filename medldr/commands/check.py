"""What `medldr data check` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from medldr.checking.data_check import DataCheck
from medldr.console import say
from medldr.data.counting import counted
from medldr.reporting.writers.terminal import console

_SHOWN: Final = 3  # divisions, and notes


def print_check(checked: DataCheck) -> None:
    """The verdict, the table of images and notes, in 25 lines; all of them without a page."""
    from medldr.reporting.document import Bullets, Section
    from medldr.reporting.pages.data_check import overview
    from medldr.reporting.writers.terminal import LINES, print_document

    out, found, controls, page = console(), checked.inspection, checked.controls, checked.page
    used = [
        f"images a run would use{to}: {', '.join(f'{s} {len(r):,}' for s, r in rows.items())}"
        for to, rows in found.plans.items()
    ]
    notes = [f"note {text}" for text in found.notes]
    if unused := found.table.unused:
        files = counted(len(unused), "file", "files")
        notes.insert(0, f"{files} not referred to by any row, such as {unused[0]}")
    lines = [*used, *notes] if page is None else [*_first(used), *_first(notes)]
    shown = overview(found, controls) if page else overview(found, controls, most=None)
    further = Section("notes", "", "", [Bullets(lines)])
    print_document(
        replace(shown, sections=[*shown.sections, further]),
        out,
        lines=None if page is None else LINES - 1,
    )
    if page is not None:
        say(f"page: {page}", out)


def _first(texts: Sequence[str]) -> list[str]:
    left = len(texts) - _SHOWN
    return [*texts[:_SHOWN], *([f"and {left:,} more on the page"] if left > 0 else [])]
