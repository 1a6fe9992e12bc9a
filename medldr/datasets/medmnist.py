"""MedMNIST: 18 sets of small medical images, 12 in 2D and 6 in 3D, at every published size.

Files are kept as published in one folder: `data.root`, else ``$MEDLDR_DATA``, else
``~/.cache/medldr``, and ``~/.medmnist`` where the `medmnist` package puts them. Their checksum is
verified at each load. The organ sets order their classes differently in 2D and 3D.

Source:
    Yang et al., "MedMNIST v2", Scientific Data 2023, and the `medmnist` package, from whose
    catalogue names, classes, addresses and checksums come.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from medldr.data.files.memory import Examined, prove
from medldr.data.reading.download import fetch
from medldr.data.reading.roots import data_roots
from medldr.datasets._medmnist import catalogue
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets.base import DatasetConfig, ImageTable
from medldr.errors import InputError
from medldr.folders.files import checksum

PARTS = ("train", "val", "test")
KEYS = tuple(f"{part}_{kind}" for part in PARTS for kind in ("images", "labels"))

_FLAG_NOTES = {
    "dermamnist": "DermaMNIST shares lesions between its partitions and holds duplicates "
    "(arXiv 2401.14497), so its scores are optimistic. Set data.md5 to load corrected files.",
    "breastmnist": "BreastMNIST's positive class, class 1, is the healthy one: sensitivity refers "
    "to 'normal, benign' unless evaluation.positive_class says otherwise.",
}


class Config(DatasetConfig):
    """Keys of the dataset ``medmnist``."""

    name: Literal["medmnist"] = "medmnist"
    flag: str = Field(
        description="which of the 18 data sets, such as dermamnist or fracturemnist3d"
    )
    size: int = Field(28, description="edge in pixels: 28, 64, 128, 224; in 3D 28 or 64")
    md5: str = Field(
        "official", description="checksum that the file must have: official, any, or 32 hex digits"
    )

    @field_validator("md5")
    @classmethod
    def _known_form(cls, value: str) -> str:
        value = value.lower()
        hexadecimal = len(value) == 32 and set(value) <= set("0123456789abcdef")
        if value not in ("official", "any") and not hexadecimal:
            raise ValueError("should be 'official', 'any', or an MD5 of 32 hex digits")
        return value

    @model_validator(mode="after")
    def _published(self) -> Config:
        catalogue.entry(self.flag, self.size)
        return self


def load(config: Config) -> ImageTable:
    """Read one set.

    Raises:
        InputError: If the file is absent and may not be fetched, its checksum is wrong, or its
            content is not in MedMNIST's format.
    """
    entry = catalogue.entry(config.flag, config.size)
    path = _locate(config, entry)
    notes = _notes(entry, config, path)
    try:
        found = checksum(path, "md5")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    expected = entry.md5 if config.md5 == "official" else config.md5
    if expected not in ("any", found):
        raise InputError(_wrong_checksum(path, entry, expected, found))
    with NpzFile(path) as file:
        counts = _check_format(file, entry)
        images = _read_images(file, entry, counts)
        labels = _read_labels(file, entry)
    total = len(images)
    blank = np.full(total, "", dtype=np.str_)
    return ImageTable(
        name=f"{entry.flag}_{entry.size}",
        task=entry.task,
        class_names=entry.class_names,
        images=images,
        labels=labels,
        ids=np.array([f"{part}/{row}" for part in PARTS for row in range(counts[part])]),
        splits=np.repeat(PARTS, [counts[part] for part in PARTS]),
        domains=blank,
        groups=blank,
        notes=notes,
        hashes={path.name: found},
    )


def folders(root: Path | None) -> list[Path]:
    """Where files are searched, in order; downloads go to the first."""
    return data_roots(root, Path.home() / ".medmnist")


def present(config: Config) -> str:
    """Where the file is on this machine, or that it is absent; the checksum is not verified."""
    entry = catalogue.entry(config.flag, config.size)
    path = _find(config, entry)
    return f"missing ({entry.file})" if path is None else f"in {path.parent}"


def require(config: Config) -> None:
    """Check that the file is there, or may be fetched; it is not read.

    Raises:
        InputError: Naming the file, where it was looked for and how to get it.
    """
    entry = catalogue.entry(config.flag, config.size)
    if _find(config, entry) is None and not config.download:
        searched = folders(config.root)
        others = f" (also looked in {', '.join(map(str, searched[1:]))})" if searched[1:] else ""
        others = others if searched[0].is_dir() else f", for there is no such folder{others}"
        raise InputError(
            f"{entry.file} is not in {searched[0]}{others}. Set data.root to the folder that has "
            f"it, or download it by hand from {entry.url} (MD5 {entry.md5}) into that folder, or "
            "allow the download with data.download=true."
        )


def _find(config: Config, entry: catalogue.Entry) -> Path | None:
    places = (folder / entry.file for folder in folders(config.root))
    return next((place for place in places if place.is_file()), None)


def checksums(config: Config) -> dict[str, str]:
    """MD5 of the file by its name, remembered while the file does not change; empty without it."""
    path = _find(config, catalogue.entry(config.flag, config.size))
    if path is None:
        return {}
    title = f"checking {path.name}"

    def md5(row: int) -> Examined:
        return Examined(digest=checksum(path, "md5"))

    (found,) = prove(lambda row: path, [path.name], "MD5", md5, title, folder=path.parent)
    return {path.name: found.digest}


def _locate(config: Config, entry: catalogue.Entry) -> Path:
    require(config)
    target = folders(config.root)[0] / entry.file
    return _find(config, entry) or fetch(entry.url, target, md5=entry.md5)


def _wrong_checksum(path: Path, entry: catalogue.Entry, expected: str, found: str) -> str:
    with path.open("rb") as stream:
        start = stream.read(256).lstrip().lower()
    page = "It is a web page, not data. " if start.startswith((b"<!doctype", b"<html")) else ""
    return (
        f"{path}: wrong checksum. MD5 expected {expected}, found {found}. {page}"
        f"The file was not changed: move it away and download {entry.url} by hand (or with "
        "data.download=true). For a file of your own in this format set data.md5 to its MD5, or "
        "to 'any'."
    )


def _notes(entry: catalogue.Entry, config: Config, path: Path) -> tuple[str, ...]:
    notes = []
    if config.md5 != "official":
        notes.append(
            f"{path.name} was checked against MD5 {config.md5!r}, not the official checksum."
        )
    if entry.flag in _FLAG_NOTES:
        notes.append(_FLAG_NOTES[entry.flag])
    if entry.size != 28 and entry.spatial_dims == 2:
        notes.append(
            f"Images of {entry.size} pixels are native (MedMNIST+); the published results named "
            "224 were obtained on 28-pixel images enlarged to 224."
        )
    if entry.flag == "nodulemnist3d" and entry.size == 64:
        notes.append("NoduleMNIST3D at 64 is enlarged from the 28-voxel data, not native.")
    return tuple(notes)


def _check_format(file: NpzFile, entry: catalogue.Entry) -> dict[str, int]:
    """Rows per part; checks shape and type of every array from the headers alone."""
    missing = [key for key in KEYS if key not in file.keys]
    if missing:
        raise InputError(
            f"{file.path}: lacks {', '.join(missing)}; a MedMNIST file has the keys "
            f"{', '.join(KEYS)}, this one has {', '.join(file.keys) or 'none'}"
        )
    edge = (entry.size,) * entry.spatial_dims
    pixel = (*edge, 3) if entry.channels == 3 else edge
    columns = len(entry.class_names) if entry.task == "multi-label" else 1
    counts = {}
    for part in PARTS:
        shape, dtype = file.header(f"{part}_images")
        wanted = " x ".join(["N", *map(str, pixel)])
        if shape[1:] != pixel or dtype != np.uint8:
            found = " x ".join(map(str, shape))
            raise InputError(
                f"{file.path}: {part}_images is {dtype} {found}, but {entry.flag} at size "
                f"{entry.size} has uint8 {wanted}"
            )
        label_shape, label_dtype = file.header(f"{part}_labels")
        if label_shape != (shape[0], columns) or not np.issubdtype(label_dtype, np.integer):
            found = " x ".join(map(str, label_shape))
            raise InputError(
                f"{file.path}: {part}_labels is {label_dtype} {found}, but {shape[0]} images of "
                f"{entry.flag} need integers {shape[0]} x {columns}"
            )
        counts[part] = shape[0]
    return counts


def _read_images(
    file: NpzFile, entry: catalogue.Entry, counts: dict[str, int]
) -> NDArray[np.uint8]:
    edge = (entry.size,) * entry.spatial_dims
    images = np.empty((sum(counts.values()), entry.channels, *edge), np.uint8)
    start = 0
    for part in PARTS:
        rows = images[start : start + counts[part]]
        as_stored = rows.transpose(0, 2, 3, 1) if entry.channels == 3 else rows[:, 0]
        file.read_into(f"{part}_images", as_stored)
        start += counts[part]
    return images


def _read_labels(file: NpzFile, entry: catalogue.Entry) -> NDArray[np.int64] | NDArray[np.float32]:
    parts = []
    multi_label = entry.task == "multi-label"
    top = 1 if multi_label else len(entry.class_names) - 1
    for part in PARTS:
        values = file.read(f"{part}_labels").astype(np.int64)
        wrong = np.argwhere((values < 0) | (values > top))
        if len(wrong):
            row, column = wrong[0]
            raise InputError(
                f"{file.path}: {part}_labels holds {values[row, column]} in row {row}, but "
                f"{entry.flag}'s labels are 0 to {top} ({len(wrong)} such entries)"
            )
        parts.append(values)
    labels = np.concatenate(parts)
    return labels.astype(np.float32) if multi_label else np.ascontiguousarray(labels[:, 0])


CONTRACT_KEYS = {"flag": "breastmnist", "md5": "any"}
