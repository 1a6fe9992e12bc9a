"""Volumes and pictures in MetaImage (.mha, .mhd) and NRRD (.nrrd, .nhdr) files, by SimpleITK.

Source:
    ITK's places are those of DICOM (LPS) and become those of NIfTI (RAS+). Our choices: where the
    header does not say how the patient lay, which ITK takes for unturned, the axes stay as stored;
    a file of voxels has to lie beside its header, for a header that somebody sent could name any
    file of this machine; a fourth axis, and the parts of a vector, are channels.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import SimpleITK
from numpy.typing import NDArray

from medldr.data.files.nifti import CUT_OFF, MOST_PACKED, canonical, spacing_of
from medldr.data.files.scan import (
    HEADERS,
    Kind,
    Scan,
    ScanError,
    bits_of,
    finite,
    plain_numbers,
    refuse_bomb,
    times,
)

_sitk: Any = SimpleITK  # without types
_sitk.ProcessObject.SetGlobalWarningDisplay(False)  # what matters is told in a scan's warnings

_HEAD: Final = 1 << 16
_FIELD: Final = re.compile(rb"^\s*([A-Za-z][A-Za-z ]*?)\s*[:=]+\s*(.*?)\s*$", re.DOTALL)
_NAMES_FILE: Final = ("elementdatafile", "data file", "datafile")
_TURNED: Final = {"transformmatrix", "rotation", "orientation"}
_LENGTHS: Final = {"elementspacing", "elementsize", "spacings", "space directions"}
_MM: Final = {"um": 0.001, "µm": 0.001, "cm": 10.0, "m": 1000.0}


class _Header(NamedTuple):
    """What the text of a file says beside what ITK passes on.

    Attributes:
        values: By the name of the field, in small letters.
        voxels: The file of the voxels: the header's own, or one beside it.
        start: Where they begin in it, if that is known; else 0.
    """

    values: dict[str, str]
    voxels: Path
    start: int


def read_itk(path: Path, kind: Kind) -> Scan:
    """Read a file.

    Args:
        path: The file, whatever its name; of two files the header.
        kind: ``metaimage`` or ``nrrd``.

    Returns:
        ``(C, X, Y, Z)``, RAS+ where the header says how the patient lay; of a file of two axes the
        picture ``(C, H, W)``.

    Raises:
        ScanError: If it cannot be read, or its voxels are elsewhere or in several files.
    """
    header = _header(path)
    if not header.voxels.is_file():
        ending = header.voxels.suffix or "file of voxels"
        raise ScanError(f"its {ending} is missing. Put it beside this header")
    reader = _sitk.ImageFileReader()
    reader.SetImageIO("NrrdImageIO" if kind == "nrrd" else "MetaImageIO")
    reader.SetFileName(str(path))
    try:
        reader.ReadImageInformation()
        kind_of_number = _sitk.GetPixelIDValueAsString(reader.GetPixelID())
        _require_room(header, math.prod(reader.GetSize()) * _bytes(reader, kind_of_number))
        image = reader.Execute()
    except RuntimeError as error:  # its text names the file
        why = "its header or its voxels are damaged, truncated, or packed in an unknown way"
        raise ScanError(why) from error
    axes, several = image.GetDimension(), image.GetNumberOfComponentsPerPixel() > 1
    stored = _sitk.GetArrayFromImage(image)
    if axes not in (2, 3, 4) or (axes == 4 and several):
        raise ScanError(f"its shape is {times(stored.shape[::-1])}, not that of a volume")
    channels = np.moveaxis(stored, -1, 0) if several else stored if axes == 4 else stored[None]
    values, replaced = finite(plain_numbers(channels))
    factor, warnings = _mm_per_unit(header)
    lengths = header.values.keys() & _LENGTHS
    spacing = tuple(factor * mm for mm in image.GetSpacing()[:3]) if lengths else None
    if spacing is None:
        warnings += ("its spacing is unknown: its header has none",)
    affine = None
    if axes == 2:
        spacing = spacing and spacing[::-1]
    else:
        values = values.swapaxes(1, 3)
        if spacing and _says_how_patient_lay(header, reader):
            values, affine = canonical(values, _affine(image, factor))
            spacing = spacing_of(affine)
        else:
            warnings += ("its header does not say how the patient lay: its axes stay as stored",)
    return Scan(
        values=np.ascontiguousarray(values),
        kind=kind,
        mode=str(stored.dtype),
        spacing=spacing,
        affine=affine,
        bits=bits_of(values),
        warnings=(*warnings, *replaced),
    )


def voxels_of(path: Path) -> Path | None:
    """The file beside a header that holds its voxels; None if they are in the header's own file."""
    try:
        voxels = _header(path).voxels
    except (ScanError, OSError):
        return None
    return None if voxels == path else voxels


def _header(path: Path) -> _Header:
    """The fields of a header, in whatever order and letters ITK might accept them.

    Raises:
        ScanError: If the header names any file but one beside it, or has no end.
    """
    with path.open("rb") as file:
        text = file.read(_HEAD)
    values: dict[str, str] = {}
    voxels, start, at = path, 0, 0
    for line in re.split(rb"(?<=\n)|(?<=\r)(?!\n)", text):
        at += len(line)
        if not line.strip() and b"NRRD" in text[:4]:
            start = at
            break
        field = _FIELD.match(line)
        if field is None:
            continue
        name, value = field[1].lower().decode(), field[2].decode("utf-8", "surrogateescape")
        values.setdefault(name, value)
        if name not in _NAMES_FILE:
            continue
        if value.casefold() == "local":
            start = start or at
            continue
        other = value.removeprefix("./")
        list_of_files = value.split()[:1] == ["LIST"] or "%" in value
        elsewhere = re.search(r"[/\\]", other) or other in ("", ".", "..")
        if list_of_files or elsewhere or not path.name.lower().endswith(HEADERS):
            raise ScanError(
                "its voxels are not in one file beside its header. Save it as one file, with "
                "SimpleITK: WriteImage(ReadImage(old), 'new.nii.gz')"
            )
        voxels = path.with_name(other)
    if not start and voxels == path:
        raise ScanError("its header has no end: it is damaged, or of another kind")
    return _Header(values, voxels, start if voxels == path else 0)


def _bytes(reader: Any, kind_of_number: str) -> int:
    """Bytes of a voxel, by SimpleITK's words: ``vector of 16-bit signed integer``."""
    bits = re.search(r"(\d+)-bit", kind_of_number)
    return int(bits[1]) // 8 * int(reader.GetNumberOfComponents()) if bits else 1


def _require_room(header: _Header, voxels: int) -> None:
    """Refuse a file that claims more voxels than it can hold, before memory is asked for."""
    values, has = header.values, header.voxels.stat().st_size - header.start
    packed = values.get("compresseddata", "").lower() == "true"
    packed = packed or values.get("encoding", "raw").lower() != "raw"
    stored = values.get("compresseddatasize", "0")
    if voxels > has * (MOST_PACKED if packed else 1) or (stored.isdecimal() and int(stored) > has):
        raise ScanError(CUT_OFF)
    refuse_bomb(voxels, has)


def _mm_per_unit(header: _Header) -> tuple[float, tuple[str, ...]]:
    """Mm per unit of length of the file, and what to say about it."""
    named = header.values.get("distanceunits") or header.values.get("space units", "")
    unit = named.replace('"', " ").split()[:1]
    if not unit or unit[0] not in _MM:
        return 1.0, ()
    return _MM[unit[0]], (f"its lengths are in {unit[0]} and were converted to mm",)


def _says_how_patient_lay(header: _Header, reader: Any) -> bool:
    if reader.HasMetaDataKey("NRRD_space"):  # ITK has turned whatever is anatomical into this
        return bool(reader.GetMetaData("NRRD_space") == "left-posterior-superior")
    return bool(header.values.keys() & _TURNED)


def _affine(image: Any, factor: float) -> NDArray[np.float64]:
    """From indices to mm (RAS+)."""
    axes = image.GetDimension()
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (axes, axes))[:3, :3] * image.GetSpacing()[:3]
    affine[:3, 3] = image.GetOrigin()[:3]
    affine[:2] *= -1  # LPS to RAS
    affine[:3] *= factor
    return affine
