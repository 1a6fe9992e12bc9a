"""The items of a prediction: those that files, folders and tables name, and arrays.

Source:
    Our choice. In a folder every file that is a scan by its name is an item, also in folders below.
    For a network of volumes the slices of DICOM in a folder are one item per series of several
    slices, beside which single pictures (localizers) are left out; for a network of pictures each
    slice is an item.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.files.scan import DICOM, ScanError, Source
from medldr.data.listing.folders import walk
from medldr.data.listing.kinds import TABLES, is_scan, is_slice, tell_not_read
from medldr.data.listing.places import ABSENT, find_places, near_name
from medldr.data.listing.tables import Sheet, read_sheet
from medldr.errors import InputError

_PATHS: Final = ("path", "file", "image", "scan", "filename")


class Item(NamedTuple):
    """What is to be predicted.

    Attributes:
        name: As the user knows it.
        source: Where it is; None where there is no such file.
        array: Its values, if it is no file.
        reason: Why it cannot be used, where that is known without reading it.
        group: The group (patient, slide) that it belongs to; empty where none is known.
    """

    name: str
    source: Source | None = None
    array: Any = None
    reason: str = ""
    group: str = ""


def find_items(
    inputs: Iterable[str | Path], dims: int, column: str | None = None, group: str | None = None
) -> list[Item]:
    """The items that some paths name, in their order.

    Args:
        inputs: Files, folders, and tables with a column of files; a ``#`` after a path names a part
            of it: a series of a folder, ``member[index]`` of an npz archive.
        dims: 2 for a network of pictures, 3 for one of volumes.
        column: Column of a table that names files; None: the one whose name says so.
        group: Column of a table with the group of each; None: none is known.

    Raises:
        InputError: If nothing is named, a folder holds no scan, or a table has no column of files
            or of groups.
    """
    texts = list(map(str, inputs))
    if "" in texts:
        raise InputError("an empty path names nothing. Name files, folders, or a table")
    if group is not None and not any(map(_is_table, texts)):
        raise InputError(f"--group names the column {group} of a table, but no table is given")
    files = [text for text in texts if not _is_table(text) and not os.path.isdir(text)]
    of_file = dict(zip(files, _of_paths(files, Path()), strict=True))
    items: list[Item] = []
    for text in texts:
        if text in of_file:
            items.append(of_file[text])
        elif _is_table(text):
            items += _of_table(Path(text), column, group)
        else:
            inside = list(_of_folder(Path(text), dims))
            if not inside:
                names = (name for one in walk(Path(text), lenient=True) for name in one.files)
                others = tell_not_read(names) or "it is empty, and so are its subfolders"
                raise InputError(f"{text} holds no scan: {others}")
            items += inside
    if not items:
        raise InputError("nothing to predict: name files, folders, or a table with a path column")
    return _apart(items)


def _is_table(text: str) -> bool:
    return text.lower().endswith(TABLES)


def _apart(items: list[Item]) -> list[Item]:
    """Items with their whole paths as names, where one name means several files."""
    places: dict[str, set[Source | None]] = {}
    for item in items:
        places.setdefault(item.name, set()).add(item.source)
    return [
        item._replace(name=_whole(item.source))
        if item.source is not None and len(places[item.name]) > 1
        else item
        for item in items
    ]


def _whole(source: Source) -> str:
    return f"{source.path}#{source.part}" if source.part else str(source.path)


def _of_paths(texts: Sequence[str], root: Path) -> Iterator[Item]:
    """Items by their paths below a folder, which a part may follow."""
    places = find_places(texts, root)
    for row, (text, source) in enumerate(zip(texts, places.sources, strict=True)):
        reason = places.absent.get(row, "")
        hint = near_name(root, text) if reason == ABSENT else ""
        yield Item(text, source, reason=reason + hint)


def _of_folder(top: Path, dims: int) -> Iterator[Item]:
    for folder in walk(top, lenient=True):
        if folder.fault:
            yield Item(str(folder.path), reason=folder.fault)
        slices = [name for name in folder.files if dims == 3 and is_slice(name)]
        if slices:
            yield from _series(folder.path, slices)
        for name in folder.files:
            if name not in slices and is_scan(name, folder.files):
                yield Item(str(folder.path / name), Source(folder.path / name))


def _series(folder: Path, slices: Sequence[str]) -> Iterator[Item]:
    """The volumes of a folder of DICOM files."""
    from medldr.data.files.dicom import list_folder, volumes_of

    try:
        volumes = volumes_of(list_folder(folder).series)
    except ScanError as error:
        named = [name for name in slices if name.lower().endswith(DICOM)]
        if named:  # bare names that are no DICOM are leaflets more often than scans
            yield Item(str(folder), reason=str(error))
        return
    for files in volumes:
        first = files[0]
        if first.frames > 1:
            yield Item(str(first.path), Source(first.path))
        elif len(files) == 1 or len(volumes) == 1:
            yield Item(str(folder), Source(folder))
            return  # of pictures alone: reading the folder says which ones
        else:
            yield Item(f"{folder}#{first.series_uid}", Source(folder, first.series_uid))


def _of_table(path: Path, column: str | None, group: str | None) -> Iterable[Item]:
    sheet = read_sheet(path)
    names = sheet.column(_column(sheet, path, column))
    if "" in names:
        place = f"{sheet.unit} {sheet.lines[names.index('')]}"
        raise InputError(f"{path}, {place}: names no file. Fill the cell, or drop the row")
    items = _of_paths(names, path.parent)
    if group is None:
        return items
    sheet.require(group, "--group")
    return [i._replace(group=of) for i, of in zip(items, sheet.column(group), strict=True)]


def _column(sheet: Sheet, path: Path, column: str | None) -> str:
    if column is not None:
        sheet.require(column, "--path")
        return column
    suited = [name for name in sheet.names if name.casefold() in _PATHS]
    if len(suited) == 1:
        return suited[0]
    raise InputError(
        f"{path}: say which column names the files, with --path. Columns: {', '.join(sheet.names)}"
    )


def listed(inputs: Any, axes: int) -> list[Any]:
    """The items of what was given, one by one.

    Raises:
        InputError: If it is no list, or a single array where a list of them is needed.
    """
    if isinstance(inputs, Tensor):
        inputs = _plain(inputs)
    if isinstance(inputs, np.ndarray):
        if inputs.dtype.kind in "US":
            return [str(one) for one in inputs.ravel()]
        shape = inputs.shape
        colours = axes == 2 and len(shape) == 3 and (shape[-1] in (3, 4) or shape[0] in (1, 3))
        if len(shape) <= axes or colours:
            raise InputError(
                f"an array of shape {shape} may be a single image. Give a list with an array for "
                "each item: [array]"
            )
    try:
        return list(inputs)
    except TypeError as error:
        raise InputError(
            f"a {type(inputs).__name__} is no list of paths or arrays to predict"
        ) from error


def _plain(value: Tensor) -> NDArray[Any]:
    value = value.detach()
    value = value.to_dense() if value.layout != torch.strided else value
    value = value.float() if value.dtype == torch.bfloat16 else value
    array: NDArray[Any] = value.cpu().numpy()
    return array


def item_of_array(number: int, value: Any, spacing: Sequence[float] | None) -> Item:
    """An array as an item.

    Args:
        number: Its place in the list.
        value: What the list holds there.
        spacing: mm between its pixels; None: not said.

    Raises:
        InputError: If it is a path.
    """
    name = f"item {number}"
    if isinstance(value, str | Path):
        raise InputError("give paths or arrays, not both in one list")
    if isinstance(value, Tensor):
        value = _plain(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        return Item(name, reason=f"it is no array of numbers ({error})")
    if array.dtype.kind not in "biuf" or array.ndim < 2:
        return Item(name, reason=f"it is no image: {type(value).__name__} of shape {array.shape}")
    return Item(name, None, (array, spacing))
