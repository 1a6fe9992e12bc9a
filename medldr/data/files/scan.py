"""A picture or volume as its file holds it, where it is, and the numbers it may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.origin import Origin

Kind = Literal["nifti", "metaimage", "nrrd", "dicom", "picture", "array"]
Voi = Literal["", "several", "sigmoid", "table"]

NIFTI: Final = (".nii", ".nii.gz", ".hdr", ".img", ".hdr.gz", ".img.gz", ".mgh", ".mgz")
DICOM: Final = (".dcm", ".dicom", ".ima")
PAIRS: Final = (".hdr", ".img", ".hdr.gz", ".img.gz")
ARRAYS: Final = (".npy", ".npz")
METAIMAGE: Final = (".mha", ".mhd")
NRRD: Final = (".nrrd", ".nhdr")
HEADERS: Final = (".mhd", ".nhdr")
"""Of MetaImage and NRRD, those whose voxels are in a file beside them."""

_SLIDE: Final = (
    "A whole slide is not read. Cut it into tiles (OpenSlide, QuPath) and name those; stored "
    "latents of tiles go into medldr.LatentDR in a training loop of your own"
)
_VIDEO: Final = "A video is not read. Save the frames that matter as pictures and name those"
NOT_READ: Final = {
    **dict.fromkeys((".svs", ".ndpi", ".mrxs", ".scn", ".bif", ".vms", ".vmu"), _SLIDE),
    **dict.fromkeys((".mp4", ".avi", ".mov", ".mkv", ".wmv", ".webm", ".mpg", ".mpeg"), _VIDEO),
}
"""Endings of files that are often met and never read: why, and what to do."""

ABSENT: Final = "there is no such file"


class ScanError(Exception):
    """Why a file cannot be used and what helps, without the file's name.

    Attributes:
        origin: See `Scan.origin`.
    """

    origin: Origin | None = None


@contextmanager
def understood(why: Callable[[Exception], str]) -> Iterator[None]:
    """Turn whatever a file makes a library stumble on into a reason: they check little.

    Args:
        why: What to say of an error of a library; one of the system says it itself.

    Raises:
        ScanError: If the file is not as it should be.
        FileNotFoundError: If there is none.
    """
    try:
        yield
    except (ScanError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        system = isinstance(error, OSError) and error.strerror
        raise ScanError(f"unreadable ({system})" if system else why(error)) from error


@dataclass(frozen=True)
class Source:
    """Where one item of a data set is: a file, a folder of slices, or a part of either.

    Attributes:
        path: A file, or a folder with the slices of a DICOM series.
        part: What is meant of it: the UID of a series, or ``member[index]`` of an npz archive;
            empty for all of it, which an archive must then hold a single array for.
        mask: The mask it is cut around; None without.
        point: Middle of the part that is kept; None without.
        images: Each image of an item that has several, in the order of their columns, None for one
            that is missing; `path` and `part` are then those of the first that is there. Empty for
            an item of one image.
    """

    path: Path
    part: str = ""
    mask: Source | None = None
    point: tuple[float, ...] | None = None
    images: tuple[Source | None, ...] = ()

    @classmethod
    def of_several(cls, images: Sequence[Source | None]) -> Source:
        """An item of several images, of which at least one is there."""
        first = next(one for one in images if one is not None)
        return replace(first, images=tuple(images))


@dataclass(frozen=True)
class Scan:
    """One picture or volume, as it was recorded.

    Attributes:
        values: ``(C, H, W)`` for a picture, rows from top to bottom; ``(C, X, Y, Z)`` for a volume,
            whose indices grow towards the patient's right, front and head (RAS+) where the file
            says how the patient lay. Frames of a film and pages of a file are ``(C, W, H, F)``,
            unturned. Numbers in the machine's own byte order, after the file's own rescaling
            (Hounsfield units of a CT).
        kind: Kind of file.
        mode: What a reader of a table wants to see: ``RGB``, ``12-bit grey``, ``int16``.
        spacing: mm between neighbours along each axis of `values` after the first; None if unknown.
        affine: ``(4, 4)``, from indices of a volume to mm (RAS+); None if unknown.
        bits: Bits of an unsigned whole number, where the file says so or its type does (8, 12, 16);
            None for other numbers.
        modality: As DICOM names it (CT, MR, DX); empty if unknown.
        window: Lowest and highest value that the file itself recommends to show; None if none.
        voi: What the file recommends to show beside, or in place of, one window: ``several``
            windows, a ``sigmoid`` of one, or a look-up ``table``; empty if none of these.
        frames: Frames or pages in the file; 1 for a plain picture or volume.
        warnings: What was changed or assumed, a sentence each, without names.
        patient: Digits that stand for the patient whom the header names, from which nobody learns
            who that is; empty where it names none.
        placed: Whether the axes of a volume are the patient's (RAS+) although no affine is known,
            as lengths are missing.
        origin: Of a DICOM file or its slices: recorded, or made of what was; None of other files.
    """

    values: NDArray[Any]
    kind: Kind
    mode: str
    spacing: tuple[float, ...] | None = None
    affine: NDArray[np.float64] | None = None
    bits: int | None = None
    modality: str = ""
    window: tuple[float, float] | None = None
    voi: Voi = ""
    frames: int = 1
    warnings: tuple[str, ...] = ()
    patient: str = ""
    placed: bool = False
    origin: Origin | None = None

    @property
    def channels(self) -> int:
        """1 of grey, 3 of colour, or as many as the file has."""
        return len(self.values)

    @property
    def spatial(self) -> tuple[int, ...]:
        """Pixels along each axis."""
        return self.values.shape[1:]

    @property
    def is_volume(self) -> bool:
        """Whether it has three axes in space, or frames."""
        return self.values.ndim == 4


MOST_UNPACKED: Final = 512 << 20
"""Bytes up to which whatever a file is packed into may be unpacked."""
_MOST_TIMES: Final = 100


def refuse_bomb(unpacked: int, packed: int) -> None:
    """Refuse a small file that would fill the memory, before it is unpacked.

    A scan of the body is packed to a third; masks and empty volumes to a hundredth and less, so
    that up to `MOST_UNPACKED` anything is taken.

    Args:
        unpacked: Bytes that it would take.
        packed: Bytes of the file.

    Raises:
        ScanError: If it would take much more than any scan does.
    """
    if unpacked > max(MOST_UNPACKED, _MOST_TIMES * packed):
        raise ScanError(
            f"its {packed / 2**20:,.1f} MiB would be {unpacked / 2**20:,.0f} MiB unpacked, as no "
            "scan is. If it is meant, save it unpacked"
        )


PYTHON_OBJECTS: Final = (
    "it holds Python objects, which can run a program when they are opened. Save it anew as an "
    "array of numbers: array.astype(np.float32)"
)


def plain_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a type that every later step takes.

    Args:
        values: Of any shape and type.

    Returns:
        Whole numbers and float32, float64 as they are, in the machine's byte order; yes and no
        become uint8, half precision float32, and more than double precision float64.

    Raises:
        ScanError: If they are no real numbers.

    Example:
        >>> plain_numbers(np.array([True, False])).dtype, plain_numbers(np.ones(1, ">f4")).dtype
        (dtype('uint8'), dtype('float32'))
    """
    kind, width = values.dtype.kind, values.dtype.itemsize
    if kind == "c":
        raise ScanError(
            "its numbers are complex. Save their magnitude or their phase as a file of real numbers"
        )
    if kind == "O":
        raise ScanError(PYTHON_OBJECTS)
    if kind == "b":
        return values.astype(np.uint8)
    if kind == "f" and width not in (4, 8):
        return values.astype(np.float32 if width < 4 else np.float64)
    if kind not in "iuf":
        raise ScanError(f"its values are of type {values.dtype}, not numbers")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def finite(values: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Numbers without NaN and infinity.

    Source:
        Our choice: each becomes the lowest finite number of the file, which is air in a CT and
        background in an MR picture; zero would be water in a CT.

    Args:
        values: Of any shape.

    Returns:
        The numbers, in the same array where nothing had to be replaced, and a sentence with the
        count where something had to.

    Raises:
        ScanError: If none is finite.

    Example:
        >>> finite(np.array([np.nan, 2.0, np.inf, 5.0]))[0]
        array([2., 2., 2., 5.])
    """
    if values.dtype.kind != "f":
        return values, ()
    good = np.isfinite(values)
    if good.all():
        return values, ()
    if not good.any():
        raise ScanError("none of its numbers is finite: all are NaN or infinite")
    lowest = values[good].min()
    blank = int(np.isnan(values).sum())
    count = int(values.size - good.sum())
    return np.where(good, values, lowest), (
        f"{count:,} of {values.size:,} numbers are not finite ({blank:,} NaN, {count - blank:,} "
        f"infinite); each is replaced by the lowest finite one, {lowest:g}",
    )


def scaled(stored: NDArray[Any], slope: float, intercept: float) -> NDArray[Any]:
    """``slope * stored + intercept``.

    Source:
        Our choice: computed with double precision; kept in single precision where the stored
        numbers have 16 bits or fewer or are single-precision themselves, whose 24 bits of
        significand lose none of their differences.

    Returns:
        The stored array itself where that changes nothing; else float32, or float64 for stored
        numbers of more than 16 bits.
    """
    if slope == 1 and intercept == 0:
        return stored
    narrow = stored.dtype.itemsize <= 2 or stored.dtype == np.float32
    with np.errstate(all="ignore"):  # what becomes infinite is replaced, and told, by `finite`
        numbers = stored.astype(np.float64)
        numbers *= slope
        numbers += intercept
        return numbers.astype(np.float32) if narrow else numbers


def bits_of(values: NDArray[Any]) -> int | None:
    """8 or 16 for unsigned whole numbers of that many bits; None for others."""
    width = 8 * values.dtype.itemsize
    return width if values.dtype.kind == "u" and width <= 16 else None


def times(shape: tuple[int, ...]) -> str:
    """A shape as text.

    Example:
        >>> times((8, 6, 3))
        '8 x 6 x 3'
    """
    return " x ".join(map(str, shape)) or "a single number"
