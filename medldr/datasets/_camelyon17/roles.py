"""The role of each hospital of Camelyon17: checked, and stated in notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medldr.datasets._camelyon17 import counts as published
from medldr.datasets._camelyon17.rows import Rows
from medldr.datasets.base import BadFile
from medldr.errors import InputError


def require_hospitals(folder: Path, rows: Rows, split_scheme: str) -> None:
    """Refuse a folder in which a split lacks one of its hospitals.

    Raises:
        InputError: Naming split and hospital, and the hospitals that were found.
    """
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
            "and 4 train. Use the metadata.csv and the patches of the published archive"
        )
    if split_scheme == "mixed-to-test" and not (rows.slides == published.MOVED_SLIDE).any():
        raise InputError(
            f"{folder}: train slide {published.MOVED_SLIDE}: 0 rows, but data.split_scheme="
            "mixed-to-test trains on it. Set data.split_scheme=official, or use the metadata.csv "
            "and the patches of the published archive"
        )


def notes_of(rows: Rows, bad: tuple[BadFile, ...], *, official: bool) -> tuple[str, ...]:
    """What readers of any result should know: roles, and what is missing from the published set."""
    trained = ", ".join(map(str, published.TRAIN_HOSPITALS))
    moved = "" if official else f" and on slide {published.MOVED_SLIDE} of hospital 2"
    notes = [
        f"Camelyon17 trains on hospitals {trained}{moved} (id_val comes from the same slides), "
        f"selects on hospital {published.VAL_HOSPITAL} (val) and is tested on hospital "
        f"{published.TEST_HOSPITAL} (test)."
    ]
    if not official:
        notes.append(
            "The mixed-to-test scheme sees the test hospital in training: its test score does not "
            "measure performance in an unseen hospital."
        )
    lacking = [
        str(hospital)
        for hospital in published.TRAIN_HOSPITALS
        if not ((rows.splits == "id_val") & (rows.hospitals == hospital)).any()
    ]
    if lacking:
        notes.append(
            f"id_val has no patches of hospital {', '.join(lacking)}: scores for seen "
            "hospitals, and the gap to unseen ones, exclude it."
        )
    total = len(rows.paths) + len(bad)
    if bad:
        notes.append(
            f"{len(bad):,} of {total:,} patches were left out because they are missing or broken "
            "(data.on_bad_file=skip); bad_files.csv lists them."
        )
    if total != published.TOTAL:
        notes.append(
            f"This folder has {total:,} of the {published.TOTAL:,} published patches: its numbers "
            "cannot be compared with published ones."
        )
    return tuple(notes)
