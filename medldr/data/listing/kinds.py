"""Which files are scans and which are tables, by their names: one answer for every command."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from medldr.data.files.scan import ARRAYS, DICOM, NIFTI

PICTURES: Final = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""What names of pictures end in, in small or capital letters: as torchvision's ImageFolder."""

OWN_PICTURES: Final = (*PICTURES, ".jfif", ".gif")
"""What they end in where they are not those of a known set."""

SCANS: Final = (*OWN_PICTURES, *NIFTI, *DICOM, *ARRAYS)
"""What names of scans end in."""

ARCHIVE: Final = ".npz"
JSON_LINES: Final = (".jsonl", ".ndjson")
PARQUET: Final = (".parquet", ".pq")
TABLES: Final = (".csv", ".tsv", *JSON_LINES, *PARQUET)

_HEADERS: Final = {".img": ".hdr", ".img.gz": ".hdr.gz"}
"""The header's ending for that of the voxels of an Analyze or NIfTI pair."""
_OF_PAIRS: Final = (*_HEADERS, *_HEADERS.values())
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


def is_second_of_pair(name: str, files: Collection[str]) -> bool:
    """Whether it holds the voxels of a pair whose header is among the files."""
    for ending, header in _HEADERS.items():
        if name.lower().endswith(ending):
            stem = name[: -len(ending)]
            return stem + header in files or stem + header.upper() in files
    return False


def without_pair_ending(path: str) -> str:
    """The same text for both files of an Analyze or NIfTI pair; any other path as it is.

    Example:
        >>> without_pair_ending("a.img") == without_pair_ending("a.HDR") != "a"
        True
    """
    lower = path.lower()
    ending = next((ending for ending in _OF_PAIRS if lower.endswith(ending)), "")
    return path[: -len(ending)] + "\0pair" if ending else path
