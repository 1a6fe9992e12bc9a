"""What a TIFF says of its planes, and the numbers that Pillow does not decode, by tifffile.

Source:
    OME-TIFF, ImageJ and tifffile name the axes of a file; three planes CYX are one picture, not
    three slices. Our choices: channels come first, and one axis of slices or of times is that of
    frames; whatever else there is, is refused, for nobody can tell what a network should see of
    it. The pages of a file that names no axes are frames, as they come.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.quiet import quiet
from medldr.data.files.scan import ScanError, times, understood

_STARTS: Final = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_ODD: Final = ("float16", "float64", "int8", "int64", "uint64")
"""Types of numbers that Pillow refuses, or takes for others."""


class Layout(NamedTuple):
    """How the pages of a file are to be read.

    Attributes:
        planes: Numbers of the pages that are the channels of each frame; empty: all, as they come.
        odd: Whether `read_page` has to read them.
    """

    planes: tuple[tuple[int, ...], ...] = ()
    odd: bool = False


@quiet()
def layout_of(path: Path) -> Layout:
    """How the pages of a picture file are to be read; of anything but a TIFF as they come.

    Raises:
        ScanError: If its axes are not those of a picture, a volume or a film.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) not in _STARTS:
                return Layout()
        import tifffile  # with the first TIFF, not with a run's start

        with tifffile.TiffFile(path) as tif:
            first: Any = tif.pages[0]
            deep_planes = first.planarconfig == 2 and first.dtype.itemsize > 1
            odd = deep_planes or first.dtype.name in _ODD
            planes = _by_axes(tif) if _names_axes(tif) else ()
            if odd and not planes:
                pages: list[Any] = list(tif.pages)
                planes = tuple((p.index,) for p in pages if not (p.is_reduced or p.is_mask))
            return Layout(planes, odd)
    except (ScanError, MemoryError):
        raise
    except Exception:  # a file that is broken so that Pillow may read it still, or says how
        return Layout()


def _names_axes(tif: Any) -> bool:
    shaped = tif.shaped_metadata if tif.is_shaped else None
    return bool(tif.is_ome or tif.is_imagej or (shaped and "axes" in shaped[0]))


def _by_axes(tif: Any) -> tuple[tuple[int, ...], ...]:
    """Numbers of the pages by frame and channel; empty where the axes are not named after all."""
    if len(tif.series) > 1:
        raise ScanError(f"it holds {len(tif.series)} images. Save the one that is meant on its own")
    series = tif.series[0]
    outer = {
        axis: n for axis, n in zip(series.axes, series.shape, strict=True) if axis not in "YXS"
    }
    if series.kind not in ("ome", "imagej", "shaped") or "I" in outer:
        return ()
    if not {*outer} <= {"C", "Z", "T"} or {"Z", "T"} <= {*outer}:
        raise ScanError(
            f"its axes are {series.axes} ({times(series.shape)}); read are C (channels) and one of "
            "Z (slices) and T (times) before YX. Save the part that is meant as a file of its own"
        )
    pages = list(series.pages)
    if len(pages) != math.prod(outer.values()) or any(
        p is None or p.parent is not tif for p in pages
    ):
        raise ScanError("its planes are not all pages of this file. Save it as one file, by pages")
    numbers = np.array([page.index for page in pages]).reshape(tuple(outer.values()))
    by_frame = np.moveaxis(numbers, [*outer].index("C"), -1) if "C" in outer else numbers[..., None]
    return tuple(map(tuple, by_frame.reshape(-1, by_frame.shape[-1]).tolist()))


@quiet()
def read_page(path: Path, number: int, most: int) -> NDArray[Any]:
    """The numbers ``(C, H, W)`` of a page as they are stored.

    Args:
        path: The file.
        number: Of the page.
        most: Numbers that it may have.

    Raises:
        ScanError: If it has more, or cannot be decoded.
    """
    import tifffile

    why = "its numbers cannot be decoded: it is damaged, or compressed. Save it uncompressed"
    with understood(lambda _: why), tifffile.TiffFile(path) as tif:
        page: Any = tif.pages[number]
        if page.size > most:
            raise ScanError(f"it has {page.size:,} numbers; at most {most:,} are read")
        stored = page.asarray()
    axes = page.axes
    return np.moveaxis(stored, axes.index("S"), 0) if "S" in axes else stored[None]
