"""Tables whose values have types, as text: JSON lines and Parquet.

Source:
    Our choice of texts: whole numbers as digits, floats as Python writes them, but without ``.0``
    where every float of a column is whole (pandas makes floats of whole numbers once one is
    missing), ``true`` and ``false``, dates in ISO 8601, without a time where all are midnight. In
    JSON a number keeps the digits with which it is written. Null and NaN are missing cells.
"""

from __future__ import annotations

import datetime
import importlib
import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError, MissingExtraError
from medldr.folders.files import reading

_NOT_A_NUMBER: Final = "NaN"


class Line(NamedTuple):
    """One row of a file.

    Attributes:
        number: The line at which it begins, from 1.
        cells: Its cells as written.
    """

    number: int
    cells: list[str]


class _Pairs(list[tuple[str, Any]]):
    """The names and values of an object, in order."""


def read_json_lines(text: str, where: str) -> list[Line]:
    """One flat object per line; a name that a line lacks is a missing cell there.

    Returns:
        The rows, the names first, in the order in which they first appear.

    Raises:
        InputError: If a line is no object, or a value is a list or an object; names the line.
    """
    records: list[tuple[int, dict[str, str]]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            record = _record(line, f"{where}, line {number}")
            names.update(dict.fromkeys(record))
            records.append((number, record))
    if not records:
        return []
    return [
        Line(1, list(names)),
        *(Line(number, [record.get(name, "") for name in names]) for number, record in records),
    ]


def _record(line: str, where: str) -> dict[str, str]:
    try:
        pairs = json.loads(
            line,
            object_pairs_hook=_Pairs,
            parse_int=str,
            parse_float=str,
            parse_constant=lambda name: None if name == _NOT_A_NUMBER else name,
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            f"{where} is not JSON ({error}). Write one object per line, such as "
            '{"path": "p1.png", "label": "benign"}'
        ) from error
    if not isinstance(pairs, _Pairs):
        raise InputError(f'{where} is not an object. Write {{"path": "p1.png", ...}} on each line')
    record: dict[str, str] = {}
    for name, value in pairs:
        if name in record:
            raise InputError(f"{where}: {name!r} appears twice. Keep one of them")
        if isinstance(value, list):
            raise InputError(
                f"{where}: the value of {name!r} is itself a list or an object. Give each of its "
                "values a name of its own"
            )
        record[name] = _word(value)
    return record


def _word(value: str | bool | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def read_parquet(path: Path, where: str) -> list[Line]:
    """The rows of a Parquet file, the names of its columns first.

    Raises:
        MissingExtraError: Without pyarrow.
        InputError: If it cannot be read, or a column holds bytes or other things that are not one
            text, number, truth value or date; names the column. Columns of lists are left out.
    """
    table = _parquet(path, where, None)
    types: Any = importlib.import_module("pyarrow").types
    cells = {
        name: _texts(column, f"{where}: the column {name!r}")
        for name, column in zip(table.column_names, table.columns, strict=True)
        if not types.is_list(column.type)  # such as latents, which `read_lists` reads
    }
    rows = enumerate(zip(*cells.values(), strict=True), 1)
    return [Line(0, list(cells)), *(Line(number, list(cells)) for number, cells in rows)]


def _parquet(path: Path, where: str, only: list[str] | None) -> Any:
    """A Parquet file, or these columns of it."""
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet", f"{where}: reading Parquet") from error
    # A file by its handle: pyarrow would read meaning into names, such as year=2020.
    with reading(path, "a readable Parquet file", name=where), path.open("rb") as file:
        return parquet.read_table(file, columns=only)


def read_lists(path: Path, name: str, key: str) -> NDArray[np.float32]:
    """A column of a Parquet file in which each cell is a list of numbers, all of one length.

    Args:
        path: The file.
        name: The column.
        key: The key that names it, for messages.

    Returns:
        ``(N, n)``.

    Raises:
        MissingExtraError: Without pyarrow.
        InputError: If there is no such column, or its cells are not such lists.
    """
    where = f"{key}: {path}"
    table = _parquet(path, where, [name])
    if not table.column_names:
        raise InputError(f"{where} has no column {name!r}")
    cells = table.column(0).to_pylist()
    lengths = [len(cell) if isinstance(cell, list) else 0 for cell in cells]
    usual = max(set(lengths), key=lengths.count, default=0)
    if not usual:
        raise InputError(f"{where}: the column {name!r} holds no lists of numbers")
    if odd := [row for row, length in enumerate(lengths) if length != usual]:
        raise InputError(
            f"{where}: {len(odd):,} of {len(cells):,} rows of the column {name!r} do not hold a "
            f"list of {usual} numbers as most do, such as row {odd[0] + 1} "
            f"({lengths[odd[0]] or 'none'}). Correct them, or take these rows out"
        )
    try:
        return np.array(cells, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: the column {name!r} holds more than numbers") from error


def _texts(column: Any, where: str) -> list[str]:
    types: Any = importlib.import_module("pyarrow").types
    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if types.is_floating(kind):
        return float_texts(column.to_numpy())
    values = column.to_pylist()
    if types.is_timestamp(kind):
        return moments(values)
    single = (str, bool, int, Decimal, datetime.date, datetime.time, type(None))
    odd = next((value for value in values if not isinstance(value, single)), None)
    if odd is not None:
        raise InputError(
            f"{where} holds values of the type {kind}, which have no text of their own. Save it as "
            "text or as numbers, or leave it out"
        )
    return [plain(value) for value in values]


def plain(value: Any) -> str:
    """A text, number, truth value, date or nothing as text."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return _word(value) if isinstance(value, bool | str) or value is None else str(value)


def moments(values: Sequence[Any]) -> list[str]:
    """Dates and times; only dates where all are midnight of no named zone."""
    known = [value for value in values if value is not None]
    days = all(value.tzinfo is None and value.time() == datetime.time() for value in known)
    return [
        "" if value is None else (value.date() if days else value).isoformat() for value in values
    ]


def float_texts(values: Iterable[Any]) -> list[str]:
    """Floats as text, without ``.0`` where all of them are whole; NaN is a missing cell.

    Args:
        values: numpy's or Python's floats; each is written with the digits that its type needs.

    Example:
        >>> float_texts([1.0, float("nan"), 2.0]), float_texts([1.0, 0.5])
        (['1', '', '2'], ['1.0', '0.5'])
    """
    cells = list(values)
    whole = all(value == int(value) for value in cells if math.isfinite(value))
    whole = whole and not any(map(math.isinf, cells))
    return [
        "" if math.isnan(value) else str(int(value)) if whole else str(value) for value in cells
    ]
