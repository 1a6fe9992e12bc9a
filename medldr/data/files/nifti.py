"""Volumes in NIfTI files, and in the files nibabel reads beside them (Analyze, MGH).

Source:
    The NIfTI-1 and NIfTI-2 headers as nifti.nimh.nih.gov defines them: a slope of 0 means that the
    stored numbers are the values; an sform goes before a qform. Our choices: the sform if its code
    is above 0 and it maps voxels to places, else such a qform, else nothing but the spacing of
    ``pixdim``; lengths in other units become mm; a header that contradicts itself costs what it
    says there, with a warning, and not the volume.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple

import nibabel
import numpy as np
from nibabel import orientations
from nibabel.filebasedimages import ImageFileError
from nibabel.fileholders import FileHolder
from nibabel.filename_parser import types_filenames
from nibabel.openers import ImageOpener
from nibabel.spatialimages import HeaderDataError
from numpy.typing import NDArray

from medldr.data.files.quiet import quiet
from medldr.data.files.scan import (
    MOST_UNPACKED,
    PAIRS,
    Scan,
    ScanError,
    bits_of,
    finite,
    plain_numbers,
    refuse_bomb,
    scaled,
    times,
    understood,
)

_GZIP: Final = b"\x1f\x8b"
_ONE_FILE: Final[tuple[Any, ...]] = (nibabel.Nifti1Image, nibabel.Nifti2Image)
_OTHERS: Final = (*PAIRS, ".mgh", ".mgz", ".mgh.gz")
"""Names of pairs of files, which nibabel joins, and of FreeSurfer's volumes."""

_HEADER: Final = 1024
"""Bytes that hold a header of either version."""

MOST_PACKED: Final = 1100
"""Times that zipping can make zeros smaller: 1032, and some for the header."""

CUT_OFF: Final = "the file is truncated: it holds fewer voxels than its header says"

_MM: Final = {1: ("metres", 1000.0), 3: ("micrometres", 0.001)}
"""Codes of ``xyzt_units`` that are not mm (2), or unknown (0), which is read as mm."""


@quiet()
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
    with understood(_why):
        image, header = _open(path)
        stored = np.asanyarray(image.dataobj.get_unscaled())
        place = _place_of(image, header)
    slope, intercept = float(image.dataobj.slope), float(image.dataobj.inter)
    channels, mode, warnings = _channels(stored)
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
        warnings=(*place.warnings, *warnings, *replaced),
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
        other = other_of_pair(path) if path.name.lower().endswith(PAIRS) else path
        if not other.is_file():
            ending = next(ending for ending in PAIRS if other.name.lower().endswith(ending))
            raise ScanError(f"its {ending} is missing. Put it beside this file")
        image: Any = nibabel.load(path, mmap=False)
        part = image.file_map.get("header", image.file_map["image"])
        voxels = Path(image.file_map["image"].filename)
        packed = MOST_PACKED if voxels.name.lower().endswith((".gz", ".mgz")) else 1
        if _bytes_of(image) > packed * voxels.stat().st_size:
            raise ScanError(CUT_OFF)
        refuse_bomb(_bytes_of(image), voxels.stat().st_size)
        with ImageOpener(part.filename) as file:
            return image, type(image.header).from_fileobj(file, check=False)
    content = path.read_bytes()
    if content.startswith(_GZIP):
        content = _unzipped(content)
    for image_class in _ONE_FILE:
        if image_class.header_class.may_contain_header(content[:_HEADER]):
            holder = FileHolder(fileobj=io.BytesIO(content))
            header = image_class.header_class.from_fileobj(io.BytesIO(content), check=False)
            image = image_class.from_file_map({"image": holder}, mmap=False)
            if _bytes_of(image) > len(content):
                raise ScanError(CUT_OFF)  # before memory is asked for
            return image, header
    raise ScanError("not a NIfTI file")


def _unzipped(packed: bytes) -> bytes:
    """A zipped NIfTI file, up to the voxels that its header speaks of."""
    with gzip.open(io.BytesIO(packed)) as file:
        content = file.read(_HEADER)
        size = _size(content)
        refuse_bomb(size, len(packed))
        content += file.read(max(size - len(content), 0))
        size = len(content)
        while block := file.read(1 << 20):  # to its end, where its checksum is
            size += len(block)
            refuse_bomb(size, len(packed))
    return content


def _size(start: bytes) -> int:
    """Bytes up to the end of the voxels, as a header says."""
    for image_class in _ONE_FILE:
        if image_class.header_class.may_contain_header(start):
            header = image_class.header_class.from_fileobj(io.BytesIO(start), check=False)
            first = float(header["vox_offset"])
            voxels = math.prod(map(int, header.get_data_shape()))
            size = voxels * int(header.get_data_dtype().itemsize)
            return size + (int(first) if 0 <= first < MOST_UNPACKED else len(start))
    return 0


def _bytes_of(image: Any) -> int:
    voxels: int = math.prod(image.shape)
    return voxels * int(image.get_data_dtype().itemsize)


def _why(error: BaseException) -> str:
    """What is wrong, in our own words, because those of nibabel name the file."""
    if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)):
        return "the file is truncated or damaged: its zipped content cannot be unpacked"
    if isinstance(error, OSError):
        return CUT_OFF
    if isinstance(error, ImageFileError):
        return "not a NIfTI file"
    return f"unreadable: its header is not valid ({str(error) or type(error).__name__})"


def _channels(stored: NDArray[Any]) -> tuple[NDArray[Any], str, tuple[str, ...]]:
    """Voxels with channels first, the name of their type, and a warning if any were dropped."""
    if not stored.size:
        raise ScanError("it holds no voxels")
    mode = str(stored.dtype.newbyteorder("="))
    shape = stored.shape
    if stored.dtype.names:
        names = stored.dtype.names
        if set(names) - set("RGBA"):
            raise ScanError(f"its voxels are of type {stored.dtype}, not numbers")
        colours = np.stack([stored[name] for name in "RGB"])
        warnings = ("its alpha channel is dropped, not blended",) if "A" in names else ()
        if np.prod(shape[3:], dtype=int) > 1:
            raise ScanError(f"its shape is {times(shape)} voxels of RGB: more than one volume")
        return colours.reshape(3, *_three(shape)), "RGB", warnings
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
    return np.moveaxis(stored.reshape(*_three(shape), count), -1, 0), mode, ()


def _three(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, 1)[:3]


# Where voxels lie


class _Place(NamedTuple):
    """Where voxels lie.

    Attributes:
        affine: ``(4, 4)``, from indices to mm (RAS+); None if unknown.
        spacing: mm between voxels; None if unknown.
        warnings: What was wrong or is not known.
    """

    affine: NDArray[np.float64] | None
    spacing: tuple[float, ...] | None
    warnings: tuple[str, ...]


def _place_of(image: Any, stored: Any) -> _Place:
    """Where the voxels of an image that nibabel opened lie.

    Args:
        image: The image.
        stored: Its header as the file has it; nibabel mends that of the image.
    """
    header = image.header
    if "sform_code" not in header:
        if "pixdim" in header:  # Analyze
            return _spacing_only(stored, ("its format does not say how the patient lay",))
        affine = np.asarray(image.affine, np.float64)
        if not _usable(affine):
            return _Place(None, None, ("its header does not say where its voxels lie",))
        return _Place(affine, spacing_of(affine), ())
    warnings: list[str] = []
    sform, qform = _sform_and_qform(header, stored)
    for name, matrix in (("sform", sform), ("qform", qform)):
        if matrix is None:
            continue
        if not _usable(matrix):
            warnings.append(f"the {name} of its header maps no voxel to a place and is left out")
            continue
        factor, changed = _mm_per_unit(header)
        matrix[:3] *= factor
        if name == "sform" and qform is not None and _usable(qform):
            taken, left = _directions(matrix), _directions(qform)
            if taken != left:
                warnings.append(
                    "the sform and the qform of its header say differently how the patient lay: "
                    f"the sform ({taken}) was taken, not the qform ({left})"
                )
        return _Place(matrix, spacing_of(matrix), (*warnings, *changed))
    warnings.append("its header does not say how the patient lay: its axes stay as stored")
    return _spacing_only(stored, tuple(warnings))


def _sform_and_qform(
    header: Any, stored: Any
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Both affines of a header; None where its code is 0, zeros where it is not valid."""
    affines: list[NDArray[np.float64] | None] = []
    for code, get in (("sform_code", header.get_sform), ("qform_code", header.get_qform)):
        if int(header[code]) <= 0 or (code == "qform_code" and not _lengths(stored)):
            affines.append(None)
            continue
        try:
            affines.append(np.array(get(), np.float64))
        except (HeaderDataError, ValueError):
            affines.append(np.zeros((4, 4)))
    return affines[0], affines[1]


def _spacing_only(stored: Any, warnings: tuple[str, ...]) -> _Place:
    lengths = _lengths(stored)
    if not lengths:
        return _Place(
            None, None, (*warnings, "its spacing is unknown: pixdim is zero or not a number")
        )
    factor, changed = _mm_per_unit(stored)
    return _Place(None, tuple(factor * length for length in lengths), (*warnings, *changed))


def _lengths(stored: Any) -> tuple[float, ...]:
    """Distances as the header has them; empty where one is not a length."""
    lengths = tuple(abs(float(length)) for length in stored["pixdim"][1:4])
    return lengths if all(np.isfinite(lengths)) and min(lengths) > 0 else ()


def _mm_per_unit(header: Any) -> tuple[float, tuple[str, ...]]:
    """Mm per unit of length of the file, and what to say about it."""
    code = int(header["xyzt_units"]) & 7 if "xyzt_units" in header else 0
    if code not in _MM:
        return 1.0, ()
    unit, factor = _MM[code]
    return factor, (f"its lengths are in {unit} and were converted to mm",)


def _usable(affine: NDArray[Any]) -> bool:
    """Whether an affine maps indices to places: finite, and no axis of it vanishes."""
    linear = np.asarray(affine, np.float64)[:3, :3]
    if not np.isfinite(affine).all():
        return False
    lengths = np.linalg.norm(linear, axis=0)
    return bool(lengths.min() > 0 and abs(np.linalg.det(linear / lengths)) > 1e-6)


def spacing_of(affine: NDArray[Any]) -> tuple[float, float, float]:
    """Mm between neighbours along each axis: the lengths of an affine's columns."""
    x, y, z = np.linalg.norm(affine[:3, :3], axis=0).tolist()
    return x, y, z


def _directions(affine: NDArray[Any]) -> str:
    """Where each axis points, as far as one letter says it: ``LAS``."""
    codes = orientations.aff2axcodes(affine)  # type: ignore[no-untyped-call]
    return "".join(map(str, codes))


def canonical(
    values: NDArray[Any], affine: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Flip and exchange axes until they point as nearly to RAS+ as they can; nothing is resampled.

    Source:
        The rule of ``nibabel.as_closest_canonical``, of which these are the parts.

    Args:
        values: ``(C, X, Y, Z)``.
        affine: ``(4, 4)``, from its indices to mm (RAS+); finite, and no axis of it vanishes.

    Returns:
        The values, contiguous, and their affine: oblique and sheared ones stay so.

    Example:
        >>> turned, affine = canonical(np.arange(2).reshape(1, 2, 1, 1), np.diag([-1.0, 1, 1, 1]))
        >>> turned.ravel(), affine[0].tolist()
        (array([1, 0]), [1.0, 0.0, 0.0, -1.0])
    """
    turns = orientations.io_orientation(affine)  # type: ignore[no-untyped-call]
    last = np.moveaxis(values, 0, -1)
    turned = orientations.apply_orientation(last, turns)  # type: ignore[no-untyped-call]
    back = orientations.inv_ornt_aff(turns, values.shape[1:])  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(np.moveaxis(turned, -1, 0)), affine.astype(np.float64) @ back
