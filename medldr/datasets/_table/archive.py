"""An npz archive of images and of what is known of them, in the form of MedMNIST's files.

``{train,val,test}_images`` hold the images, and ``{train,val,test}_<column>`` a value for each:
``train_labels``, ``train_patients``. Without splits the arrays are called ``images``, ``labels``.
Numbers of a column ``domains`` become names by an array ``domain_names``, where there is one, and
likewise for any other column. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.listing.names import split_of
from medldr.data.listing.tables import Sheet, trim
from medldr.data.listing.typed_tables import float_texts
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets._table.config import Config
from medldr.errors import InputError, did_you_mean

IMAGES: Final = "images"
_SPLIT: Final = "split"


def read_archive(path: Path, config: Config) -> tuple[Sheet, Config]:
    """The values of all images of an archive as text; no image is read.

    Args:
        path: The archive.
        config: What its arrays are called, without their split.

    Returns:
        A row per image, and where it is (``train_images[17]``) in the column of images. Then the
        keys as they hold for these columns: a label array of several columns gives as many labels,
        named after ``label_names`` or else ``labels_0`` and so on, and the splits are those of the
        arrays' names unless a column of them is named.

    Raises:
        InputError: If it is no such archive, an array is missing, of another length or holds
            Python objects; names the array.
    """
    if not isinstance(config.path, str):
        raise InputError(
            f"data.path: {path} is an archive, which holds one image of each item. Name several in "
            "a table, such as t2w.npz#images[3] and adc.npz#images[3]"
        )
    images = IMAGES if config.path == Config.model_fields["path"].default else config.path
    with NpzFile(path) as file:
        texts: dict[str, list[str]] = {images: [], _SPLIT: []}
        labels: tuple[str, ...] | None = None
        for prefix, split in _parts(file, images).items():
            shape, _ = file.header(prefix + images)
            count = shape[0] if shape else 0
            texts[images] += [f"{prefix}{images}[{n}]" for n in range(count)]
            texts[_SPLIT] += [split] * count
            for name in _wanted(config):
                values = _values(file, prefix + name, count)
                if values.ndim == 2 and name == config.label:
                    labels = _label_names(file, name, values.shape[1])
                    for place, label in enumerate(labels):
                        texts.setdefault(label, []).extend(_texts(values[:, place]))
                    continue
                cells = _named(file, name, _flat(file, prefix + name, values))
                texts.setdefault(name, []).extend(cells)
    changed = {
        "path": images,
        "label": config.label if labels is None else labels,
        "split": _SPLIT if config.split is None and any(texts[_SPLIT]) else config.split,
    }
    if len({len(cells) for cells in texts.values()}) > 1:
        raise InputError(f"{path}: its splits do not have the same number of labels each")
    rows = list(zip(*texts.values(), strict=True))
    if not rows:
        raise InputError(f"{path} holds no images")
    sheet = Sheet(path, tuple(texts), rows, list(range(len(rows))), "row")
    return sheet, config.model_copy(update=changed)


def parts_of(arrays: Collection[str], images: str) -> dict[str, str]:
    """What the names of the arrays of each split begin with, and the split.

    Example:
        >>> parts_of(["train_images", "val_images", "names"], "images"), parts_of(["x"], "x")
        ({'train_': 'train', 'val_': 'val'}, {'': ''})
    """
    ending = f"_{images}"
    parts: dict[str, str] = {}
    for name in arrays:
        split = split_of(name.removesuffix(ending)) if name.endswith(ending) else None
        if split is not None:
            parts[name.removesuffix(images)] = split
    return parts or ({"": ""} if images in arrays else {})


def _parts(file: NpzFile, images: str) -> dict[str, str]:
    parts = parts_of(file.keys, images)
    if not parts:
        raise InputError(
            f"{file.path} has neither an array {images!r} nor train_{images}, val_{images}, "
            f"test_{images}. It has {', '.join(file.keys) or 'nothing'}; data.path names another "
            "than 'images'"
        )
    return parts


def _wanted(config: Config) -> list[str]:
    labels = (config.label,) if isinstance(config.label, str) else config.label
    single = (config.domain, config.group, config.split, config.id)
    names = (*labels, *filter(None, single), *config.columns, *config.crop_columns)
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
