"""The items that files, folders and tables name.

Source:
    Our choice. In a folder every file that is a scan by its name is an item, also in folders below.
    For a network of volumes the slices of DICOM in a folder are one item per series of several
    slices, beside which single pictures (localizers) are left out; for a network of pictures each
    slice is an item.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from medldr.data.scans.scan import ScanError
from medldr.data.scans.source import DICOM, Source
from medldr.data.sheets import Sheet, read_sheet
from medldr.datasets._table.folders import is_item, is_slice
from medldr.errors import InputError, did_you_mean

TABLES: Final = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
_PATHS: Final = ("path", "file", "image", "scan", "filename")


class Item(NamedTuple):
    """What is to be predicted.

    Attributes:
        name: As the user knows it.
        source: Where it is; None where there is no such file.
        array: Its values, if it is no file.
        reason: Why it cannot be used, where that is known without reading it.
    """

    name: str
    source: Source | None = None
    array: Any = None
    reason: str = ""


def find_items(inputs: Iterable[str | Path], dims: int, column: str | None = None) -> list[Item]:
    """The items that some paths name, in their order, none twice.

    Args:
        inputs: Files, folders, and tables with a column of files; a ``#`` after a path names a part
            of it: a series of a folder, ``member[index]`` of an npz archive.
        dims: 2 for a network of pictures, 3 for one of volumes.
        column: Column of a table that names files; None: the one whose name says so.

    Raises:
        InputError: If nothing is named, a folder holds no scan, or a table has no column of files.
    """
    found: list[Item] = []
    for text in map(str, inputs):
        path = Path(text).expanduser()
        if path.name.lower().endswith(TABLES):
            found += _of_table(path, column)
        elif path.is_dir():
            inside = list(_of_folder(path, dims))
            if not inside:
                raise InputError(
                    f"{path} holds no scan: no file in it or below has a name as scans have "
                    "(.nii.gz, .dcm, .png, .npy ...)"
                )
            found += inside
        else:
            found.append(_of_text(text, Path()))
    if not found:
        raise InputError("nothing to predict: name files, folders, or a table with a path column")
    return list({item.name: item for item in found}.values())


def _of_text(text: str, root: Path) -> Item:
    """An item by its path, which a part may follow."""
    whole = root / Path(text).expanduser()
    if whole.exists():
        return Item(text, Source(whole))
    front, sign, part = text.rpartition("#")
    path = root / Path(front).expanduser()
    if sign and part and path.exists():
        return Item(text, Source(path, part))
    near = did_you_mean(whole.name, _names(whole.parent)) if whole.parent.is_dir() else ""
    return Item(text, reason=f"there is no such file.{near}" if near else "there is no such file")


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder)]
    except OSError:
        return []


def _of_folder(folder: Path, dims: int) -> Iterable[Item]:
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if not entry.name.startswith("."):
                (folders if entry.is_dir() else files).append(entry.name)
    slices = [name for name in files if dims == 3 and is_slice(name)]
    if slices:
        yield from _series(folder, slices)
    for name in files:
        if name not in slices and is_item(name, files):
            yield Item(str(folder / name), Source(folder / name))
    for name in folders:
        yield from _of_folder(folder / name, dims)


def _series(folder: Path, slices: Sequence[str]) -> Iterable[Item]:
    """The series of a folder; files of several frames are one each."""
    from medldr.data.scans.dicom_folder import list_folder

    try:
        listing = list_folder(folder)
    except ScanError as error:
        named = [name for name in slices if name.lower().endswith(DICOM)]
        if named:  # bare names that are no DICOM are leaflets more often than scans
            yield Item(str(folder), reason=str(error))
        return
    films = [one for files in listing.series.values() for one in files if one.frames > 1]
    for film in films:
        yield Item(str(film.path), Source(film.path))
    several = [
        uid for uid, files in listing.series.items() if sum(one.frames == 1 for one in files) > 1
    ]
    if len(several) == 1 and not films:
        yield Item(str(folder), Source(folder))
    elif several:
        for uid in several:
            yield Item(f"{folder}#{uid}", Source(folder, uid))
    elif not films:
        yield Item(str(folder), Source(folder))


def _of_table(path: Path, column: str | None) -> Iterable[Item]:
    sheet = read_sheet(path)
    names = sheet.column(_column(sheet, path, column))
    if "" in names:
        place = f"{sheet.unit} {sheet.lines[names.index('')]}"
        raise InputError(f"{path}, {place}: names no file. Fill the cell, or drop the row")
    return [_of_text(name, path.parent) for name in names]


def _column(sheet: Sheet, path: Path, column: str | None) -> str:
    known = list(sheet.names)
    if column is not None:
        if column not in known:
            raise InputError(
                f"{path} has no column {column!r}.{did_you_mean(column, known)} "
                f"Columns: {', '.join(known)}"
            )
        return column
    said = [name for name in known if name.casefold() in _PATHS]
    if len(said) == 1:
        return said[0]
    raise InputError(
        f"{path}: say which column names the files, with --path. Columns: {', '.join(known)}"
    )
