"""Items that a table lists more than once: alike, or with contradicting values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from medldr.datasets._table.places import Place
from medldr.datasets._table.rows import Rows


class Contradiction(NamedTuple):
    """Two rows of one item.

    Attributes:
        first: The earlier row.
        second: The later row.
        column: What they differ in.
    """

    first: int
    second: int
    column: str


class Repeats(NamedTuple):
    """Rows of items that an earlier row lists.

    Attributes:
        alike: Rows that say the same as the first of their item.
        contradictions: Rows that do not.
    """

    alike: list[int]
    contradictions: list[Contradiction]


def find_repeats(rows: Rows, places: Sequence[Place | None]) -> Repeats:
    """Compare all rows of an item with its first one.

    Two rows are of one item if their folder, whatever links lead there, name and part are equal,
    and so are the columns that select a part.

    Args:
        rows: The table.
        places: ``(N,)`` their files.
    """
    columns = _compared(rows)
    selecting = [rows.columns[name] for name in rows.select]
    real: dict[str, str] = {}
    first: dict[tuple[str, ...], int] = {}
    repeats = Repeats([], [])
    for row, place in enumerate(places):
        if place is None:
            continue
        folder, name = os.path.split(place.path)
        if folder not in real:
            real[folder] = os.path.realpath(folder)
        item = (real[folder], name, place.part, *(cells[row] for cells in selecting))
        earlier = first.setdefault(item, row)
        if earlier == row:
            continue
        differs = [name for name, cells in columns.items() if cells[row] != cells[earlier]]
        if differs:
            repeats.contradictions.append(Contradiction(earlier, row, differs[0]))
        else:
            repeats.alike.append(row)
    return repeats


def _compared(rows: Rows) -> dict[str, list[str]]:
    """Every column that says something of an item, by the name for it in messages."""
    named = {"domain": rows.domains, "group": rows.groups, "split": rows.splits, "id": rows.ids}
    return {
        **rows.labels,
        **{key: cells for key, cells in named.items() if cells is not None},
        **rows.columns,
    }


def values(rows: Rows, found: Contradiction) -> tuple[str, str]:
    """What the two rows say."""
    cells = _compared(rows)[found.column]
    return cells[found.first], cells[found.second]
