"""Runs without a result: each cause is reported once, however many runs it stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from medldr.reporting.document import Bullets, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import STATES, Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.rows import count
from medldr.reporting.table import DASH, Cell, Row, Table

MOST_CAUSES = 2
"""Of more causes a terminal has the hint alone: the verdict has their numbers."""
SHOWN = 3
"""Names of runs that a row of the table gives."""

_END = re.compile(r"(?<=[.!?])\s")


def missing_runs(study: Study, columns: Sequence[Column]) -> Section | None:
    """Runs without a result, and columns that could not be compared."""
    apart = [f"{column.name} is left out: {column.problem}" for column in columns if column.problem]
    return section("sweep", "missing", Bullets(apart), missing_table(study))


def missing_text(counts: Mapping[str, int]) -> str:
    """Why runs of a cell have no result, in words; empty where all have one.

    Example:
        >>> missing_text({"not run": 1, "failed": 2}), missing_text({"failed": 2})
        ('2 failed, 1 not run', 'failed')
    """
    there = [state for state in STATES if counts.get(state)]
    if len(there) == 1:
        return there[0]
    return ", ".join(f"{counts[state]} {state}" for state in there)


def missing_table(study: Study) -> Table | None:
    """Causes and their runs, without any name of a patient; None where every run has a result."""
    table = Table("By cause", ["Runs", "State", "Reason", "Names"], texts=(1, 2, 3))
    for (state, error), entries in _groups(study, lambda entry: entry.error).items():
        names = [entry.member.run for entry in entries]
        cells = [Cell(state, style="missing"), Cell(error or DASH, style="wide")]
        table.rows.append(Row(count(len(names), "run"), [*cells, Cell(_some(names), style="wide")]))
    if any(entry.run is None and entry.error for entry in study.every):
        table.notes.append(sentence("hidden_names"))
    return table if table.rows else None


def missing_lines(study: Study, folder: str = "") -> list[str]:
    """The same for the terminal of whoever ran it: one or two causes in their own words.

    Args:
        study: The sweep.
        folder: The sweep's folder, which the hint at the whole list names; no hint if empty.
    """
    causes = _groups(study, lambda entry: first_sentence(entry.said))
    lines, cut = list[str](), len(causes) > MOST_CAUSES
    for (state, said), entries in ({} if cut else causes).items():
        names = [entry.member.run for entry in entries]
        why = f": {said}" if said else ""
        if len(names) == 1:
            lines.append(f"{state}: {names[0]}{why}")
        else:
            lines.append(f"{len(names)} {state}{why}; {names[0]} and {len(names) - 1} more")
        cut = cut or len(names) > 1 or any(said != entry.said for entry in entries)
    return [f"`medldr sweep status {folder}` lists all runs", *lines] if cut and folder else lines


def first_sentence(text: str) -> str:
    """The first sentence of a text, on one line and without its full stop.

    Example:
        >>> first_sentence("InputError: octmnist.npz is not in /data. Set data.root")
        'InputError: octmnist.npz is not in /data'
    """
    return _END.split(" ".join(text.split()), maxsplit=1)[0].removesuffix(".")


def _groups(study: Study, text: Callable[[Entry], str]) -> dict[tuple[str, str], list[Entry]]:
    """Entries without a result by state and cause, in the order of the sweep."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in study.every:
        if entry.run is None:
            found.setdefault((entry.state, text(entry)), []).append(entry)
    return found


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
