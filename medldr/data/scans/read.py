"""Reading one item, whatever its kind; the kind follows from the file's content.

Source:
    Our choice: a name's ending decides only between formats that share their first bytes or have
    none (NIfTI, arrays); DICOM is found by its mark at byte 128, so names without ending work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from medldr.data.scans.scan import Scan, ScanError
from medldr.data.scans.source import ARRAYS, DICOM, NIFTI, Source

READER: int = 1
"""Raised whenever a reader gives other values than before, so that nothing remembered is used."""

_MARK_AT = 128


def read_scan(
    source: Source,
    dims: Literal[2, 3] | None = None,
    *,
    ground: Literal["white", "black"] = "white",
    exif: bool = True,
) -> Scan:
    """What an item holds.

    Args:
        source: Where it is.
        dims: Whether arrays hold pictures or volumes, which other files say themselves; None: what
            their shape suggests.
        ground: Colour behind transparent pixels.
        exif: Whether photographs are turned upright, as their camera noted.

    Raises:
        ScanError: If it cannot be used.
    """
    path = source.path
    try:
        if path.is_dir():
            from medldr.data.scans.dicom_series import read_dicom_series

            return read_dicom_series(path, source.part or None)
        kind = kind_of(path)
        if kind == "array":
            return _array(source, dims)
        if source.part:
            raise ScanError(f"it has no part {source.part!r}: only archives and folders have parts")
        if kind == "nifti":
            from medldr.data.scans.nifti import read_nifti

            return read_nifti(path)
        if kind == "dicom":
            from medldr.data.scans.dicom import read_dicom_file

            return read_dicom_file(path)
        from medldr.data.scans.pictures import read_picture

        return read_picture(path, ground=ground, exif=exif)
    except FileNotFoundError as error:
        raise ScanError("there is no such file") from error
    except IsADirectoryError as error:
        raise ScanError("it is a folder, not a file") from error
    except OSError as error:
        raise ScanError(f"unreadable ({error.strerror or error})") from error


def kind_of(path: Path) -> Literal["nifti", "dicom", "picture", "array"]:
    """The kind of a file, by its ending or its first bytes.

    Raises:
        ScanError: If it is empty.
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(_MARK_AT + 4)
    if not start:
        raise ScanError("the file is empty")
    name = path.name.lower()
    if name.endswith(ARRAYS):
        return "array"
    if name.endswith(NIFTI):
        return "nifti"
    if start[_MARK_AT:] == b"DICM" or name.endswith(DICOM):
        return "dicom"
    if "." not in name and not start.startswith((b"\x89PNG", b"\xff\xd8", b"II", b"MM", b"BM")):
        return "dicom"  # scanners export slices without ending, some without the mark
    return "picture"


def _array(source: Source, dims: Literal[2, 3] | None) -> Scan:
    from medldr.data.scans.arrays import read_npy, read_npz

    if source.path.name.lower().endswith(".npy"):
        if source.part:
            raise ScanError(f"it has no part {source.part!r}: it holds a single array")
        return read_npy(source.path, dims)
    member, index = source.member()
    return read_npz(source.path, member, index, dims)
