"""The catalogue of the `medmnist` package: 18 sets, 60 files, their addresses and checksums.

Importing that package makes a folder in the user's home and pulls in plotting libraries, so its
table is read from the source file instead, as the literal that it is; nothing is executed.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

from medldr.errors import InputError, did_you_mean, some
from medldr.types import Task

SIZES_2D = (28, 64, 128, 224)
SIZES_3D = (28, 64)

_TASKS: dict[str, Task] = {
    "multi-class": "multi-class",
    "binary-class": "binary",
    "ordinal-regression": "ordinal",
    "multi-label, binary-class": "multi-label",
}


class Entry(NamedTuple):
    """One file of the catalogue.

    Attributes:
        flag: Name of the set, such as ``fracturemnist3d``.
        size: Edge of the images in pixels.
        file: File name, ``{flag}.npz`` at 28 and ``{flag}_{size}.npz`` otherwise.
        url: Where it can be fetched.
        md5: Checksum of the whole file.
        task: Kind of labels.
        class_names: One name per class or label.
        channels: 1 or 3.
        spatial_dims: 2 or 3.
        counts: Rows of train, val and test.
        licence: The data's licence.
    """

    flag: str
    size: int
    file: str
    url: str
    md5: str
    task: Task
    class_names: tuple[str, ...]
    channels: int
    spatial_dims: int
    counts: dict[str, int]
    licence: str


@functools.cache
def _info() -> dict[str, dict[str, Any]]:
    package = importlib.util.find_spec("medmnist")
    if package is None or not package.submodule_search_locations:
        raise InputError("the package 'medmnist' is not installed: pip install 'medmnist>=3.0.2'")
    source = Path(package.submodule_search_locations[0]) / "info.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INFO":
            info: dict[str, dict[str, Any]] = ast.literal_eval(node.value)
            return info
    raise InputError(
        f"{source} contains no catalogue. Install another version: pip install 'medmnist==3.0.2'"
    )


def flags() -> list[str]:
    """Names of the 18 sets, sorted.

    Example:
        >>> len(flags()), flags()[0]
        (18, 'adrenalmnist3d')
    """
    return sorted(_info())


def sizes(flag: str) -> tuple[int, ...]:
    """Sizes that a set is published in.

    Example:
        >>> sizes("dermamnist"), sizes("organmnist3d")
        ((28, 64, 128, 224), (28, 64))
    """
    return SIZES_3D if flag.endswith("3d") else SIZES_2D


def entry(flag: str, size: int) -> Entry:
    """The file of a set at a size.

    Raises:
        InputError: If there is no such set or size; lists the known ones.

    Example:
        >>> entry("octmnist", 64).file, entry("octmnist", 28).file
        ('octmnist_64.npz', 'octmnist.npz')
        >>> entry("retinamnist", 100)
        Traceback (most recent call last):
        medldr.errors.InputError: data.size: retinamnist has no size 100; allowed: 28, 64, 128, 224
    """
    info = _info()
    if flag not in info:
        raise InputError(
            f"data.flag: MedMNIST has no data set {flag!r}.{did_you_mean(flag, info)} "
            f"Known: {some(flags(), listed='medldr list datasets')}"
        )
    if size not in sizes(flag):
        allowed = ", ".join(map(str, sizes(flag)))
        raise InputError(f"data.size: {flag} has no size {size}; allowed: {allowed}")
    row = info[flag]
    suffix = "" if size == 28 else f"_{size}"
    labels = row["label"]
    return Entry(
        flag=flag,
        size=size,
        file=f"{flag}{suffix}.npz",
        url=row[f"url{suffix}"],
        md5=row[f"MD5{suffix}"],
        task=_TASKS[row["task"]],
        class_names=tuple(labels[str(k)] for k in range(len(labels))),
        channels=row["n_channels"],
        spatial_dims=3 if flag.endswith("3d") else 2,
        counts=dict(row["n_samples"]),
        licence=row["license"],
    )
