"""Text files of rows: their encoding, what separates their cells, and the cells.

Source:
    Our choice: no encoding is guessed. Every byte is a letter in Latin-1 and its relatives, so a
    wrong guess gives wrong names without an error. Quotes are those of RFC 4180, read strictly. A
    first line ``sep=;``, with which Excel notes what separates cells, is obeyed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Final, NamedTuple

from medldr.errors import InputError

_SEPARATORS: Final = {"\t": "tab", ";": "semicolon", ",": "comma"}
_NOTED: Final = re.compile(r'"?sep=([^"\r\n])"?(\r\n|\r|\n)')
_BINARY: Final = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"\x1f\x8b": "compressed (gzip); unpack it first",
}
_CURE: Final = (
    "Save the table in UTF-8: in Excel as 'CSV UTF-8', in LibreOffice with the character set UTF-8"
)


class Line(NamedTuple):
    """One row of a file.

    Attributes:
        number: The line at which it begins, from 1.
        cells: Its cells as written.
    """

    number: int
    cells: list[str]


def decode(path: Path, where: str) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark, or in UTF-16 with one.

    Args:
        path: The file.
        where: Its name in messages.

    Raises:
        InputError: If it cannot be read, or is in another encoding; names the line and the byte.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{where} cannot be read ({error.strerror})") from error
    for start, kind in _BINARY.items():
        if content.startswith(start):
            raise InputError(f"{where} is not a text file but {kind}. {_CURE}")
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        if wide:
            raise InputError(
                f"{where} is not whole: its UTF-16 text breaks off. {_CURE}"
            ) from error
        raise _not_utf8(where, content, error.start) from error
    if "\0" in text:
        raise InputError(
            f"{where} is not text in UTF-8: it has null bytes, as UTF-16 without a byte-order mark "
            f"has. {_CURE}"
        )
    return text


def _not_utf8(where: str, content: bytes, at: int) -> InputError:
    line = content.count(b"\n", 0, at) + 1
    column = at - (content.rfind(b"\n", 0, at) + 1) + 1
    letter = content[at : at + 1].decode("cp1252", errors="replace")
    perhaps = f" ({letter!r} in Windows' code page 1252)" if letter.isprintable() else ""
    return InputError(
        f"{where}, line {line}: byte {column} of the line, 0x{content[at]:02X}{perhaps}, is not "
        f"UTF-8. {_CURE}"
    )


def read_delimited(text: str, where: str) -> tuple[list[Line], str]:
    """Rows of cells separated by tabs, semicolons or commas.

    Whatever of the three occurs most often in the first line outside quotes separates cells; of
    equals the first named here. Empty lines are skipped.

    Returns:
        The rows, the header first, and what separates their cells, in words.

    Raises:
        InputError: If quotes do not match; names the line.
    """
    noted = _NOTED.match(text)
    skipped = 0
    separator = _separator(text)
    if noted:
        separator, skipped = noted[1], 1
        text = text[noted.end() :]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines, start = [], skipped
    try:
        for cells in reader:
            if cells:
                lines.append(Line(start + 1, cells))
            start = reader.line_num + skipped
    except csv.Error as error:
        name = _SEPARATORS.get(separator, separator)
        raise InputError(
            f"{where}, line {start + 1}: its quotes do not match ({error}). Put a value that has a "
            f'quote or a {name} in quotes, and write its own quotes twice: "5"" long"'
        ) from error
    return lines, _SEPARATORS.get(separator, repr(separator))


def _separator(text: str) -> str:
    """What separates the names of the first line that is not empty.

    Example:
        >>> _separator('path;"a, b, c";label'), _separator("id")
        (';', ',')
    """
    counts = dict.fromkeys(_SEPARATORS, 0)
    quoted, any_text = False, False
    for letter in text:
        if letter == '"':
            quoted = not quoted
        elif letter in "\r\n" and not quoted and any_text:
            break
        elif letter in counts and not quoted:
            counts[letter] += 1
        any_text = any_text or letter not in "\r\n"
    most = max(counts.values())
    return next(letter for letter, count in counts.items() if count == most) if most else ","
