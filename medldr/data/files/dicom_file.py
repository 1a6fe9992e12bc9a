"""Opening a DICOM file: what is one, though its first bytes are missing, and what is none.

Source:
    PS3.10, section 7.1: 128 bytes, ``DICM``, then a header that names the transfer syntax. Some
    exports write the data set alone. Our choice: such a file is taken for what it holds, implicit
    or explicit, if it holds a picture; a file of something else never is. An element that is there
    but empty, as anonymisers leave them, is absent.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pydicom
from pydicom.datadict import keyword_for_tag
from pydicom.dataset import FileMetaDataset
from pydicom.errors import InvalidDicomError
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)

from medldr.data.files.scan import ScanError, refuse_bomb, understood

PLACE: Final = (
    *("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing", "ImagerPixelSpacing"),
    *("NominalScannedPixelSpacing", "SpacingBetweenSlices", "SliceThickness"),
)
"""Elements that say where a picture lies."""

SHAPE: Final = ("Rows", "Columns", "SamplesPerPixel", "NumberOfFrames")

DESCRIPTION: Final = (
    *("SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "SeriesNumber", "Modality"),
    *("StudyInstanceUID", "ImageType"),
    *("PatientOrientation", "InstanceNumber", "WindowCenter", "WindowWidth", "VOILUTFunction"),
)
"""Elements that only describe a picture. A broken one counts as missing."""

_DECISIVE: Final = frozenset(
    {
        *PLACE,
        *SHAPE,
        *("PhotometricInterpretation", "PlanarConfiguration", "BitsAllocated", "BitsStored"),
        *("HighBit", "PixelRepresentation", "RescaleSlope", "RescaleIntercept"),
        *("ModalityLUTSequence", "LUTDescriptor", "LUTData", "DoseGridScaling"),
        *("RedPaletteColorLookupTableDescriptor", "RedPaletteColorLookupTableData"),
        *("GreenPaletteColorLookupTableData", "BluePaletteColorLookupTableData"),
        *("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"),
        *("PlanePositionSequence", "PlaneOrientationSequence", "PixelMeasuresSequence"),
        *("PixelValueTransformationSequence", "FrameVOILUTSequence", "GridFrameOffsetVector"),
    }
)
"""Elements that decide values and places. A broken one is not passed over."""

_PIXELS: Final = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")

_FIRST_GROUPS: Final = (b"\x02\x00", b"\x00\x02", b"\x08\x00", b"\x00\x08")
"""Groups 2 and 8, with which a data set begins, in either byte order."""

_NOT_DICOM: Final = "not a DICOM file"

_DEFLATED: Final = str(DeflatedExplicitVRLittleEndian).encode()
_META: Final = 1024
"""Bytes in which a file names its transfer syntax."""
_FIRST_ELEMENT: Final = 144
"""Bytes up to the end of the length of group 2, which counts from there."""


def open_dicom(path: Path, tags: Sequence[str] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Open a file, or read some of its elements.

    Args:
        path: The file.
        tags: Read only these elements, and nothing from the pixels on; None for all.

    Returns:
        The data set, with a transfer syntax in its ``file_meta``; and what was assumed.

    Raises:
        ScanError: If it is no DICOM file, or broken before its pixels.
        FileNotFoundError: If there is no such file.
    """
    keys: dict[str, Any] = {
        "stop_before_pixels": tags is not None,
        "specific_tags": tags and [*tags],
    }

    def why(_: Exception) -> str:
        whole = _start(path)[128:] == b"DICM"
        return "the file is damaged or truncated before its pixels" if whole else _NOT_DICOM

    with understood(why):
        try:
            _refuse_deflated_bomb(path)
            dataset, whole = pydicom.dcmread(path, **keys), True
        except InvalidDicomError as error:
            if _start(path)[:2] not in _FIRST_GROUPS:
                raise ScanError(_NOT_DICOM) from error
            dataset, whole = pydicom.dcmread(path, force=True, **keys), False
            sized = "SOPClassUID" in dataset and "Rows" in dataset
            if not sized or (tags is None and not holds_pixels(dataset)):
                raise ScanError(_NOT_DICOM) from error
    empty = ", ".join(sorted(set(_require_sense(dataset)) & _DECISIVE))
    said = (f"elements that are empty count as absent: {empty}",) if empty else ()
    return dataset, (*_name_syntax(dataset, whole), *said)


def holds_pixels(dataset: Any) -> bool:
    """Whether a data set that was read to its end has pixels."""
    return any(dataset.get(name) for name in _PIXELS)


def functional_group(dataset: Any, index: int, name: str) -> Any:
    """What an enhanced file says about a frame, or about all of them; None if it does not."""
    frames = dataset.get("PerFrameFunctionalGroupsSequence") or []
    shared = dataset.get("SharedFunctionalGroupsSequence") or []
    for group in (*frames[index : index + 1], *shared[:1]):
        if group.get(name):
            return group[name].value[0]
    return None


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(132)


def _refuse_deflated_bomb(path: Path) -> None:
    """Refuse a deflated data set that would fill the memory: pydicom unpacks it whole."""
    with path.open("rb") as file:
        start = file.read(_META)
        if _DEFLATED not in start[:_META] or start[128:132] != b"DICM":
            return
        meta = pydicom.filereader.read_file_meta_info(path)
        if meta.get("TransferSyntaxUID") != DeflatedExplicitVRLittleEndian:
            return
        file.seek(_FIRST_ELEMENT + int(meta.FileMetaInformationGroupLength))
        unpacker, unpacked, size = zlib.decompressobj(-zlib.MAX_WBITS), 0, path.stat().st_size
        while block := unpacker.unconsumed_tail or file.read(1 << 20):
            unpacked += len(unpacker.decompress(block, 1 << 24))
            refuse_bomb(unpacked, size)


def _require_sense(dataset: Any) -> list[str]:
    """Convert the elements that readers use, those of sequences in it too; take out empty ones.

    pydicom converts an element when it is asked for, and raises what it likes if it cannot.

    Returns:
        Names of the empty ones.

    Raises:
        ScanError: If one that decides what the picture is cannot be understood.
    """
    empty: list[str] = []
    for tag in list(dataset.keys()):
        name = keyword_for_tag(tag)
        if name not in _DECISIVE and name not in DESCRIPTION:
            continue
        try:
            element = dataset[tag]
            inner = list(element.value or []) if element.VR == "SQ" else []
        except Exception as error:
            if name in _DECISIVE:
                raise ScanError(f"its element {name} cannot be understood") from error
            del dataset[tag]
            continue
        if element.is_empty:
            empty.append(name)
            del dataset[tag]
        for item in inner:
            empty += _require_sense(item)
    return empty


def _name_syntax(dataset: Any, whole: bool) -> tuple[str, ...]:
    """Put the transfer syntax where decoders look for it, if the file does not name one."""
    if getattr(dataset, "file_meta", None) is None:
        dataset.file_meta = FileMetaDataset()
    if dataset.file_meta.get("TransferSyntaxUID"):
        return () if whole else ("it lacks the 132 bytes that a DICOM file begins with",)
    implicit, little = dataset.original_encoding
    syntax = ImplicitVRLittleEndian if implicit else ExplicitVRLittleEndian
    if not little:
        syntax = ExplicitVRBigEndian
    dataset.file_meta.TransferSyntaxUID = syntax
    lacks = "" if whole else "the 132 bytes that a DICOM file begins with and "
    return (f"it lacks {lacks}the name of its encoding: it was read as {syntax.name}",)
