"""Opening a DICOM file: what is one, though its first bytes are missing, and what is none.

Source:
    PS3.10, section 7.1: 128 bytes, ``DICM``, then a header that names the transfer syntax. Some
    exports write the data set alone. Our choice: such a file is taken for what it holds, implicit
    or explicit, if it holds a picture; a file of something else never is.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pydicom
from pydicom.dataset import FileMetaDataset
from pydicom.errors import BytesLengthException, InvalidDicomError
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)

from medldr.data.scans.dicom_elements import PICTURES, make_sense
from medldr.data.scans.scan import ScanError

_BROKEN: Final = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    NotImplementedError,
    IndexError,
    OverflowError,
    RecursionError,  # sequences within sequences, by the thousand
    UnboundLocalError,
    struct.error,
    zlib.error,
    BytesLengthException,
)
"""What pydicom raises for broken files: its reader checks little before it unpacks bytes."""

_FIRST_GROUPS: Final = (b"\x02\x00", b"\x00\x02", b"\x08\x00", b"\x00\x08")
"""Groups 2 and 8, with which a data set begins, in either byte order."""

_NOT_DICOM: Final = "not a DICOM file"


def open_dicom(path: Path, tags: Sequence[str] | None = None) -> tuple[Any, tuple[str, ...]]:
    """What a file holds.

    Args:
        path: The file.
        tags: Read only these elements, and nothing from the pixels on; None for all.

    Returns:
        The data set, with a transfer syntax in its ``file_meta``; and what was assumed.

    Raises:
        ScanError: If it is no DICOM file, or broken before its pixels.
        FileNotFoundError: If there is no such file.
    """
    wanted = None if tags is None else [*tags]
    try:
        if not path.stat().st_size:
            raise ScanError("the file is empty")
        try:
            dataset = _read(path, wanted, force=False)
            whole = True
        except InvalidDicomError as error:
            if _start(path)[:2] not in _FIRST_GROUPS:
                raise ScanError(_NOT_DICOM) from error
            dataset = _read(path, wanted, force=True)
            whole = False
        if not whole and not _holds_picture(dataset, by_header=tags is not None):
            raise ScanError(_NOT_DICOM)
    except FileNotFoundError:
        raise
    except _BROKEN as error:
        if isinstance(error, OSError) and error.strerror:
            raise ScanError(f"unreadable ({error.strerror})") from error
        if _start(path)[128:] != b"DICM":
            raise ScanError(_NOT_DICOM) from error
        raise ScanError("the file is damaged or truncated before its pixels") from error
    make_sense(dataset)
    return dataset, _name_syntax(dataset, whole)


def holds_pixels(dataset: Any) -> bool:
    """Whether a data set that was read to its end has pixels."""
    return any(name in dataset for name in PICTURES)


def _read(path: Path, tags: list[str] | None, *, force: bool) -> Any:
    return pydicom.dcmread(
        path,
        stop_before_pixels=tags is not None,
        force=force,
        specific_tags=tags,
    )


def _holds_picture(dataset: Any, *, by_header: bool) -> bool:
    sized = "SOPClassUID" in dataset and "Rows" in dataset
    return sized and (by_header or holds_pixels(dataset))


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(132)


def _name_syntax(dataset: Any, whole: bool) -> tuple[str, ...]:
    """Put the transfer syntax where decoders look for it, if the file does not name one."""
    if getattr(dataset, "file_meta", None) is None:
        dataset.file_meta = FileMetaDataset()
    if dataset.file_meta.get("TransferSyntaxUID"):
        return () if whole else ("it lacks the 132 bytes that a DICOM file begins with",)
    implicit, little = dataset.original_encoding
    syntax: UID = ImplicitVRLittleEndian if implicit else ExplicitVRLittleEndian
    if not little:
        syntax = ExplicitVRBigEndian
    dataset.file_meta.TransferSyntaxUID = syntax
    lacks = "" if whole else "the 132 bytes that a DICOM file begins with and "
    return (f"it lacks {lacks}the name of its encoding: it was read as {syntax.name}",)
