"""Columns that a data set lacks (sex, age, device), from a table of the user's own.

Values are text as written, see `medldr.data.listing.tables`. They never reach a network; results
are reported by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable
from medldr.data.listing.names import tidied
from medldr.data.listing.ruined_ids import ruined_ids
from medldr.data.listing.tables import Sheet, read_sheet
from medldr.data.metadata_columns import check_columns, choose, decimal_points
from medldr.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

KEYS: Final = ("id", "group")
"""Columns that say whose values a row holds."""

_TAKEN: Final = ("split", "domain", "label", "part")
"""Columns that every data set has already."""


def add_metadata(table: ImageTable, path: Path, config: EvaluationConfig) -> ImageTable:
    """A table with those columns of a metadata file that results are divided by.

    Args:
        table: The data set.
        path: The file: a header with ``id`` or ``group``, and a row per item or per patient; of any
            kind that `medldr.data.listing.tables` reads.
        config: What to divide results by.

    Returns:
        The table; notes name the columns that are left out, and count the items that no row belongs
        to, whose values are all missing.

    Raises:
        InputError: If the file cannot be read, has no column that says whose values they are, has
            two rows of one item that differ, or no row of any item; if it lacks a column that the
            configuration names, or a cell of it is too long.
    """
    sheet = read_sheet(path, "data.metadata")
    key = _key(f"data.metadata: {path}", sheet.names)
    names = [name for name in sheet.names if name != key]
    rows = _rows_by_key(sheet, key)
    check_columns(config, names)
    keys = (table.ids if key == "id" else table.groups).tolist()
    matched = [rows.get(tidied(name)) if name else None for name in keys]
    absent = matched.count(None)
    if absent == len(matched):
        raise InputError(
            f"data.metadata: no row of {path} belongs to any image of {table.name}: none of its "
            f"values of {key!r} is one of the {key}s there, such as {max(keys)!r}"
        )
    nothing = ("",) * len(names)
    values: Sequence[tuple[str, ...]] = [nothing if row is None else row for row in matched]
    columns, commas = decimal_points(dict(zip(names, zip(*values, strict=True), strict=True)))
    units = np.where(table.groups == "", table.ids, table.groups).tolist()
    kept, left_out = choose(columns, units, config)
    metadata: dict[str, NDArray[np.str_]] = {n: np.array(columns[n], np.str_) for n in kept}
    notes = (*table.notes, *sheet.notes, *commas)
    if left_out:
        notes += (f"metadata that divide no results are left out: {', '.join(left_out)}",)
    if absent:
        notes += (f"{absent:,} of {len(matched):,} images have no row in the metadata table",)
    return replace(table, metadata=metadata, notes=notes)


def _rows_by_key(sheet: Sheet, key: str) -> dict[str, tuple[str, ...]]:
    """The further values of each item or patient.

    Raises:
        InputError: If a row says not whose they are, or two rows of one differ; names the line.
    """
    at = sheet.names.index(key)
    if ruined := ruined_ids(f"the column {key!r}", sheet.column(key), sheet.at):
        raise InputError(f"data.metadata: {sheet.path}: {ruined[0]}")
    rows: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(sheet.rows):
        where = f"data.metadata: {sheet.path}, {sheet.at(number)}"
        if not row[at]:
            raise InputError(f"{where}: the column {key!r} is empty")
        values = row[:at] + row[at + 1 :]
        if rows.setdefault(tidied(row[at]), values) != values:
            raise InputError(
                f"{where}: {key} {row[at]!r} appears a second time with other values. Keep one of "
                "the rows"
            )
    return rows


def _key(where: str, header: Sequence[str]) -> str:
    """The column that says whose values a row holds."""
    keys = [name for name in KEYS if name in header]
    listed = ", ".join(header)
    if not keys:
        near = next(filter(None, (did_you_mean(name, KEYS) for name in header)), "")
        raise InputError(
            f"{where} has neither a column 'id' (of images) nor 'group' (of patients).{near} "
            f"Columns: {listed}"
        )
    if len(keys) > 1:
        raise InputError(
            f"{where} has a column 'id' and a column 'group', so it is unclear by which to find "
            "the row of an image. Remove or rename one"
        )
    if len(header) == 1:
        raise InputError(f"{where} has no column besides {keys[0]!r}. Add one, such as sex or age")
    for name in header:
        if name in _TAKEN:
            raise InputError(
                f"{where}: the data set itself has a column {name!r}. Rename or remove it"
            )
    return keys[0]
