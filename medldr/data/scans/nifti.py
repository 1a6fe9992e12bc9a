"""Volumes in NIfTI files, and in the files nibabel reads beside them (Analyze, MGH).

Source:
    The NIfTI-1 and NIfTI-2 headers as nifti.nimh.nih.gov defines them: a slope of 0 means that the
    stored numbers are the values; an sform goes before a qform. Our choices: without either of
    them the axes stay as stored; a header that contradicts itself costs what it says there, with
    a warning, and not the volume.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from pathlib import Path
from typing import Any, Final

import nibabel
import numpy as np
from nibabel.filebasedimages import ImageFileError
from nibabel.fileholders import FileHolder
from nibabel.filename_parser import types_filenames
from nibabel.freesurfer.mghformat import MGHError
from nibabel.openers import ImageOpener
from nibabel.spatialimages import HeaderDataError, ImageDataError
from numpy.typing import NDArray

from medldr.data.scans.nifti_place import place_of
from medldr.data.scans.orient import canonical, spacing_of
from medldr.data.scans.plain_numbers import bits_of, finite, plain_numbers, scaled, times
from medldr.data.scans.quiet import quiet
from medldr.data.scans.scan import Scan, ScanError
from medldr.data.scans.source import PAIRS

_GZIP: Final = b"\x1f\x8b"
_ONE_FILE: Final[tuple[Any, ...]] = (nibabel.Nifti1Image, nibabel.Nifti2Image)
_OTHERS: Final = (*PAIRS, ".mgh", ".mgz", ".mgh.gz")
"""Names of pairs of files, which nibabel joins, and of FreeSurfer's volumes."""

_MOST_PACKED: Final = 1100
"""Times that zipping can make zeros smaller: 1032, and some for the header."""

_CUT_OFF: Final = "the file is truncated: it holds fewer voxels than its header says"

_BROKEN: Final = (
    ImageFileError,
    HeaderDataError,
    ImageDataError,
    MGHError,
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    zlib.error,
)
"""What nibabel and gzip raise for broken files."""


def read_nifti(path: Path) -> Scan:
    """Read a volume.

    Args:
        path: A NIfTI-1 or NIfTI-2 file, zipped or not, whatever its name says about that; one of
            a pair ``.hdr`` and ``.img``; or an MGH file.

    Returns:
        ``(C, X, Y, Z)``, RAS+ where the header says how the patient lay. Channels are the volumes
        of ``(X, Y, Z, C)`` or ``(X, Y, Z, 1, C)``, or the colours of RGB voxels.

    Raises:
        ScanError: If it cannot be read, or holds no volume of real numbers.
    """
    with quiet():
        try:
            image, header = _open(path)
            stored = np.asanyarray(image.dataobj.get_unscaled())
            place = place_of(image, header)
        except FileNotFoundError as error:
            raise ScanError(_absent(path)) from error
        except _BROKEN as error:
            raise ScanError(_why(error)) from error
    slope, intercept = float(image.dataobj.slope), float(image.dataobj.inter)
    channels, mode, said = _channels(stored)
    values, replaced = finite(scaled(plain_numbers(channels), slope, intercept))
    affine, spacing = place.affine, place.spacing
    if affine is not None:
        values, affine = canonical(values, affine)
        spacing = spacing_of(affine)
    return Scan(
        values=np.ascontiguousarray(values),
        kind="nifti",
        mode=mode,
        spacing=spacing,
        affine=affine,
        bits=bits_of(values),
        warnings=(*place.warnings, *said, *replaced),
    )


def other_of_pair(path: Path) -> Path:
    """The other file of a pair ``.hdr`` and ``.img``, by the rule by which nibabel finds it.

    Example:
        >>> other_of_pair(Path("brain.hdr.gz")).name, other_of_pair(Path("BRAIN.IMG")).name
        ('brain.img.gz', 'BRAIN.HDR')
    """
    names = types_filenames(str(path), nibabel.Nifti1Pair.files_types)
    header, image = Path(names["header"]), Path(names["image"])
    return image if path.name == header.name else header


def _open(path: Path) -> tuple[Any, Any]:
    """An image whose voxels are not read yet, and its header as stored.

    nibabel mends the header of the image: a voxel of no size gets one of 1 mm.
    """
    if path.name.lower().endswith(_OTHERS):
        if not path.stat().st_size:
            raise ScanError("the file is empty")
        image: Any = nibabel.load(path, mmap=False)
        part = image.file_map.get("header", image.file_map["image"])
        voxels = Path(image.file_map["image"].filename)
        packed = _MOST_PACKED if voxels.name.lower().endswith((".gz", ".mgz")) else 1
        if _bytes_of(image) > packed * voxels.stat().st_size:
            raise ScanError(_CUT_OFF)
        with ImageOpener(part.filename) as file:
            return image, type(image.header).from_fileobj(file, check=False)
    content = path.read_bytes()
    if not content:
        raise ScanError("the file is empty")
    if content.startswith(_GZIP):
        content = gzip.decompress(content)  # to its end, where its checksum is
    for image_class in _ONE_FILE:
        if image_class.header_class.may_contain_header(content[:1024]):
            holder = FileHolder(fileobj=io.BytesIO(content))
            header = image_class.header_class.from_fileobj(io.BytesIO(content), check=False)
            image = image_class.from_file_map({"image": holder}, mmap=False)
            if _bytes_of(image) > len(content):
                raise ScanError(_CUT_OFF)  # before memory is asked for
            return image, header
    raise ScanError("not a NIfTI file")


def _bytes_of(image: Any) -> int:
    voxels: int = math.prod(image.shape)
    return voxels * int(image.get_data_dtype().itemsize)


def _absent(path: Path) -> str:
    if not path.exists():
        return "there is no such file"
    return "the other file of the pair .hdr and .img is missing. Put it beside this one"


def _why(error: BaseException) -> str:
    """What is wrong, in our words: nibabel's name the file."""
    if isinstance(error, EOFError):
        return "the file is truncated: its zipped content ends too early"
    if isinstance(error, (gzip.BadGzipFile, zlib.error)):
        return "the file is damaged: its zipped content cannot be unpacked"
    if isinstance(error, OSError):
        if error.strerror:
            return f"unreadable ({error.strerror})"
        return _CUT_OFF
    if isinstance(error, ImageFileError):
        return "not a NIfTI file"
    return f"unreadable: its header is not valid ({str(error) or type(error).__name__})"


def _channels(stored: NDArray[Any]) -> tuple[NDArray[Any], str, tuple[str, ...]]:
    """Voxels with channels first, what the file calls them, and what was dropped."""
    if not stored.size:
        raise ScanError("it holds no voxels")
    mode = str(stored.dtype.newbyteorder("="))
    said: tuple[str, ...] = ()
    shape = stored.shape
    if stored.dtype.names:
        names = stored.dtype.names
        if set(names) - set("RGBA"):
            raise ScanError(f"its voxels are of type {stored.dtype}, not numbers")
        mode = "RGB"
        colours = np.stack([stored[name] for name in "RGB"])
        if "A" in names:
            said = ("its alpha channel is dropped, not blended",)
        if np.prod(shape[3:], dtype=int) > 1:
            raise ScanError(f"its shape is {times(shape)} voxels of RGB: more than one volume")
        return colours.reshape(3, *_three(shape)), mode, said
    if len(shape) == 5 and shape[3] == 1:
        shape = (*shape[:3], shape[4])  # as ITK writes vectors: the fourth axis is time
    while len(shape) > 4 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) > 4 or len(shape) < 2:
        raise ScanError(
            f"its shape is {times(stored.shape)}, not that of a volume X x Y x Z or of channels "
            "X x Y x Z x C"
        )
    count = shape[3] if len(shape) == 4 else 1
    return np.moveaxis(stored.reshape(*_three(shape), count), -1, 0), mode, said


def _three(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, 1)[:3]
