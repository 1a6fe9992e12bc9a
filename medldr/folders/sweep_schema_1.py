"""Sweeps that an earlier version recorded, in schema 1 of `sweep.json`.

In that schema the values of a row were joined into one text, and `Layout.search` held the positions
of the settings among them. This is the only place that splits such a text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from medldr.folders.records import Record, check_record
from medldr.folders.table_names import JOINT, RUN

SETTING: Final = "setting"
"""Name, with a number, of an axis of settings, which such a file does not name."""


class _Layout(Record):
    rows: str
    columns: str
    search: tuple[int, ...] = ()


class _Member(Record):
    row: str
    column: str


class _Sweep(Record):
    layout: _Layout
    members: tuple[_Member, ...]


def from_schema_1(content: dict[str, Any], path: Path, cure: str) -> dict[str, Any]:
    """The content of a file of schema 1, converted to schema 2.

    Args:
        content: What the file holds.
        path: Its name, for the message.
        cure: What to do if it is damaged.

    Raises:
        InputError: If parts that differ between the schemas are damaged; only these are checked.
    """
    layout = check_record(content, path, _Sweep, cure).layout
    members = [
        {
            **member,
            "row_values": named_values(member["row"], layout.rows, layout.search),
            "column_values": named_values(member["column"], layout.columns),
        }
        for member in content["members"]
    ]
    search = [f"{SETTING} {n}" for n in range(1, len(layout.search) + 1)]
    return {
        **content,
        "schema": 2,
        "layout": {**content["layout"], "search": search},
        "members": members,
    }


def named_values(text: str, heading: str, search: Collection[int] = ()) -> dict[str, str]:
    """The values that a row or column was named by.

    Args:
        text: Its name.
        heading: The file's heading for such names; it does not mention settings.
        search: Positions of the settings in the name.

    Example:
        >>> named_values("erm, lr-0.1, photo", "algorithm, held_out", [1])
        {'algorithm': 'erm', 'setting 1': 'lr-0.1', 'held_out': 'photo'}
        >>> named_values("erm, lr-0.1, photo", "algorithm, held_out")
        {'run': 'erm, lr-0.1, photo'}
        >>> named_values("octmnist, 224 pixels", "data")
        {'data': 'octmnist, 224 pixels'}
    """
    words = heading.split(JOINT)
    parts = text.split(JOINT)
    if not search:
        # A value may contain the joint; several values may share one heading.
        if len(words) == 1:
            return {words[0]: text}
        parts = parts if len(parts) == len(words) else [text]
    kept = sum(number not in search for number in range(len(parts)))
    names = iter(_axes(words, kept))
    settings = iter(f"{SETTING} {n}" for n in range(1, len(parts) + 1))
    return {
        next(settings if number in search else names): part for number, part in enumerate(parts)
    }


def _axes(words: Sequence[str], count: int) -> list[str]:
    """A name for each value that is not a setting: its heading, if each has one."""
    if len(words) == count:
        return _unlike(words)
    return [RUN] if count == 1 else [f"{RUN} {n}" for n in range(1, count + 1)]


def _unlike(words: Sequence[str]) -> list[str]:
    """The same words; repeated ones are numbered.

    Example:
        >>> _unlike(["name", "seed", "name"])
        ['name', 'seed', 'name 2']
    """
    found: list[str] = []
    for word in words:
        times = sum(one == word or one.startswith(f"{word} ") for one in found)
        found.append(word if not times else f"{word} {times + 1}")
    return found
