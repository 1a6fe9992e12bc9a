"""Tables that users bring: every cell is text exactly as written.

``007``, ``NA``, ``None`` and ``nan`` are values; only an empty or blank cell is a missing one. A
reader that guesses types makes numbers of ids and gaps of names, and does so for the whole column
once a single cell looks different.

Source:
    Our choice: blanks around a cell or a name are taken away, also those that cannot be seen
    (no-break and zero-width blanks, marks of writing direction), because programs add them on
    copying. CSV itself keeps them (RFC 4180, section 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medldr.data.sheets_records import read_json_lines, read_parquet
from medldr.data.sheets_text import Line, decode, read_delimited
from medldr.errors import InputError

__all__ = ["Sheet", "read_sheet"]

_BLANKS: Final = "".join(map(chr, (*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680))) + (
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f"
    "\u3000\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
)
_JSON_LINES: Final = (".jsonl", ".ndjson")
_PARQUET: Final = (".parquet", ".pq")
_EXCEL: Final = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_SAVE_AS: Final = "Save it as 'CSV UTF-8' and name that file"
_LISTED: Final = 5


@dataclass(frozen=True)
class Sheet:
    """A table of text.

    Attributes:
        path: Its file.
        names: Of its columns, each once.
        rows: A cell for each column; empty where it is missing.
        lines: Where each row begins: the line of its file, or the number of the row from 1.
        unit: What `lines` counts, ``line`` or ``row``.
        notes: What was done to the text.
    """

    path: Path
    names: tuple[str, ...]
    rows: list[tuple[str, ...]]
    lines: list[int]
    unit: str = "line"
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[str]:
        """The cells of a column, one for each row."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def at(self, row: int) -> str:
        """Where a row is in the file, for messages."""
        return f"{self.unit} {self.lines[row]}"


def read_sheet(path: Path, key: str = "") -> Sheet:
    """Read a table: CSV, TSV or semicolons, JSON lines (``.jsonl``), or Parquet.

    Args:
        path: The file. A delimited one is separated by what separates the names in its first line
            and is in UTF-8, with or without a byte-order mark, or in UTF-16 with one.
        key: The configuration key that names it, for messages.

    Raises:
        InputError: If it cannot be read, holds no rows, or a row has more or fewer cells than there
            are columns; names the line and the cure.
    """
    path = path.expanduser()
    where = f"{key}: {path}" if key else str(path)
    ending = path.suffix.lower()
    if ending in _EXCEL:
        raise InputError(f"{where} is a spreadsheet with formats, not plain text. {_SAVE_AS}")
    if ending == ".json":
        raise InputError(
            f"{where}: JSON of any shape is not a table. {_SAVE_AS}, or write one object per line "
            "into a .jsonl file"
        )
    if ending in _PARQUET:
        return _sheet(path, where, read_parquet(path, where), "row")
    text = decode(path, where)
    if ending in _JSON_LINES:
        return _sheet(path, where, read_json_lines(text, where), "line")
    lines, separator = read_delimited(text, where)
    return _sheet(path, where, lines, "line", separator)


def trim(text: str) -> str:
    r"""A text without the blanks around it, seen or unseen.

    Example:
        >>> trim("\u00a0p1.png \u200b")
        'p1.png'
    """
    return text.strip(_BLANKS)


def _sheet(path: Path, where: str, lines: list[Line], unit: str, separator: str = "comma") -> Sheet:
    if not lines:
        raise InputError(f"{where} is empty. Its first line should name its columns: id,sex,age")
    names = tuple(map(trim, lines[0].cells))
    _check_names(where, names, separator)
    body = [line for line in lines[1:] if any(map(trim, line.cells))]
    if not body:
        raise InputError(f"{where} names its columns ({', '.join(names)}), but has no rows")
    _check_lengths(where, names, body, unit, separator)
    trimmed = 0
    rows = []
    for line in body:
        row = tuple(map(trim, line.cells))
        trimmed += sum(map(str.__ne__, row, line.cells))
        rows.append(row)
    cells = "1 cell" if trimmed == 1 else f"{trimmed:,} cells"
    notes = (f"blanks around {cells} of {path.name} are left out",) if trimmed else ()
    return Sheet(path, names, rows, [line.number for line in body], unit, notes)


def _check_names(where: str, names: Sequence[str], separator: str) -> None:
    listed = ", ".join(name or "(no name)" for name in names)
    if not all(names):
        place = names.index("") + 1
        cure = (
            "pandas writes one for its index: use to_csv(..., index=False)"
            if place == 1
            else f"A {separator} at the end of a line makes one"
        )
        raise InputError(
            f"{where}: column {place} of {len(names)} has no name ({listed}). Name or remove it. "
            f"{cure}"
        )
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(
            f"{where}: the column {twice[0]!r} appears twice ({listed}). Rename one in the first "
            "line"
        )


def _check_lengths(
    where: str, names: Sequence[str], body: Sequence[Line], unit: str, separator: str
) -> None:
    ragged = [line for line in body if len(line.cells) != len(names)]
    if not ragged:
        return
    first, more = ragged[0], ragged[1 : 1 + _LISTED]
    also = ""
    if more:
        dots = ", ..." if len(ragged) > 1 + len(more) else ""
        also = (
            f" ({len(ragged):,} {unit}s in all, also "
            f"{', '.join(str(line.number) for line in more)}{dots})"
        )
    raise InputError(
        f"{where}, {unit} {first.number}: {len(first.cells)} values, but the header has "
        f"{len(names)} columns{also}. Write one value per column; put a value with a {separator} "
        "in quotes"
    )
