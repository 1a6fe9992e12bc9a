"""Which column of a table means what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from medldr.data.scans.source import ARRAYS, DICOM, NIFTI
from medldr.data.sheets import Sheet
from medldr.datasets._domain_folders.location import MORE_PICTURES, PICTURES
from medldr.datasets._domain_folders.names import composed
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError, did_you_mean

ENDINGS: Final = (*PICTURES, *MORE_PICTURES, *NIFTI, *DICOM, *ARRAYS)
"""What names of files that can be read end in, in small or capital letters."""

_LOOKED_AT: Final = 20
"""Cells of a column by which it is seen to hold paths."""


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table, each the value of the configuration key of its name.

    Attributes:
        path: Where each item is.
        label: Its class; several names are several labels that are each true or false.
        domain: Its hospital or scanner.
        group: Its patient.
        split: The split it is in.
        id: Its name; unset: its path.
        columns: Further ones that results may be divided by.
        select: Further ones that say which part of a file is meant (`data.crop`).
    """

    path: str = "path"
    label: str | tuple[str, ...] = "label"
    domain: str | None = None
    group: str | None = None
    split: str | None = None
    id: str | None = None
    columns: tuple[str, ...] = ()
    select: tuple[str, ...] = ()


def pick(sheet: Sheet, columns: Columns, where: str) -> Rows:
    """The columns that a configuration names.

    Args:
        sheet: The table.
        columns: Their names.
        where: Key and name of the table, for messages.

    Raises:
        InputError: If a column does not exist, or one that has to be complete (path, id, domain)
            is not; names the nearest column or the lines.
    """
    known = {composed(name): name for name in sheet.names}

    def texts(key: str, name: str | None) -> list[str] | None:
        if name is None:
            return None
        if composed(name) not in known:
            raise _absent(sheet, key, name)
        return sheet.column(known[composed(name)])

    names = (columns.label,) if isinstance(columns.label, str) else columns.label
    _require_different("data.label", names)
    paths = texts("path", columns.path) or []
    rows = Rows(
        where=where,
        paths=paths,
        labels={name: texts("label", name) or [] for name in names},
        multi_label=not isinstance(columns.label, str),
        domains=texts("domain", columns.domain),
        groups=texts("group", columns.group),
        splits=texts("split", columns.split),
        ids=texts("id", columns.id),
        columns={
            **{name: texts("columns", name) or [] for name in columns.columns},
            **{name: texts("crop", name) or [] for name in columns.select},
        },
        select=columns.select,
        positions=[sheet.at(row) for row in range(len(sheet))],
        notes=sheet.notes,
    )
    complete = {"path": paths, "id": rows.ids, "domain": rows.domains}
    for key, cells in complete.items():
        _require_complete(rows, key, getattr(columns, key), cells)
    return rows


def _require_different(key: str, names: Iterable[str]) -> None:
    listed = list(names)
    if not listed or len(set(listed)) < len(listed):
        raise InputError(f"{key} needs one column or several different ones, not {listed}")


def _require_complete(rows: Rows, key: str, name: str, cells: list[str] | None) -> None:
    empty = [row for row, cell in enumerate(cells or ()) if not cell]
    if empty:
        what = "Fill it in"
        if key == "domain":
            what = "Every row needs one, or none: fill them in, or leave data.domain unset"
        raise InputError(
            f"{rows.where}: the column {name!r} (data.{key}) is empty in {len(empty):,} of "
            f"{len(rows):,} rows: {rows.examples(empty)}. {what}"
        )


def _absent(sheet: Sheet, key: str, name: str) -> InputError:
    if len(sheet.names) == 1:
        cure = (
            f" Only one column was found, {sheet.names[0]!r}: separate them by commas, semicolons "
            "or tabs"
        )
        return InputError(f"data.{key}: {sheet.path} has no column {name!r}.{cure}")
    hint = did_you_mean(name, sheet.names)
    if key == "path":
        holding = [other for other in sheet.names if _holds_paths(sheet.column(other))]
        hint = f" Files are named in {_quoted(holding)}: set data.path." if holding else hint
    return InputError(
        f"data.{key}: {sheet.path} has no column {name!r}.{hint} Columns: {', '.join(sheet.names)}"
    )


def _holds_paths(cells: list[str]) -> bool:
    seen = [cell for cell in cells if cell][:_LOOKED_AT]
    return bool(seen) and all(cell.partition("#")[0].lower().endswith(ENDINGS) for cell in seen)


def _quoted(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))
