"""Checking metadata.csv of Camelyon17 before `wilds` reads it: a clear message for each fault."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medldr.datasets._camelyon17.counts import HOSPITALS
from medldr.errors import InputError

COLUMNS: Final = ("patient", "node", "x_coord", "y_coord", "tumor", "slide", "center", "split")

_ALLOWED: Final = {
    "patient": "digits, including leading zeros, as in 004",
    "node": "a whole number",
    "x_coord": "a whole number",
    "y_coord": "a whole number",
    "tumor": "0 or 1",
    "slide": "a whole number",
    "center": "0 to 4",
    "split": "0 or 1",
}
_VALUES: Final = {
    "tumor": {"0", "1"},
    "center": {str(hospital) for hospital in HOSPITALS},
    "split": {"0", "1"},
}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_EXAMPLES: Final = 3


def check_metadata(path: Path) -> int:
    """Look at every value of metadata.csv.

    Returns:
        How many patches it lists.

    Raises:
        InputError: If it cannot be read, lacks a column, has an invalid value, or lists a
            patch twice; says where, how often, and what is expected.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a CSV file: {error}. {_CURE}") from error
    if not rows:
        raise InputError(f"{path} is empty. {_CURE}")
    head, body = rows[0], [row for row in rows[1:] if row]
    missing = [name for name in COLUMNS if name not in head]
    if missing:
        raise InputError(
            f"{path} lacks the column{'s' if missing[1:] else ''} {', '.join(missing)}. It has "
            f"{', '.join(name or '(unnamed)' for name in head)}; expected: an unnamed column "
            f"that counts the rows, {', '.join(COLUMNS)}. {_CURE}"
        )
    if head[0] in COLUMNS:
        raise InputError(
            f"{path} starts with the column {head[0]}; an unnamed column that counts the rows "
            f"belongs before it. {_CURE}"
        )
    if not body:
        raise InputError(f"{path} has a header but no rows. {_CURE}")
    ragged = [line for line, row in enumerate(body) if len(row) != len(head)]
    if ragged:
        raise InputError(
            f"{path}: {len(ragged)} row(s) do not have the {len(head)} values of the header, for "
            f"example row {ragged[0]} with {len(body[ragged[0]])}. {_CURE}"
        )
    for name in COLUMNS:
        _check_column(path, name, [row[head.index(name)] for row in body])
    _check_unique(path, body, [head.index(name) for name in COLUMNS[:4]])
    return len(body)


_CURE = "Use the metadata.csv of the published archive"


def _check_column(path: Path, name: str, values: Sequence[str]) -> None:
    allowed = _VALUES.get(name)
    broken = [
        row
        for row, text in enumerate(values)
        if (text not in allowed if allowed else not _NUMBER.fullmatch(text))
    ]
    if broken:
        examples = ", ".join(f"{values[row]!r} (row {row})" for row in broken[:_EXAMPLES])
        raise InputError(
            f"{path}: column {name} holds {len(broken)} invalid value(s), for example "
            f"{examples}; expected: {_ALLOWED[name]}. {_CURE}"
        )


def _check_unique(path: Path, rows: Sequence[Sequence[str]], columns: Sequence[int]) -> None:
    first: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows):
        patch = tuple(row[column] for column in columns)
        known = first.setdefault(patch, number)
        if known != number:
            raise InputError(
                f"{path}: rows {known} and {number} list the same patch (patient {patch[0]}, node "
                f"{patch[1]}, x {patch[2]}, y {patch[3]}). {_CURE}"
            )
