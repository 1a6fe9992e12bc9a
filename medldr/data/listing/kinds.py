"""Which files are scans and which are tables, by their names: one answer for every command."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import PurePath
from typing import Final

from medldr.data.counting import some
from medldr.data.files.scan import ARRAYS, DICOM, METAIMAGE, NIFTI, NOT_READ, NRRD

PICTURES: Final = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""What names of pictures end in, in small or capital letters: as torchvision's ImageFolder."""

OWN_PICTURES: Final = (*PICTURES, ".jfif", ".gif")
"""What they end in where they are not those of a known set."""

SCANS: Final = (*OWN_PICTURES, *NIFTI, *METAIMAGE, *NRRD, *DICOM, *ARRAYS)
"""What names of scans end in."""

_READ: Final = "NIfTI, DICOM, MetaImage, NRRD, PNG, JPEG, TIFF, BMP, WebP, GIF and .npy are read"
_LISTED: Final = 8
_ENDING: Final = re.compile(r"\.[a-z0-9]{1,4}")

ARCHIVE: Final = ".npz"
JSON_LINES: Final = (".jsonl", ".ndjson")
PARQUET: Final = (".parquet", ".pq")
EXCEL: Final = (".xlsx", ".xlsm")
TABLES: Final = (".csv", ".tsv", *EXCEL, *JSON_LINES, *PARQUET)

_HEADERS: Final = (
    *((".img", ".hdr"), (".img.gz", ".hdr.gz")),
    *((".raw", ".mhd"), (".zraw", ".mhd"), (".raw", ".nhdr"), (".raw.gz", ".nhdr")),
)
"""Endings of the voxels and of the header of a pair: Analyze or NIfTI, MetaImage, NRRD."""
_OF_PAIRS: Final = tuple(itertools.chain.from_iterable(_HEADERS))
_ADDED_BY_SYSTEMS: Final = ("thumbs.db", "desktop.ini")
_LEAFLETS: Final = ("dicomdir", "readme", "license", "copying", "changes", "version")


def is_hidden(name: str) -> bool:
    """Whether a file or folder is passed over in silence, as those that archives of macOS add."""
    return name.startswith(".") or name == "__MACOSX"


def is_added_by_system(name: str) -> bool:
    """Whether it is a file that Windows adds to folders of pictures."""
    return name.lower() in _ADDED_BY_SYSTEMS


def is_scan(name: str, files: Collection[str]) -> bool:
    """Whether a file of a folder is a scan of its own: no archive, no second file of a pair.

    Args:
        name: The file's.
        files: Names of all files of its folder.

    Example:
        >>> [is_scan(n, ["a.hdr", "a.img"]) for n in ("a.hdr", "a.img", "b.img", "c.txt")]
        [True, False, True, False]
    """
    if is_second_of_pair(name, files) or name.lower().endswith(ARCHIVE):
        return False
    return name.lower().endswith(SCANS) or is_slice(name)


def names_scan(path: str) -> bool:
    """Whether a path ends as one to a scan does; a part may follow it after a ``#``."""
    return path.partition("#")[0].lower().endswith(SCANS)


def is_slice(name: str) -> bool:
    """Whether a file is a slice of DICOM, by its name.

    Names without an ending count, also those that are UIDs, but not those of leaflets.

    Example:
        >>> [is_slice(n) for n in ("IM1", "1.2.840.17", "a.DCM", "DICOMDIR", "a.png")]
        [True, True, True, False, False]
    """
    lower = name.lower()
    ending = lower.rpartition(".")[2] if "." in lower else ""
    bare = not ending or ending.isdecimal()
    return lower.endswith(DICOM) or (bare and lower not in _LEAFLETS)


def endings_of(names: Iterable[str]) -> str:
    """What names end in, the most frequent first; what may be part of a person's name is left out.

    Example:
        >>> endings_of(["a.svs", "b.SVS", "notes.txt", "of dr.mueller"])
        '.svs (2), .txt (1), others (1)'
    """
    found = Counter(PurePath(name).suffix.lower() for name in names)
    told: Counter[str] = Counter()
    for ending, count in found.items():
        plain = ending in NOT_READ or _ENDING.fullmatch(ending)
        told[ending if plain else "others"] += count
    return some((f"{ending} ({count:,})" for ending, count in told.most_common()), _LISTED)


def tell_not_read(names: Iterable[str], read: str = _READ) -> str:
    """What to say of files of which none is a scan; empty where there are none.

    Args:
        names: Of the files.
        read: What to say where it is not plain what else to do.

    Example:
        >>> tell_not_read(["a.svs", "notes.txt"])[:44]
        'its files end in .svs (1), .txt (1). A whole'
    """
    listed = list(names)
    if not listed:
        return ""
    found = dict.fromkeys(PurePath(name).suffix.lower() for name in listed)
    cures = dict.fromkeys(NOT_READ[ending] for ending in found if ending in NOT_READ)
    return f"its files end in {endings_of(listed)}. {'. '.join(cures) or read}"


def is_second_of_pair(name: str, files: Collection[str]) -> bool:
    """Whether it holds the voxels of a pair whose header is among the files."""
    return any(
        name[: -len(ending)] + header in files
        for ending, small in _HEADERS
        if name.lower().endswith(ending)
        for header in (small, small.upper())
    )


def without_pair_ending(path: str) -> str:
    """The same text for both files of a pair; any other path as it is.

    Example:
        >>> without_pair_ending("a.img") == without_pair_ending("a.HDR") != "a"
        True
    """
    lower = path.lower()
    ending = next((ending for ending in _OF_PAIRS if lower.endswith(ending)), "")
    return path[: -len(ending)] + "\0pair" if ending else path
