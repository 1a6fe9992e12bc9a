"""CIFAR-10-LT and CIFAR-100-LT: the two CIFAR sets, to be made long-tailed by `data.imbalance`.

The published files are read as they are, from their folder or from the archive without unpacking
it, and no code in them is run (they are pickles, see `_cifar.plain_pickle`). The test set is left
balanced. With `data.md5` ``any`` a tree of pictures is read too, ``train/<class>/<picture>`` and
``test/<class>/<picture>``; where its training part is long-tailed already, `data.imbalance` stays
unset.

Which rows the long-tailed set has follows from `data.imbalance.seed`, not from the run's seed, and
the hash of them (``data.subset_hash`` in `run.json`) tells sets apart: two subsets of equal sizes
give accuracies that differ by more than a point.

Source:
    Krizhevsky 2009 for the images; Cao et al. 2019 (LDAM) for the long-tailed construction, see
    `medldr.data.splits.long_tail`. With order ``label`` and seed 0 the rows are those of its code.
    Published runs have no validation set and many choose their epoch on the test set. Ours have
    none either unless `data.val_fraction` asks for one, so the plain choice is the last epoch
    (`training.select: [last]`). A validation set is taken from each class before the others are
    made rare, so it is balanced like the test set, but the largest class is then smaller and the
    training rows are not the published ones.
    Lossy pictures are not the published pixels, and only files of the published checksums are
    called CIFAR without a note; a protocol with published numbers pins them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from medldr.data.reading.download import fetch
from medldr.data.reading.roots import data_roots
from medldr.datasets._cifar.class_tree import is_tree, read_tree
from medldr.datasets._cifar.official import read_official
from medldr.datasets._cifar.published import SETS, Published
from medldr.datasets.base import DatasetConfig, ImageTable
from medldr.errors import InputError


class Config(DatasetConfig):
    """Keys of the dataset ``cifar_lt``."""

    name: Literal["cifar_lt"] = "cifar_lt"
    set: Literal["cifar10_lt", "cifar100_lt"] = Field(description="which of the two sets")
    md5: Literal["official", "any"] = Field(
        "official",
        description="checksums that the files must have: the published ones, or any; class folders "
        "of pictures have none, so they need any",
    )
    val_fraction: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="fraction of the training rows of each class that validates, taken before "
        "data.imbalance; 0: no validation, as published",
    )


def load(config: Config) -> ImageTable:
    """Read one set.

    Raises:
        InputError: If it is absent and may not be fetched, is not the published one, or is not in
            a known format; pictures in class folders are not the published ones.
    """
    require(config)
    known = SETS[config.set]
    target = data_roots(config.root)[0] / known.archive
    place = find(config) or fetch(known.url, target, md5=known.md5)
    if is_tree(place):
        return _from_tree(place, config, known)
    read = read_official(place, known, verify=config.md5 == "official")
    parts = {"train": read.train, "test": read.test}
    note = f"{known.title}: files were not compared with the published checksums."
    return _table(
        config,
        read.class_names,
        images=np.concatenate([part.images for part in parts.values()]),
        labels=np.concatenate([part.labels for part in parts.values()]),
        ids=[f"{name}/{row}" for name, part in parts.items() for row in range(len(part.labels))],
        notes=() if config.md5 == "official" else (note,),
        hashes={f"{known.folder}/{name}": md5 for name, md5 in read.hashes.items()},
    )


def _from_tree(folder: Path, config: Config, known: Published) -> ImageTable:
    tree = read_tree(folder, known)
    note = (
        f"{known.title} was read from pictures in class folders, not from the published files: "
        "pixels, training rows and test rows may differ from published ones."
    )
    return _table(config, tree.class_names, tree.images, tree.labels, tree.paths, (note,), {})


def _table(
    config: Config,
    class_names: tuple[str, ...],
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    ids: list[str],
    notes: tuple[str, ...],
    hashes: dict[str, str],
) -> ImageTable:
    """The table; the first word of an id is the split."""
    blank = np.full(len(ids), "", dtype=np.str_)
    return ImageTable(
        name=config.set,
        task="multi-class",
        class_names=class_names,
        images=images,
        labels=labels,
        ids=np.array(ids, dtype=np.str_),
        splits=np.array([item.partition("/")[0] for item in ids], dtype=np.str_),
        domains=blank,
        groups=blank,
        notes=notes,
        hashes=hashes,
    )


def find(config: Config) -> Path | None:
    """The folder or the archive of the published files, or the tree; None where there is none."""
    known = SETS[config.set]
    for root in data_roots(config.root):
        for folder in (root / known.folder, root):
            if any((folder / name).is_file() for name in known.train):
                return folder
        for archive in (root / known.archive, root):
            if archive.is_file():
                return archive
        for folder in (root, root / config.set):
            if is_tree(folder):
                return folder
    return None


def present(config: Config) -> str:
    """Where the files are on this machine, or that they are absent; none is read."""
    place = find(config)
    return f"missing ({SETS[config.set].archive})" if place is None else f"in {place}"


def require(config: Config) -> None:
    """Check that the files are there, or may be fetched; none is read.

    Raises:
        InputError: Naming where they were looked for and how to get them, or that pictures in class
            folders have no checksum.
    """
    known, place = SETS[config.set], find(config)
    if place is None and not config.download:
        places = ", ".join(map(str, data_roots(config.root)))
        raise InputError(
            f"{known.title} is not in {places}: neither the folder {known.folder}, nor the archive "
            f"{known.archive}, nor folders train and test of classes. Set data.root, or download "
            f"{known.url} (MD5 {known.md5}) into that folder, or allow the download with "
            "data.download=true"
        )
    if place is not None and is_tree(place):
        _refuse_unofficial(place, config)


def _refuse_unofficial(folder: Path, config: Config) -> None:
    """Refuse a tree, whose pictures have no published checksum, where these are asked for."""
    if config.md5 == "official":
        known = SETS[config.set]
        raise InputError(
            f"{folder} holds pictures in class folders, which have no published checksum, but "
            f"data.md5 is official: the published files of {known.title} are asked for. Set "
            "data.md5=any to use the pictures, which may differ from the published ones in pixels, "
            f"training rows and test rows, or put {known.archive} into data.root"
        )


CONTRACT_KEYS = {"set": "cifar10_lt", "md5": "any", "val_fraction": 0.2}
