"""Pictures of 32 x 32 pixels in folders of classes: ``train/<class>/<picture>``, ``test/...``."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import counted, some
from medldr.data.files.rgb import decode
from medldr.data.files.scan import ScanError
from medldr.data.listing.kinds import PICTURES
from medldr.data.listing.trees import Tree, list_tree
from medldr.data.threads import in_threads
from medldr.datasets._cifar.official import EDGE
from medldr.datasets._cifar.published import Published
from medldr.errors import InputError

PARTS: Final = ("train", "test")

_SHOWN: Final = 5
_STEP: Final = 64


class ClassTree(NamedTuple):
    """A tree, read.

    Attributes:
        class_names: Sorted, by label.
        images: ``(N, 3, 32, 32)`` uint8, train before test, class by class, sorted by name.
        labels: ``(N,)`` int64.
        paths: ``(N,)`` relative paths.
    """

    class_names: tuple[str, ...]
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    paths: list[str]


def is_tree(folder: Path) -> bool:
    """Whether both parts are there as folders."""
    return all((folder / part).is_dir() for part in PARTS)


def read_tree(folder: Path, known: Published) -> ClassTree:
    """Read all pictures of a tree.

    Raises:
        InputError: If it lacks classes or pictures, or a picture cannot be used.
    """
    tree = list_tree(folder, ("split", "label"), endings=PICTURES, only=PARTS)
    names = _class_names(folder, known, tree)
    by_class: dict[tuple[str, ...], list[str]] = {}
    for item in tree.items:
        if item.path.count("/") == len(item.names):
            by_class.setdefault(item.names, []).append(item.path)
    paths: list[str] = []
    labels: list[int] = []
    for part in PARTS:
        for label, name in enumerate(names):
            pictures = by_class.get((part, name), [])
            if not pictures:
                raise InputError(
                    f"{folder / part / name} has no picture ({', '.join(PICTURES)}). Every class "
                    f"of {known.title} needs some in {' and in '.join(PARTS)}"
                )
            paths += pictures
            labels += [label] * len(pictures)
    return ClassTree(names, _decoded(folder, paths), np.array(labels, dtype=np.int64), paths)


def _class_names(folder: Path, known: Published, tree: Tree) -> tuple[str, ...]:
    train, test = ({name for at, name in tree.folders if at == part} for part in PARTS)
    if train != test:
        only = sorted(train ^ test)
        raise InputError(
            f"{folder}: {some(map(repr, only), most=_SHOWN)} "
            f"{'is a class' if len(only) == 1 else 'are classes'} of {' or '.join(PARTS)} alone. "
            "Both need a folder for each class"
        )
    if len(train) != known.classes:
        raise InputError(
            f"{folder / PARTS[0]} has {counted(len(train), 'class folder', 'class folders')}, but "
            f"{known.title} has {known.classes} classes. Correct data.root or data.set; other "
            "sets of pictures are read by data/table and data/domain_folders"
        )
    numbered = all(name.isdecimal() for name in train)  # 10 comes after 9, not after 1
    return tuple(sorted(train, key=int) if numbered else sorted(train))


def _decoded(folder: Path, paths: list[str]) -> NDArray[np.uint8]:
    images = np.empty((len(paths), 3, EDGE, EDGE), dtype=np.uint8)
    bad: list[str] = []

    def read(rows: range) -> list[str]:
        faults = []
        for row in rows:
            try:
                images[row] = decode(folder / paths[row], (EDGE, EDGE))
            except ScanError as error:
                faults.append(f"{paths[row]} ({error})")
        return faults

    for faults in in_threads(read, len(paths), step=_STEP, title="reading pictures"):
        bad += faults
    if bad:
        raise InputError(
            f"{folder}: {counted(len(bad), 'picture', 'pictures')} of {len(paths):,} cannot be "
            f"used: {some(bad, most=_SHOWN)}. Put intact pictures of {EDGE} x {EDGE} pixels there"
        )
    return images
