"""What was published of Camelyon17-WILDS (hospitals, roles, patches) beside what a folder has.

Source:
    Koh et al., "WILDS: A Benchmark of in-the-Wild Distribution Shifts", ICML 2021, appendix E.2,
    and the constants of the `wilds` package. Hospitals count from 0 here and in `wilds`, and from
    1 in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from medldr.datasets.base import BadFile
from medldr.errors import InputError

SIZE: Final = (96, 96)
"""Height and width of a patch in pixels."""

CLASS_NAMES: Final = ("normal", "tumor")

VAL_HOSPITAL: Final = 1
TEST_HOSPITAL: Final = 2
TRAIN_HOSPITALS: Final = (0, 3, 4)
HOSPITALS: Final = (0, 1, 2, 3, 4)

MOVED_SLIDE: Final = 23
"""Slide of the test hospital that the mixed-to-test scheme trains on."""

COUNTS: Final = {
    ("train", 0): 53_425,
    ("train", 3): 116_959,
    ("train", 4): 132_052,
    ("id_val", 0): 6_011,
    ("id_val", 3): 12_879,
    ("id_val", 4): 14_670,
    ("val", VAL_HOSPITAL): 34_904,
    ("test", TEST_HOSPITAL): 85_054,
}
"""Patches per split and hospital of the official scheme."""

TOTAL: Final = 455_954


def domain(hospital: int) -> str:
    """Name of a hospital as a domain.

    Example:
        >>> domain(2)
        'hospital_2'
    """
    return f"hospital_{hospital}"


def group(slide: int) -> str:
    """Name of a slide as a group.

    Example:
        >>> group(3)
        'slide_03'
    """
    return f"slide_{slide:02d}"


def require_hospitals(folder: Path, rows: pd.DataFrame, split_scheme: str) -> None:
    """Refuse a folder in which a split lacks one of its hospitals.

    Raises:
        InputError: Naming split and hospital, and the hospitals that were found.
    """
    roles = [("test", TEST_HOSPITAL), ("val", VAL_HOSPITAL)]
    roles += [("train", hospital) for hospital in TRAIN_HOSPITALS]
    present = set(zip(rows["split"], rows["hospital"], strict=True))
    for split, hospital in roles:
        if (split, hospital) in present:
            continue
        found = rows["hospital"].value_counts().sort_index().to_dict()
        raise InputError(
            f"{folder}: {split} hospital {hospital}: 0 rows; hospitals found: {found} (column "
            "center of metadata.csv). The test split is hospital 2, val is hospital 1, and 0, 3 "
            "and 4 train. Use the metadata.csv and the patches of the published archive"
        )
    if split_scheme == "mixed-to-test" and not (rows["slide"] == MOVED_SLIDE).any():
        raise InputError(
            f"{folder}: train slide {MOVED_SLIDE}: 0 rows, but data.split_scheme="
            "mixed-to-test trains on it. Set data.split_scheme=official, or use the metadata.csv "
            "and the patches of the published archive"
        )


def notes_of(rows: pd.DataFrame, bad: Sequence[BadFile], *, official: bool) -> tuple[str, ...]:
    """What readers of any result should know: roles, and what is missing from the published set."""
    trained = ", ".join(map(str, TRAIN_HOSPITALS))
    moved = "" if official else f" and on slide {MOVED_SLIDE} of hospital 2"
    notes = [
        f"Camelyon17 trains on hospitals {trained}{moved} (id_val comes from the same slides), "
        f"selects on hospital {VAL_HOSPITAL} (val) and is tested on hospital "
        f"{TEST_HOSPITAL} (test)."
    ]
    if not official:
        notes.append(
            "The mixed-to-test scheme sees the test hospital in training: its test score does not "
            "measure performance in an unseen hospital."
        )
    lacking = [
        str(hospital)
        for hospital in TRAIN_HOSPITALS
        if not ((rows["split"] == "id_val") & (rows["hospital"] == hospital)).any()
    ]
    if lacking:
        notes.append(
            f"id_val has no patches of hospital {', '.join(lacking)}: scores for seen "
            "hospitals, and the gap to unseen ones, exclude it."
        )
    total = len(rows) + len(bad)
    if bad:
        notes.append(
            f"{len(bad):,} of {total:,} patches were left out because they are missing or broken "
            "(data.on_bad_file=skip); bad_files.csv lists them."
        )
    if total != TOTAL:
        notes.append(
            f"This folder has {total:,} of the {TOTAL:,} published patches: its numbers "
            "cannot be compared with published ones."
        )
    return tuple(notes)
