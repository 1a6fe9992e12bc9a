"""Camelyon17-WILDS: tumor in patches of lymph nodes; five hospitals, two of them never trained on.

455,954 patches of 96 x 96 pixels from 50 slides of 5 hospitals. Three hospitals train and give
``id_val``, one (``val``) selects, one (``test``) is read once. A patch is *tumor* if its central
32 x 32 pixels hold any. Domains are hospitals, groups are slides.

Patches are read when they are asked for. Before that each is looked at for being there, whole and
of the right size; what is not is an error, or is left out and listed (`data.on_bad_file`).

Source:
    Bandi et al., "From Detection of Individual Metastases to Classification of Lymph Node Status
    at the Patient Level", IEEE TMI 2019 (CC0), as patches of Koh et al., "WILDS", ICML 2021.
    Labels, splits, hospitals and slides come from the `wilds` package's own loader.
    Our choice: an id is the name of the patch's file; a slide has no name of the patient in it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from medldr.data.pictures import ABSENT, PictureFiles
from medldr.datasets import _camelyon17_counts as published
from medldr.datasets._camelyon17_folder import PATCHES, find, locate, require_folder
from medldr.datasets._camelyon17_rows import Rows, read_rows
from medldr.datasets._wilds import require_wilds
from medldr.datasets._wilds_predictions import submission
from medldr.datasets.base import BadFile, DatasetConfig, ImageTable
from medldr.errors import InputError
from medldr.files import checksum

__all__ = ["Config", "examine", "load", "load_again", "present", "require", "submission"]

_LISTED: Final = 5


class Config(DatasetConfig):
    """Keys of the dataset ``camelyon17``."""

    name: Literal["camelyon17"] = "camelyon17"
    split_scheme: Literal["official", "mixed-to-test"] = Field(
        "official", description="of WILDS; mixed-to-test trains on slide 23 of the test hospital"
    )
    on_bad_file: Literal["error", "skip"] = Field(
        "error", description="a patch that is absent or broken: stop, or leave it out and list it"
    )


def load(config: Config) -> ImageTable:
    """Read labels, splits, hospitals and slides; the patches are only looked at.

    Raises:
        InputError: If the folder is absent or in another layout, metadata.csv is broken, a patch
            is absent or broken and may not be left out, or a split lacks a hospital of its own.
    """
    return _read(config, None)


def load_again(config: Config, bad_files: tuple[BadFile, ...]) -> ImageTable:
    """What `load` gives, where it is known since a pack was made which patches cannot be used.

    Raises:
        InputError: As `load`; but only `LazyImages.stamp` tells whether a patch was replaced.
    """
    return _read(config, bad_files)


def _read(config: Config, known: tuple[BadFile, ...] | None) -> ImageTable:
    require_wilds()
    folder = locate(config.root, download=config.download)
    rows = read_rows(folder, config.split_scheme)
    pictures = PictureFiles(folder, rows.paths, published.SIZE)
    looked = pictures.faults(title="looking at the patches") if known is None else known
    bad = tuple(looked)
    if bad:
        _refuse_bad(folder, bad, len(pictures), skip=config.on_bad_file == "skip")
        kept = _without(rows.paths, bad)
        rows, pictures = rows.take(kept), pictures.take(kept)
    _require_hospitals(folder, rows, config.split_scheme)
    official = config.split_scheme == "official"
    return ImageTable(
        name="camelyon17" if official else "camelyon17_mixed_to_test",
        task="binary",
        class_names=published.CLASS_NAMES,
        images=pictures,
        labels=rows.labels,
        ids=np.array([path.rpartition("/")[2].removesuffix(".png") for path in rows.paths]),
        splits=rows.splits,
        domains=_names(rows.hospitals, published.domain),
        groups=_names(rows.slides, published.group),
        notes=_notes(rows, bad, official=official),
        hashes={
            "metadata.csv": checksum(folder / "metadata.csv", "sha256"),
            "patches": pictures.digest(),
        },
        shared_groups=(("train", "id_val"),),
        bad_files=bad,
    )


def present(config: Config) -> str:
    """Where the folder is on this machine, or that it is absent; no patch is looked at."""
    folder = find(config.root)
    return "absent (camelyon17_v1.0)" if folder is None else f"in {folder}"


def require(config: Config) -> None:
    """Check that the folder is there, or may be fetched; nothing of it is read.

    Raises:
        InputError: Naming the folder, where it was looked for and how to get it.
    """
    require_wilds()
    require_folder(config.root, download=config.download)


def examine(config: Config) -> dict[str, Any]:
    """Compare a folder with what was published; every patch is decoded.

    Counts are of the official scheme whatever `split_scheme` is, as only its are published.

    Returns:
        ``folder``; ``counts``, one record per split and domain with ``found`` (usable patches) and
        ``published``; ``missing`` and ``extra``, lists of paths; ``unreadable``, a list of
        (path, reason).

    Raises:
        InputError: If there is no such folder, it is in another layout, or metadata.csv is broken.
    """
    require_wilds()
    folder = locate(config.root, download=False)
    rows = read_rows(folder, "official")
    pictures = PictureFiles(folder, rows.paths, published.SIZE)
    bad = pictures.faults(decoded=True, title="decoding the patches")
    good = rows.take(_without(rows.paths, bad))
    found = {
        key: int(((good.splits == key[0]) & (good.hospitals == key[1])).sum())
        for key in {**published.COUNTS, **dict.fromkeys(_places(good), 0)}
    }
    return {
        "folder": str(folder),
        "counts": [
            {
                "split": split,
                "domain": published.domain(hospital),
                "found": count,
                "published": published.COUNTS.get((split, hospital), 0),
            }
            for (split, hospital), count in found.items()
        ],
        "missing": [file.path for file in bad if file.reason == ABSENT],
        "unreadable": [tuple(file) for file in bad if file.reason != ABSENT],
        "extra": _extra(folder, rows.paths),
    }


def _names(numbers: NDArray[np.int64], name: Any) -> NDArray[np.str_]:
    known, which = np.unique(numbers, return_inverse=True)
    return np.array([name(number) for number in known.tolist()], dtype=np.str_)[which]


def _places(rows: Rows) -> list[tuple[str, int]]:
    pairs = zip(rows.splits.tolist(), rows.hospitals.tolist(), strict=True)
    return sorted(set(pairs))


def _without(paths: list[str], bad: tuple[BadFile, ...] | list[BadFile]) -> NDArray[np.int64]:
    out = {file.path for file in bad}
    return np.array([row for row, path in enumerate(paths) if path not in out], dtype=np.int64)


def _extra(folder: Path, paths: list[str]) -> list[str]:
    known = set(paths)
    found = []
    for parent, _, files in os.walk(folder / PATCHES):
        below = Path(parent).relative_to(folder).as_posix()
        found += [f"{below}/{name}" for name in files if f"{below}/{name}" not in known]
    return sorted(found)


def _refuse_bad(folder: Path, bad: tuple[BadFile, ...], total: int, *, skip: bool) -> None:
    absent = [file.path for file in bad if file.reason == ABSENT]
    broken = [f"{file.path} ({file.reason})" for file in bad if file.reason != ABSENT]
    if skip and len(bad) < total:
        return
    said = [
        f"{len(files)} of the {total} patches that metadata.csv names {what}, "
        f"for example {', '.join(files[:_LISTED])}"
        for files, what in ((absent, "are not there"), (broken, "cannot be used"))
        if files
    ]
    raise InputError(
        f"{folder}: {'; '.join(said)}. Extract the archive again, or leave them out with "
        f"data.on_bad_file=skip. `medldr data check camelyon17 {folder}` lists them"
    )


def _require_hospitals(folder: Path, rows: Rows, split_scheme: str) -> None:
    """Refuse a folder in which a split lacks a hospital that it stands for."""
    roles = [("test", published.TEST_HOSPITAL), ("val", published.VAL_HOSPITAL)]
    roles += [("train", hospital) for hospital in published.TRAIN_HOSPITALS]
    names, counts = np.unique(rows.hospitals, return_counts=True)
    found = dict(zip(names.tolist(), counts.tolist(), strict=True))
    for split, hospital in roles:
        if ((rows.splits == split) & (rows.hospitals == hospital)).any():
            continue
        raise InputError(
            f"{folder}: {split} hospital {hospital}: 0 rows; hospitals found: {found} (column "
            "center of metadata.csv). The test split is hospital 2, val is hospital 1, and 0, 3 "
            "and 4 train. Take the metadata.csv and the patches of the published archive"
        )
    if split_scheme == "mixed-to-test" and not (rows.slides == published.MOVED_SLIDE).any():
        raise InputError(
            f"{folder}: train slide {published.MOVED_SLIDE}: 0 rows, but data.split_scheme="
            "mixed-to-test trains on it. Set data.split_scheme=official, or take the metadata.csv "
            "and the patches of the published archive"
        )


def _notes(rows: Rows, bad: tuple[BadFile, ...], *, official: bool) -> tuple[str, ...]:
    trained = ", ".join(map(str, published.TRAIN_HOSPITALS))
    moved = "" if official else f" and on slide {published.MOVED_SLIDE} of hospital 2"
    notes = [
        f"Camelyon17 trains on hospitals {trained}{moved} (their id_val is of the same slides), "
        f"selects on hospital {published.VAL_HOSPITAL} (val) and is tested on hospital "
        f"{published.TEST_HOSPITAL} (test)."
    ]
    if not official:
        notes.append(
            "The scheme mixed-to-test sees the test hospital while training: its test score is no "
            "score of an unseen hospital."
        )
    total = len(rows.paths) + len(bad)
    if bad:
        notes.append(
            f"{len(bad):,} of {total:,} patches were left out because they are absent or broken "
            "(data.on_bad_file=skip); bad_files.csv lists them."
        )
    if total != published.TOTAL:
        notes.append(
            f"This folder has {total:,} of the {published.TOTAL:,} published patches: its numbers "
            "cannot be compared with published ones."
        )
    return tuple(notes)
