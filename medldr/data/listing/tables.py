"""Tables that users bring: every cell is text exactly as written.

``007``, ``NA``, ``None`` and ``nan`` are values; only an empty or blank cell is a missing one. A
reader that guesses types makes numbers of ids and gaps of names, and does so for the whole column
once a single cell looks different.

Source:
    Our choice: blanks around a cell or a name are taken away, also those that cannot be seen
    (no-break and zero-width blanks, marks of writing direction), because programs add them on
    copying. CSV itself keeps them (RFC 4180, section 2.4).

    No encoding is guessed. Every byte is a letter in Latin-1 and its relatives, so a wrong guess
    gives wrong names without an error. Quotes are those of RFC 4180, read strictly. A first line
    ``sep=;``, with which Excel notes what separates cells, is obeyed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from medldr.data.counting import counted, some
from medldr.data.listing.kinds import EXCEL, JSON_LINES, PARQUET
from medldr.data.listing.typed_tables import Line, read_json_lines, read_parquet
from medldr.errors import InputError, did_you_mean
from medldr.folders.files import reading

_BLANKS: Final = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + (
    "\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
)
_OTHERS: Final = (".xls", ".xlsb", ".ods", ".numbers")
_SAVE_AS: Final = "Save it as .xlsx or as 'CSV UTF-8' and name that file"
_IN_UTF8: Final = (
    "Save the table in UTF-8: in Excel as 'CSV UTF-8', in LibreOffice with the character set UTF-8"
)
_BINARY: Final = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; unpack an archive and name its folder, and "
    "let the name of a workbook end in .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"\x1f\x8b": "compressed (gzip); unpack it first",
}
_MOST_COLUMNS: Final = 16_384  # as in Excel
_SEPARATORS: Final = {"\t": "tab", ";": "semicolon", ",": "comma"}
_OF_BOOK: Final = re.compile(rf"(.+?(?:{'|'.join(map(re.escape, EXCEL))}))#(.+)", re.IGNORECASE)
_JOINED: Final = re.compile(r"\{([^{}]+)\}")
_NOTED_SEPARATOR: Final = re.compile(r'"?sep=([^"\r\n])"?(\r\n|\r|\n)')
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
        """The cells of a column, one for each row.

        Args:
            name: The column's; or several in braces, whose cells are joined, such as
                ``img/{hospital}/{file}``. Where one of them is empty, so is the whole.
        """
        if name in self.names or not _JOINED.search(name):
            place = self.names.index(name)
            return [row[place] for row in self.rows]
        between = _JOINED.split(name)[::2]
        parts = zip(*map(self.column, self.joined(name)), strict=True)
        return [
            "".join(map("".join, zip(between, (*cells, ""), strict=True))) if all(cells) else ""
            for cells in parts
        ]

    def joined(self, name: str) -> list[str]:
        """The columns that a name stands for: itself, unless it has several in braces."""
        return [name] if name in self.names else _JOINED.findall(name) or [name]

    def require(self, name: str, key: str) -> None:
        """Check that there is a column.

        Args:
            name: The column's.
            key: What names it, for the message.

        Raises:
            InputError: If there is none; names the nearest one.
        """
        for part in self.joined(name):
            if part not in self.names:
                raise InputError(
                    f"{key}: {self.path} has no column {part!r}.{did_you_mean(part, self.names)} "
                    f"Columns: {'. '.join([some(self.names), *self.notes])}"
                )

    def at(self, row: int) -> str:
        """Where a row is in the file, for messages."""
        return f"{self.unit} {self.lines[row]}"


def read_sheet(
    path: Path, key: str = "", sheet: str | None = None, filled: Collection[str] = ()
) -> Sheet:
    """Read a table: CSV, TSV or semicolons, Excel (``.xlsx``), JSON lines (``.jsonl``), Parquet.

    Args:
        path: The file; the name of a sheet may follow that of a workbook after a ``#``. A delimited
            one is separated by what separates the names in its first line and is in UTF-8, with or
            without a byte-order mark, or in UTF-16 with one.
        key: The configuration key that names it, for messages.
        sheet: Of a workbook; None: the one that `path` names, or else the first.
        filled: Columns whose empty cells are told with all faults of a workbook.

    Raises:
        InputError: If it cannot be read, holds no rows, or a row has more or fewer cells than there
            are columns; names the line and the cure.
    """
    path, named = sheet_of_book(path.expanduser())
    where = f"{key}: {path}" if key else str(path)
    if sheet is not None and named not in (None, sheet):
        raise InputError(f"{where}: the sheet {named!r} is named, and {sheet!r} by data.sheet")
    sheet = sheet or named
    ending = path.suffix.lower()
    if ending in _OTHERS:
        raise InputError(f"{where} is a spreadsheet of a kind that is not read. {_SAVE_AS}")
    if ending in EXCEL:
        from medldr.data.listing.excel import read_excel

        lines, notes = read_excel(path, where, sheet, filled)
        return replace(found := _sheet(path, where, lines, "row"), notes=(*found.notes, *notes))
    if sheet is not None:
        raise InputError(f"data.sheet names a sheet, but {path} is no workbook. Unset it")
    if ending == ".json":
        raise InputError(
            f"{where}: JSON of any shape is not a table. {_SAVE_AS}, or write one object per line "
            "into a .jsonl file"
        )
    if ending in PARQUET:
        return _sheet(path, where, read_parquet(path, where), "row")
    text = _decoded(path, where)
    if ending in JSON_LINES:
        return _sheet(path, where, read_json_lines(text, where), "line")
    lines, separator = _delimited(text, where)
    return _sheet(path, where, lines, "line", separator)


def sheet_of_book(path: Path) -> tuple[Path, str | None]:
    """A workbook, and the sheet that a path names after a ``#``; None where it names none.

    Example:
        >>> sheet_of_book(Path("a/clinic.xlsx#Patients"))[1], sheet_of_book(Path("b.csv#x"))[1]
        ('Patients', None)
    """
    found = _OF_BOOK.fullmatch(str(path))
    return (path, None) if found is None else (Path(found[1]), found[2])


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
    ragged = [line for line in body if len(line.cells) != len(names)]
    if ragged:
        first, *others = ragged
        also = some((str(line.number) for line in others), _LISTED)
        more = f" ({len(ragged):,} {unit}s in all, also {also})" if others else ""
        raise InputError(
            f"{where}, {unit} {first.number}: {len(first.cells)} values, but the header has "
            f"{len(names)} columns{more}. Write one value per column; put a value with a "
            f"{separator} in quotes"
        )
    rows = [tuple(map(trim, line.cells)) for line in body]
    trimmed = [
        line.number
        for row, line in zip(rows, body, strict=True)
        for new, old in zip(row, line.cells, strict=True)
        if new != old
    ]
    cells, lines_of = counted(len(trimmed), "cell", "cells"), dict.fromkeys(trimmed)
    where = f"{unit}{'s' * (len(lines_of) > 1)} {some(map(str, lines_of))}"
    said = f"blanks around {cells} of {path.name} are left out ({where})"
    notes = (said,) if trimmed else ()
    return Sheet(path, names, rows, [line.number for line in body], unit, notes)


def _check_names(where: str, names: Sequence[str], separator: str) -> None:
    listed = some(name or "(no name)" for name in names)
    if len(names) > _MOST_COLUMNS:
        raise InputError(
            f"{where} has {len(names):,} columns ({listed}), and at most {_MOST_COLUMNS:,} are "
            "read. Does it have a column for each image? It should have a row"
        )
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
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"{where}: the column {twice[0]!r} appears twice ({listed}). Rename one in the first "
            "line"
        )


def _decoded(path: Path, where: str) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark, or in UTF-16 with one.

    Raises:
        InputError: If it cannot be read, or is in another encoding; names the line and the byte.
    """
    with reading(path, name=where):
        content = path.read_bytes()
    for start, kind in _BINARY.items():
        if content.startswith(start):
            raise InputError(f"{where} is not a text file but {kind}. {_IN_UTF8}")
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        if wide:
            fault = " is not whole: its UTF-16 text breaks off"
        else:
            fault = _not_utf8(content, error.start)
        raise InputError(f"{where}{fault}. {_IN_UTF8}") from error
    if "\0" in text:
        raise InputError(
            f"{where} is not text in UTF-8: it has null bytes, as UTF-16 without a byte-order mark "
            f"has. {_IN_UTF8}"
        )
    return text


def _not_utf8(content: bytes, at: int) -> str:
    """Where a byte is in a file, and what it would be in Windows' code page."""
    line = content.count(b"\n", 0, at) + 1
    column = at - content.rfind(b"\n", 0, at)
    letter = content[at : at + 1].decode("cp1252", errors="replace")
    perhaps = f" ({letter!r} in Windows' code page 1252)" if letter.isprintable() else ""
    return f", line {line}: byte {column} of the line, 0x{content[at]:02X}{perhaps}, is not UTF-8"


def _delimited(text: str, where: str) -> tuple[list[Line], str]:
    """Rows of cells separated by tabs, semicolons or commas; empty lines are skipped.

    Returns:
        The rows, the header first, and what separates their cells, in words.

    Raises:
        InputError: If quotes do not match; names the line.
    """
    noted = _NOTED_SEPARATOR.match(text)
    separator = noted[1] if noted else _separator(text)
    skipped = 1 if noted else 0
    body = io.StringIO(text[noted.end() :] if noted else text, newline="")
    reader = csv.reader(body, delimiter=separator, strict=True)
    lines, start = [], skipped
    try:
        for cells in reader:
            if cells:
                lines.append(Line(start + 1, cells))
            start = reader.line_num + skipped
    except csv.Error as error:
        if "field larger" in str(error):
            raise InputError(
                f"{where}, line {start + 1}: a cell has over {csv.field_size_limit():,} "
                "characters. Is a quote before it never closed?"
            ) from error
        name = _SEPARATORS.get(separator, separator)
        raise InputError(
            f"{where}, line {start + 1}: its quotes do not match ({error}). Put a value that has a "
            f'quote or a {name} in quotes, and write its own quotes twice: "5"" long"'
        ) from error
    return lines, _SEPARATORS.get(separator, repr(separator))


def _separator(text: str) -> str:
    """What occurs most often outside quotes in the first line; of equals the first named above.

    Example:
        >>> _separator('path;"a, b, c";label'), _separator("id")
        (';', ',')
    """
    header = re.match(r'[\r\n]*((?:"[^"]*"?|[^"\r\n])*)', text)
    bare = re.sub(r'"[^"]*"?', "", header[1] if header else "")
    most = max(_SEPARATORS, key=bare.count)
    return most if most in bare else ","
