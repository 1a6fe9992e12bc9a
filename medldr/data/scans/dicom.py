"""One DICOM file: a picture, a volume of frames that have places, or a film."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.dicom_open import open_dicom
from medldr.data.scans.dicom_pixels import Pixels, decode
from medldr.data.scans.dicom_planes import planes_of, spacing_of_pixels
from medldr.data.scans.dicom_stack import Stack, stack
from medldr.data.scans.dicom_values import Values, functional_group, values_of
from medldr.data.scans.orient import canonical, spacing_of
from medldr.data.scans.quiet import quiet
from medldr.data.scans.scan import Scan


def read_dicom_file(path: Path) -> Scan:
    """Read one file.

    Args:
        path: The file, whatever its name.

    Returns:
        Of one frame, a picture ``(C, rows, columns)``, though it may be a slice of a volume, with
        the spacing between rows and between columns. Of several frames that have places, a volume
        ``(C, X, Y, Z)``, RAS+. Of others, ``(C, columns, rows, frames)`` in the order of the file.

    Raises:
        ScanError: If it is no DICOM file, holds no picture, or cannot be decoded.
    """
    with quiet():
        dataset, assumed = open_dicom(path)
        pixels = decode(dataset)
        values = values_of(dataset, pixels)
        said = (*assumed, *values.warnings)
        if len(values.frames) == 1:
            return _picture(dataset, pixels, values, said)
        planes = planes_of(dataset, len(values.frames))
        if planes is None:
            film = values.frames.transpose(3, 2, 1, 0)
            return scan_of(dataset, pixels, values, film, said, frames=len(values.frames))
        placed = stack(planes)
        return volume(dataset, pixels, _ordered(values, placed), placed, said)


def volume(
    dataset: Any, pixels: Pixels, values: Values, placed: Stack, said: tuple[str, ...]
) -> Scan:
    """A volume of slices.

    Args:
        dataset: Of a file of it, for what all have in common.
        pixels: Of that file.
        values: All slices, in the order of their places.
        placed: Where they lie.
        said: Warnings so far.

    Returns:
        ``(C, X, Y, Z)``, RAS+.
    """
    turned, affine = canonical(values.frames.transpose(3, 2, 1, 0), placed.affine)
    said = (*said, *placed.warnings)
    if not placed.measured:
        return scan_of(dataset, pixels, values, turned, said)
    return scan_of(dataset, pixels, values, turned, said, spacing=spacing_of(affine), affine=affine)


def scan_of(
    dataset: Any,
    pixels: Pixels,
    values: Values,
    numbers: NDArray[Any],
    said: tuple[str, ...],
    *,
    spacing: tuple[float, ...] | None = None,
    affine: NDArray[np.float64] | None = None,
    frames: int = 1,
) -> Scan:
    """A scan of numbers in their final order, with what its file says about them."""
    return Scan(
        values=np.ascontiguousarray(numbers),
        kind="dicom",
        mode=pixels.mode,
        spacing=spacing,
        affine=affine,
        bits=values.bits,
        modality=str(dataset.get("Modality") or ""),
        window=values.window,
        frames=frames,
        warnings=tuple(dict.fromkeys(said)),
    )


def _picture(dataset: Any, pixels: Pixels, values: Values, said: tuple[str, ...]) -> Scan:
    measures = functional_group(dataset, 0, "PixelMeasuresSequence") or dataset
    spacing, unknown = spacing_of_pixels(measures)
    picture = values.frames[0].transpose(2, 0, 1)
    return scan_of(dataset, pixels, values, picture, (*said, *unknown), spacing=spacing)


def _ordered(values: Values, placed: Stack) -> Values:
    return values._replace(frames=values.frames[placed.order])
