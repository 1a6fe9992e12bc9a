"""The published files of CIFAR-10 or CIFAR-100, in their folder or in their archive as it is."""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.datasets._cifar.plain_pickle import read_plain_pickle
from medldr.datasets._cifar.published import Published
from medldr.errors import InputError

EDGE: Final = 32
PIXELS: Final = 3 * EDGE * EDGE

_MOST_BYTES: Final = 1 << 28
"""Of one file; the largest published one has 155 million."""


class Part(NamedTuple):
    """The images of one split.

    Attributes:
        images: ``(N, 3, 32, 32)`` uint8.
        labels: ``(N,)`` int64.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


class Official(NamedTuple):
    """Everything in the files.

    Attributes:
        class_names: By label.
        train: Training images, file after file.
        test: Test images.
        hashes: MD5 of each file, by its name.
    """

    class_names: tuple[str, ...]
    train: Part
    test: Part
    hashes: dict[str, str]


def read_official(place: Path, known: Published, *, verify: bool) -> Official:
    """Read all files of a set; no code in them is run.

    Args:
        place: The folder that holds them, or the archive.
        known: Which set.
        verify: Whether their checksums must be the published ones.

    Raises:
        InputError: If a file is missing, is not the published one, or is not in its format.
    """
    values: dict[str, Any] = {}
    hashes = {}
    for name, content in _contents(place, known):
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if verify and found != known.files[name]:
            raise InputError(
                f"{place / name}: wrong checksum. MD5 expected {known.files[name]}, found {found}. "
                f"Move it away and get the published {known.archive} ({known.url}). For a file of "
                "your own in this format set data.md5=any"
            )
        values[name] = read_plain_pickle(content, place / name)
        if not isinstance(values[name], dict):
            raise _unlike(place / name, f"a {type(values[name]).__name__}", "a dictionary")
        hashes[name] = found
    absent = [name for name in known.files if name not in values]
    if absent:
        raise InputError(
            f"{place} lacks {', '.join(absent)} of {known.title}. Extract or download "
            f"{known.archive} again"
        )
    (meta,) = known.meta
    names = _class_names(values[meta], place / meta, known)
    train, test = (
        _joined([_part(values[name], place / name, known) for name in files])
        for files in (known.train, known.test)
    )
    return Official(names, train, test, hashes)


def _contents(place: Path, known: Published) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each file that is there."""
    if place.is_dir():
        for name in known.files:
            path = place / name
            if path.is_file():
                _refuse_large(path, path.stat().st_size)
                try:
                    yield name, path.read_bytes()
                except OSError as error:
                    raise InputError(f"{path} cannot be read: {error.strerror}") from error
        return
    try:
        with tarfile.open(place) as archive:
            for member in archive:
                folder, _, name = member.name.removeprefix("./").rpartition("/")
                # Links are no files, so none is followed.
                if folder == known.folder and name in known.files and member.isfile():
                    _refuse_large(place / name, member.size)
                    stream = archive.extractfile(member)
                    yield name, b"" if stream is None else stream.read()
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise InputError(
            f"{place} cannot be read: {error}. Move it away and download {known.url} again"
        ) from error


def _refuse_large(path: Path, size: int) -> None:
    if size > _MOST_BYTES:
        raise InputError(f"{path} has {size:,} bytes, which no file of CIFAR has")


def _class_names(meta: dict[str, Any], path: Path, known: Published) -> tuple[str, ...]:
    names = meta.get(known.names)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _unlike(path, _keys(meta), f"the key {known.names} with the names of classes")
    if len(names) != known.classes or len(set(names)) != len(names):
        raise _unlike(path, f"{len(set(names))} class names", f"{known.classes}")
    return tuple(names)


def _part(values: dict[str, Any], path: Path, known: Published) -> Part:
    data, labels = values.get("data"), values.get(known.labels)
    if not isinstance(data, np.ndarray) or not isinstance(labels, list):
        raise _unlike(path, _keys(values), f"the keys data (an array) and {known.labels} (a list)")
    if data.ndim != 2 or data.shape[1] != PIXELS or not len(data):
        found = " x ".join(map(str, data.shape))
        raise _unlike(path, f"images of shape {found}", f"N x {PIXELS}")
    if len(labels) != len(data):
        raise _unlike(path, f"{len(labels)} labels", f"{len(data)}, one for each image")
    wrong = [one for one in labels if type(one) is not int or not 0 <= one < known.classes]
    if wrong:
        raise _unlike(path, f"the label {wrong[0]!r}", f"0 to {known.classes - 1}")
    # A row has all reds, then all greens, then all blues, each line by line.
    return Part(data.reshape(-1, 3, EDGE, EDGE), np.array(labels, dtype=np.int64))


def _joined(parts: list[Part]) -> Part:
    images, labels = zip(*parts, strict=True)
    return Part(np.concatenate(images), np.concatenate(labels))


def _keys(values: dict[str, Any]) -> str:
    return f"the keys {', '.join(sorted(map(str, values))) or '(none)'}"


def _unlike(path: Path, found: str, expected: str) -> InputError:
    return InputError(f"{path} has {found}, but the format of CIFAR has {expected}")
