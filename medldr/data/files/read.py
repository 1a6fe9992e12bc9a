"""Reading one item, whatever its kind; the kind follows from the file's content.

Source:
    Our choice: a name's ending decides only where the first bytes do not; DICOM and NIfTI are found
    by their marks at the bytes 128, 344 and 4, so names without ending work. Zipped files are taken
    for NIfTI, the only kind that is kept so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from medldr.data.files.scan import (
    ABSENT,
    ARRAYS,
    DICOM,
    HEADERS,
    METAIMAGE,
    NIFTI,
    NOT_READ,
    NRRD,
    PAIRS,
    Kind,
    Scan,
    ScanError,
    Source,
)
from medldr.folders.files import kind_of_place
from medldr.folders.provenance import installed_version

READER: int = 8
"""Raised whenever a reader gives other values than before, so that nothing remembered is used."""

MASK_GROUND: Final = "black"
"""What is transparent in a mask marks nothing."""

_START: Final = 352
_PICTURES: Final = (b"\x89PNG", b"\xff\xd8", b"II", b"MM", b"BM", b"GIF8", b"RIFF")
_ZIPPED: Final = b"\x1f\x8b"
_NRRD: Final = b"NRRD000"
_BY_NAME: Final[dict[Kind, tuple[str, ...]]] = {
    "array": ARRAYS,
    "nifti": NIFTI,
    "dicom": DICOM,
    "metaimage": METAIMAGE,
    "nrrd": NRRD,
}


def read_scan(
    source: Source,
    dims: Literal[2, 3] | None = None,
    *,
    ground: Literal["white", "black"] = "white",
    exif: bool = True,
) -> Scan:
    """Read one item, whatever its kind.

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
            from medldr.data.files.dicom import read_dicom_series

            return read_dicom_series(path, source.part or None)
        kind = kind_of(path)
        if kind == "array":
            from medldr.data.files.array import read_array

            return read_array(source, dims)
        if source.part:
            raise ScanError(f"it has no part {source.part!r}: only archives and folders have parts")
        if kind == "nifti":
            from medldr.data.files.nifti import read_nifti

            return read_nifti(path)
        if kind in ("metaimage", "nrrd"):
            from medldr.data.files.itk import read_itk

            return read_itk(path, kind)
        if kind == "dicom":
            from medldr.data.files.dicom import read_dicom_file

            return read_dicom_file(path)
        from medldr.data.files.picture import read_picture

        return read_picture(path, ground=ground, exif=exif)
    except FileNotFoundError as error:
        raise ScanError(ABSENT) from error
    except IsADirectoryError as error:
        raise ScanError("it is a folder, not a file") from error
    except MemoryError as error:  # often a header that claims what the file does not hold
        raise ScanError(
            "it needs more memory than is free: its header is damaged, or it is too large for this "
            "machine"
        ) from error
    except OSError as error:
        raise ScanError(f"unreadable ({error.strerror or error})") from error


def second_file(path: Path) -> Path | None:
    """The second file on which what is read of one depends; None where there is none."""
    if path.name.lower().endswith(PAIRS):
        from medldr.data.files.nifti import other_of_pair

        return other_of_pair(path)
    if path.name.lower().endswith(HEADERS):
        from medldr.data.files.itk import voxels_of

        return voxels_of(path)
    return None


def of_mask(reason: str) -> str:
    """Why an item cannot be used: its mask cannot."""
    return f"its mask cannot be used: {reason}"


def kind_of(path: Path) -> Kind:
    """The kind of a file, by its ending or its first bytes.

    Raises:
        ScanError: If it is empty, or of a kind that is not read.
        OSError: If it cannot be read.
    """
    if place := kind_of_place(path):
        raise ScanError(f"it is {place}, not a file")
    with path.open("rb") as file:
        start = file.read(_START)
    if path.suffix.lower() in NOT_READ:
        raise ScanError(NOT_READ[path.suffix.lower()])
    if not start:
        raise ScanError("the file is empty")
    by_name = kind_by_name(path)
    if by_name in ("array", "nifti", "metaimage"):
        return by_name
    if start.startswith(_NRRD) or by_name == "nrrd":
        return "nrrd"
    if start[128:132] == b"DICM" or by_name == "dicom":
        return "dicom"
    if start.startswith(_PICTURES):
        return "picture"
    if start.startswith(_ZIPPED) or start[344:348] == b"n+1\0" or start[4:8] == b"n+2\0":
        return "nifti"
    return "dicom" if by_name == "bare" else "picture"


def kind_by_name(path: Path) -> Kind | Literal["bare", "any"]:
    """What the ending of a name says; two files of one content may differ in this.

    Example:
        >>> kind_by_name(Path("a.NII.gz")), kind_by_name(Path("IM1")), kind_by_name(Path("a.png"))
        ('nifti', 'bare', 'any')
    """
    name = path.name.lower()
    kinds = [kind for kind, endings in _BY_NAME.items() if name.endswith(endings)]
    if kinds:
        return kinds[0]
    return "any" if "." in name else "bare"  # scanners export slices without ending


_READERS: Final = (
    *("numpy", "Pillow", "nibabel", "pydicom", "SimpleITK", "tifffile"),
    *("pylibjpeg", "pylibjpeg-libjpeg", "pylibjpeg-openjpeg", "pylibjpeg-rle"),
    *("python-gdcm", "pyjpegls"),  # pydicom takes these, too
)
_MAKERS: Final = ("torch", "monai")
"""Packages on which the values of a scan depend, and its image.

Source:
    Our choice: what was read or made with others is never taken for what these would give. A
    decoder that is installed later gives a picture where there was a reason to refuse it.
"""


def readers() -> str:
    """What decodes files here."""
    return _told(_READERS)


def makers() -> str:
    """What decodes files and makes images of them here."""
    return _told((*_READERS, *_MAKERS))


def _told(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {installed_version(name)}" for name in packages)
