"""The items of a prediction: those that files, folders and tables name, and arrays.

Source:
    Our choice. In a folder every file that is a scan by its name is an item, also in folders below.
    For a network of volumes the slices of DICOM in a folder are one item per series of several
    slices, beside which single pictures (localizers) are left out; for a network of pictures each
    slice is an item, unless it was taught one slice of each volume (`data.frame`). What was made of
    scans is none beside them (`medldr.data.files.origin`). Where items have several images, a table
    has a column for each, and the names of files say which is which in nnU-Net's way
    (``case_0000.nii.gz``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.files.origin import beside_note
from medldr.data.files.scan import DICOM, ScanError, Source
from medldr.data.listing.folders import walk
from medldr.data.listing.image_names import cases_of
from medldr.data.listing.kinds import TABLES, is_scan, is_slice, tell_not_read
from medldr.data.listing.places import ABSENT, find_places, near_name, near_root
from medldr.data.listing.ruined_ids import ruined_ids
from medldr.data.listing.tables import Sheet, read_sheet, sheet_of_book
from medldr.data.store.pack_files import FACTS
from medldr.errors import InputError, some

_PATHS: Final = ("path", "file", "image", "scan", "filename")


class Item(NamedTuple):
    """What is to be predicted.

    Attributes:
        name: As the user knows it.
        source: Where it is; None where there is no such file.
        array: The values of its images and their spacing, if it is no file.
        reason: Why it cannot be used, where that is known without reading it.
        group: The group (patient, slide) that it belongs to; empty where none is known.
    """

    name: str
    source: Source | None = None
    array: Any = None
    reason: str = ""
    group: str = ""


def find_items(
    inputs: Iterable[str | Path],
    dims: int,
    column: str | None = None,
    group: str | None = None,
    images: Sequence[str] = (),
    notes: list[str] | None = None,
    *,
    slices: bool = True,
    usual: str | None = None,
) -> list[Item]:
    """The items that some paths name, in their order.

    Args:
        inputs: Files, folders, and tables with a column of files; a ``#`` after a path names a part
            of it: a series of a folder, ``member[index]`` of an npz archive, a sheet of a workbook.
        dims: 2 for a network of pictures, 3 for one of volumes.
        column: Column of a table that names files, or columns, separated by commas, where items
            have several images; None: `usual`, the one whose name says so, or those of `images`.
        group: Column of a table with the group of each; None: none is known.
        images: Names of the images of each item, where the network takes several.
        notes: What readers should know of tables and folders is added to it.
        slices: Of a network of pictures, whether each slice in a folder is one, and not one of each
            series (`data.frame`).
        usual: The column that named the files of training; not every table need have it.

    Raises:
        InputError: If nothing is named, a folder holds no scan, a table has no column of files
            or of groups, or nothing says which files are the images of one item.
    """
    texts = list(map(str, inputs))
    if "" in texts:
        raise InputError("an empty path names nothing. Name files, folders, or a table")
    if group is not None and not any(map(_is_table, texts)):
        raise InputError(f"--group names the column {group} of a table, but no table is given")
    sheets = {text: read_sheet(Path(text)) for text in texts if _is_table(text)}
    if notes is not None:
        notes += (note for sheet in sheets.values() for note in sheet.notes)
    if images:
        return _items_of_several(texts, sheets, column, group, images)
    files = [text for text in texts if not _is_table(text) and not os.path.isdir(text)]
    of_file = dict(zip(files, _of_paths(files, Path()), strict=True))
    items: list[Item] = []
    for text in texts:
        if text in of_file:
            items.append(of_file[text])
        elif _is_table(text):
            items += _of_table(sheets[text], column, group, usual)
        else:
            items += _inside(Path(text), dims, notes, slices=slices)
    if not items:
        raise InputError("nothing to predict: name files, folders, or a table with a path column")
    return _apart(items)


def _items_of_several(
    texts: Sequence[str],
    sheets: Mapping[str, Sheet],
    column: str | None,
    group: str | None,
    images: Sequence[str],
) -> list[Item]:
    """The items of a network that takes several images of each."""
    items: list[Item] = []
    files: list[str] = []
    for text in texts:
        if _is_table(text):
            names = column.split(",") if column is not None else images
            items += _rows_of(sheets[text], names, group)
        elif os.path.isdir(text):
            files += [item.name for item in _inside(Path(text), 2)]
        else:
            files.append(text)
    cases = cases_of(files)
    others = len(files) - sum(map(len, cases.values()))
    if others or not (items or cases):
        raise InputError(
            f"the network takes {len(images)} images per item ({', '.join(images)}), and nothing "
            f"says which of {len(files)} files belong together. Give a table with a column for "
            "each of them, files that are named in nnU-Net's way (case_0000.nii.gz, "
            "case_0001.nii.gz), or the images of a single item, in this order, with --item"
        )
    for of_case in cases.values():
        numbers = range(max(len(images), max(of_case) + 1))
        items.append(_of_several([of_case.get(number, "") for number in numbers], Path()))
    return items


def _rows_of(sheet: Sheet, columns: Sequence[str], group: str | None) -> Iterator[Item]:
    """The rows of a table with a column for each image."""
    for name in columns:
        sheet.require(name, "--path")
    groups = _groups(sheet, group)
    for of, texts in zip(groups, zip(*map(sheet.column, columns), strict=True), strict=True):
        yield _of_several(texts, sheet.path.parent)._replace(group=of)


def _of_several(texts: Sequence[str], root: Path) -> Item:
    """An item by the paths of its images; an empty one is missing."""
    named = [text for text in texts if text]
    if not named:
        return Item("(no image)", reason="it names no image")
    found = iter(_of_paths(named, root))
    items = [next(found) if text else None for text in texts]
    reasons = [f"{one.name}: {one.reason}" for one in items if one is not None and one.reason]
    if reasons:
        return Item(named[0], reason="; ".join(reasons))
    sources = [None if one is None else one.source for one in items]
    return Item(named[0], Source.of_several(sources))


def _is_table(text: str) -> bool:
    return str(sheet_of_book(Path(text))[0]).lower().endswith(TABLES)


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
    other = near_root(root, texts[0]) if len(places.absent) == len(texts) > 0 else None
    moved = f"; in {other} there is: paths are relative to the folder of their table" * bool(other)
    for row, (text, source) in enumerate(zip(texts, places.sources, strict=True)):
        reason = places.absent.get(row, "")
        hint = near_name(root, text) if reason == ABSENT else ""
        yield Item(text, source, reason=reason + (moved or hint))


def _inside(
    folder: Path, dims: int, notes: list[str] | None = None, *, slices: bool = True
) -> list[Item]:
    """The items in a folder.

    Raises:
        InputError: If there are none; says what is in it.
    """
    if (folder / FACTS).is_file():
        raise InputError(
            f"{folder} is what `medldr features` or `medldr data pack` wrote, and no folder of "
            "scans. Name the scans themselves: a run on latents passes them through its encoder"
        )
    made: dict[str, str] = {}
    inside = list(_of_folder(folder, dims, made, slices=slices and dims == 2))
    if notes is not None:
        notes += beside_note(made)
    if not inside:
        names = (name for one in walk(folder, lenient=True) for name in one.files)
        others = tell_not_read(names) or "it is empty, and so are its subfolders"
        raise InputError(f"{folder} holds no scan: {others}")
    return inside


def _of_folder(top: Path, dims: int, made: dict[str, str], *, slices: bool) -> Iterator[Item]:
    from medldr.data.files.dicom import made_in

    for folder in walk(top, lenient=True):
        if folder.fault:
            yield Item(str(folder.path), reason=folder.fault)
        dicom = list(filter(is_slice, folder.files))
        if dicom and not slices:
            yield from _series(folder.path, dicom, dims)
        apart = made_in(folder.path, dicom) if slices else dict.fromkeys(dicom, "")
        made |= {f"{folder.path}/{name}": kind for name, kind in apart.items() if kind}
        for name in folder.files:
            if name not in apart and is_scan(name, folder.files):
                yield Item(str(folder.path / name), Source(folder.path / name))


def _series(folder: Path, slices: Sequence[str], dims: int) -> Iterator[Item]:
    """The volumes of a folder of DICOM files; of pictures alone, these."""
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
        if first.frames > 1 or (dims == 2 and len(files) == 1):
            yield Item(str(first.path), Source(first.path))
        elif len(files) == 1 or len(volumes) == 1:
            yield Item(str(folder), Source(folder))
            return  # of pictures alone: reading the folder says which ones
        else:
            yield Item(f"{folder}#{first.series_uid}", Source(folder, first.series_uid))


def _of_table(
    sheet: Sheet, column: str | None, group: str | None, usual: str | None
) -> Iterable[Item]:
    names = sheet.column(_column(sheet, column, usual))
    if "" in names:
        place = sheet.at(names.index(""))
        raise InputError(f"{sheet.path}, {place}: names no file. Fill the cell, or drop the row")
    items = _of_paths(names, sheet.path.parent)
    return [i._replace(group=of) for i, of in zip(items, _groups(sheet, group), strict=True)]


def _groups(sheet: Sheet, column: str | None) -> list[str]:
    """The group of each row; empty where none is known."""
    if column is None:
        return [""] * len(sheet)
    sheet.require(column, "--group")
    groups = sheet.column(column)
    if ruined := ruined_ids(f"the column {column!r}", groups, sheet.at):
        raise InputError(f"--group: {sheet.path}: {ruined[0]}")
    return groups


def _column(sheet: Sheet, column: str | None, usual: str | None) -> str:
    if column is not None:
        sheet.require(column, "--path")
        return column
    if usual is not None and set(sheet.joined(usual)) <= set(sheet.names):
        return usual
    suited = [name for name in sheet.names if name.casefold() in _PATHS]
    if len(suited) == 1:
        return suited[0]
    raise InputError(
        f"{sheet.path}: say which column names the files, with --path. Columns: {some(sheet.names)}"
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


def item_of_images(number: int, values: Any, spacing: Sequence[float] | None) -> Item:
    """The images of one item, as paths or as arrays; None for one that is missing."""
    if not isinstance(values, list | tuple):
        raise InputError(
            "this network takes several images per item: give a list with a tuple of paths or of "
            "arrays for each item, or a table"
        )
    if all(one is None or isinstance(one, str | Path) for one in values):
        return _of_several(["" if one is None else str(one) for one in values], Path())
    arrays = [None if one is None else item_of_array(number, one, None) for one in values]
    reason = "; ".join(one.reason for one in arrays if one is not None and one.reason)
    given = tuple(None if one is None else one.array and one.array[0][0] for one in arrays)
    return Item(f"item {number}", None, (given, spacing), reason)


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
    return Item(name, None, ((array,), spacing))
