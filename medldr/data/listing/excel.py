"""Workbooks of Excel as text: a sheet of one plain table.

Source:
    Our choice of texts: numbers with the 15 digits that Excel keeps, whole ones without ``.0``, and
    with the leading zeros that their format shows (``000``); truth values and dates as those of
    Parquet. A cell that Excel shows otherwise than the file holds it is never guessed: merged
    cells, errors, and formulas that no program has calculated are refused, all at once. Rows that
    are hidden, as a filter hides them, are read: a filter is a way of looking, and the next reader
    of the file has another. A note counts them.
"""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from medldr.data.counting import counted, some
from medldr.data.listing.tables import trim
from medldr.data.listing.typed_tables import Line, moments, plain
from medldr.errors import InputError, did_you_mean
from medldr.folders.files import kind_of_place

_LISTED: Final = 8
_LARGEST: Final = 1 << 30
"""Bytes of a workbook once it is unpacked: some millions of rows."""


def read_excel(
    path: Path, where: str, title: str | None, filled: Collection[str]
) -> tuple[list[Line], tuple[str, ...]]:
    """The rows of a sheet, the names of its columns first.

    Args:
        path: The workbook.
        where: The same in words, for messages.
        title: The sheet's; None: the first one that is shown, see `sheet_names`.
        filled: Columns in which an empty cell is a fault.

    Returns:
        The rows; and notes where one sheet of several was taken unasked, or rows are hidden.

    Raises:
        InputError: If it is no workbook, has no such sheet, or has faults: at most 8 are named.
    """
    book = _opened(path, where)
    sheets = _names(book, where)
    if title is not None and title not in sheets:
        raise InputError(
            f"{where} has no sheet {title!r}.{did_you_mean(title, sheets)} "
            f"Sheets: {some(sheets, _LISTED)}"
        )
    name = sheets[0] if title is None else title
    sheet = book[name]
    rows = [row for row in sheet.iter_rows() if any(c.value is not None for c in row)]
    faults = [f"{area.coord} are merged" for area in sheet.merged_cells.ranges]
    formulas = [cell for row in rows for cell in row if cell.data_type == "f"]
    if formulas:
        calculated = _opened(path, where, data_only=True)[name]
        for cell in formulas:
            cell.value = calculated[cell.coordinate].value
        faults += [f"{one.coordinate} is a formula without a value" for one in _empty(formulas)]
    cells = [cell for row in rows for cell in row]
    faults += [
        f"{one.coordinate} is the error {one.value}" for one in cells if one.data_type == "e"
    ]
    if faults:
        header = rows[0] if rows else ()
        needed = [at for at, cell in enumerate(header) if trim(str(cell.value)) in filled]
        faults += [
            f"{one.coordinate} is empty" for at in needed for one in _empty(r[at] for r in rows)
        ]
        raise InputError(
            f"{where}, sheet {name!r}: {counted(len(faults), 'fault', 'faults')}: "
            f"{some(faults, _LISTED)}. Unmerge cells and fill in each, correct errors, and save "
            "the workbook with a program that calculates, such as Excel"
        )
    notes = []
    if title is None and len(sheets) > 1:
        another = f"{path.name}#NAME reads another"
        notes.append(f"of {len(sheets):,} sheets of {path.name} the first is read ({another})")
    hidden = sum(sheet.row_dimensions[row[0].row].hidden for row in rows[1:])
    if hidden:
        notes.append(
            f"{hidden:,} of {len(rows) - 1:,} rows of {path.name} are hidden there, as by a "
            "filter, and are read like the others"
        )
    return _lines(rows), tuple(notes)


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook, those that are shown first.

    Raises:
        InputError: If it is no workbook, or has no sheet of cells.
    """
    return _names(_opened(path, str(path)), str(path))


def _names(book: Any, where: str) -> list[str]:
    if not book.worksheets:
        raise InputError(f"{where} has no sheet of cells")
    shown_first = sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
    return [sheet.title for sheet in shown_first]


def _opened(path: Path, where: str, *, data_only: bool = False) -> Any:
    import openpyxl

    if path.name.startswith("~$"):
        own = path.name.removeprefix("~$")
        raise InputError(f"{where} only marks that Excel has the workbook open: name {own}")
    try:
        if kind := kind_of_place(path):
            raise InputError(f"{where} is {kind}, not a file")
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size <= _LARGEST:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of styles and drawings that are not read
                return openpyxl.load_workbook(path, data_only=data_only)
    except InputError:
        raise
    except Exception as error:  # openpyxl checks little before it unpacks
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"{where} cannot be read ({error.strerror})") from error
        raise InputError(
            f"{where} is not a readable Excel workbook: damaged, protected by a password, or of "
            "another kind. Save it anew as .xlsx, or as 'CSV UTF-8'"
        ) from error
    raise InputError(f"{where} would be {size / 2**30:,.1f} GiB unpacked. Save it as 'CSV UTF-8'")


def _empty(cells: Any) -> Iterator[Any]:
    return (cell for cell in cells if cell.value is None)


def _lines(rows: Sequence[Sequence[Any]]) -> list[Line]:
    """Rows as text, without the empty columns at the right that a format leaves behind."""
    width = max(
        (at for row in rows for at, c in enumerate(row, 1) if c.value is not None), default=0
    )
    columns = list(zip(*(row[:width] for row in rows), strict=True))
    texts = zip(*map(_texts, columns), strict=True)
    return [Line(row[0].row, list(cells)) for row, cells in zip(rows, texts, strict=True)]


def _texts(column: Sequence[Any]) -> list[str]:
    body = [cell.value for cell in column[1:]]
    known = [value for value in body if value is not None]
    if known and all(isinstance(value, datetime.datetime) for value in known):
        return [_text(column[0]), *moments(body)]
    return list(map(_text, column))


def _text(cell: Any) -> str:
    value = cell.value
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, int) and re.fullmatch("0+", cell.number_format):
        return str(value).zfill(len(cell.number_format))
    return plain(value)
