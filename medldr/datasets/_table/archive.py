"""An npz archive of images and of what is known of them, in the form of MedMNIST's files.

``{train,val,test}_images`` hold the images, and ``{train,val,test}_<column>`` a value for each:
``train_labels``, ``train_patients``. Without splits the arrays are called ``images``, ``labels``.
Numbers of a column ``domains`` become names by an array ``domain_names``, where there is one, and
likewise for any other column. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.sheets import Sheet, trim
from medldr.data.sheets_records import float_texts
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets._table.columns import Columns
from medldr.datasets._table.split_words import split_of
from medldr.errors import InputError, did_you_mean

IMAGES: Final = "images"
_SPLIT: Final = "split"


class Archive(NamedTuple):
    """A table of what an archive holds.

    Attributes:
        sheet: A row per image, and where it is (``train_images[17]``) in the column of images.
        columns: Which column means what.
    """

    sheet: Sheet
    columns: Columns


def read_archive(path: Path, columns: Columns) -> Archive:
    """The values of all images of an archive as text; no image is read.

    Args:
        path: The archive.
        columns: What its arrays are called, without their split.

    Returns:
        The table. A label array of several columns gives as many labels, named after
        ``label_names`` or else ``labels_0`` and so on. The splits are those of the arrays' names
        unless `columns` names a column of them.

    Raises:
        InputError: If it is no such archive, an array is missing, of another length or holds
            Python objects; names the array.
    """
    if columns.path == Columns().path:
        columns = replace(columns, path=IMAGES)
    with NpzFile(path) as file:
        parts = _parts(file, columns.path)
        wanted = _wanted(columns)
        texts: dict[str, list[str]] = {columns.path: [], _SPLIT: []}
        labels: tuple[str, ...] | None = None
        for prefix, split in parts.items():
            shape, _ = file.header(prefix + columns.path)
            count = shape[0] if shape else 0
            texts[columns.path] += [f"{prefix}{columns.path}[{n}]" for n in range(count)]
            texts[_SPLIT] += [split] * count
            for name in wanted:
                values = _values(file, prefix + name, count)
                if values.ndim == 2 and name == columns.label:
                    labels = _label_names(file, name, values.shape[1])
                    for place, label in enumerate(labels):
                        texts.setdefault(label, []).extend(_texts(values[:, place]))
                    continue
                texts.setdefault(name, []).extend(
                    _named(file, name, _flat(file, prefix + name, values))
                )
    if labels is not None:
        columns = replace(columns, label=labels)
    if columns.split is None and any(texts[_SPLIT]):
        columns = replace(columns, split=_SPLIT)
    names = tuple(texts)
    if len({len(cells) for cells in texts.values()}) > 1:
        raise InputError(f"{path}: its splits do not have the same number of labels each")
    rows = list(zip(*texts.values(), strict=True))
    if not rows:
        raise InputError(f"{path} holds no images")
    return Archive(Sheet(path, names, rows, list(range(len(rows))), "row"), columns)


def _parts(file: NpzFile, images: str) -> dict[str, str]:
    """What the names of the arrays of each split begin with, and the split."""
    ending = f"_{images}"
    parts: dict[str, str] = {}
    for key in file.keys:
        split = split_of(key.removesuffix(ending)) if key.endswith(ending) else None
        if split is not None:
            parts[key.removesuffix(images)] = split
    if not parts and images in file.keys:
        return {"": ""}
    if not parts:
        raise InputError(
            f"{file.path} has neither an array {images!r} nor train_{images}, val_{images}, "
            f"test_{images}. It has {', '.join(file.keys) or 'nothing'}; data.path names another "
            "than 'images'"
        )
    return parts


def _wanted(columns: Columns) -> list[str]:
    labels = (columns.label,) if isinstance(columns.label, str) else columns.label
    single = (columns.domain, columns.group, columns.split, columns.id)
    names = (*labels, *(name for name in single if name), *columns.columns, *columns.select)
    return list(dict.fromkeys(names))


def _values(file: NpzFile, key: str, count: int) -> NDArray[np.generic]:
    if key not in file.keys:
        raise InputError(
            f"{file.path} has no array {key!r}.{did_you_mean(key, file.keys)} It has "
            f"{', '.join(file.keys)}"
        )
    shape, _ = file.header(key)
    if not shape or shape[0] != count:
        raise InputError(
            f"{file.path}: {key} has the shape {shape}, but there are {count:,} images beside it"
        )
    values = file.read(key)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _flat(file: NpzFile, key: str, values: NDArray[np.generic]) -> list[str]:
    if values.ndim != 1:
        raise InputError(
            f"{file.path}: {key} has the shape {values.shape}; one value per image is needed"
        )
    return _texts(values)


def _texts(values: NDArray[np.generic]) -> list[str]:
    kind = values.dtype.kind
    if kind == "f":
        return float_texts(values)
    if kind == "S":
        return [trim(value.decode("utf-8", "replace")) for value in values.tolist()]
    if kind == "b":
        return ["true" if value else "false" for value in values.tolist()]
    return [trim(str(value)) for value in values.tolist()]


def _label_names(file: NpzFile, name: str, count: int) -> tuple[str, ...]:
    names = _names(file, name)
    if names is not None and len(names) == count:
        return names
    return tuple(f"{name}_{place}" for place in range(count))


def _names(file: NpzFile, name: str) -> tuple[str, ...] | None:
    """The array that says what the numbers of a column mean: ``domain_names`` of ``domains``."""
    key = f"{name.removesuffix('s')}_names"
    if key not in file.keys:
        return None
    return tuple(_flat(file, key, file.read(key)))


def _named(file: NpzFile, name: str, texts: Iterable[str]) -> list[str]:
    listed = list(texts)
    names = _names(file, name)
    if names is None or not all(text.isdecimal() or not text for text in listed):
        return listed
    beyond = next((text for text in listed if text and int(text) >= len(names)), None)
    if beyond is not None:
        raise InputError(
            f"{file.path}: {name} has the number {beyond}, but {name.removesuffix('s')}_names has "
            f"only {len(names)} names, for 0 to {len(names) - 1}"
        )
    return [names[int(text)] if text else "" for text in listed]
