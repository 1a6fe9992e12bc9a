"""Where each picture of a DICOM file or series lies in the patient.

Source:
    PS3.3, C.7.6.2 (image plane): ImagePositionPatient is the middle of the first pixel in mm, to
    the patient's left, back and head (LPS); PixelSpacing is the distance between rows, then that
    between columns. C.7.6.16 (frames), C.8.8.3 (doses).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.dicom_values import functional_group
from medldr.data.scans.scan import ScanError

TAGS: Final = (
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "ImagerPixelSpacing",
    "NominalScannedPixelSpacing",
    "SpacingBetweenSlices",
    "SliceThickness",
)
"""Elements that `plane_of` looks at."""


class Plane(NamedTuple):
    """A slice.

    Attributes:
        position: ``(3,)``, mm, LPS, of its first pixel.
        along_row: ``(3,)``, the direction in which columns count up.
        along_column: ``(3,)``, the direction in which rows count up.
        spacing: mm between rows and between columns; None if unknown.
        thickness: mm to the next slice, as far as one slice can know; None if unknown.
    """

    position: NDArray[np.float64]
    along_row: NDArray[np.float64]
    along_column: NDArray[np.float64]
    spacing: tuple[float, float] | None
    thickness: float | None

    @property
    def normal(self) -> NDArray[np.float64]:
        """``(3,)``, the direction across the slice."""
        return np.cross(self.along_row, self.along_column)


def plane_of(dataset: Any, index: int | None = None) -> Plane | None:
    """Where a picture lies.

    Args:
        dataset: Of its file.
        index: Of a frame; None in a file of one.

    Returns:
        The plane; None if the file does not say.

    Raises:
        ScanError: If its directions are not at right angles.
    """
    position = _numbers(_holder(dataset, index, "PlanePositionSequence"), "ImagePositionPatient", 3)
    directions = _numbers(
        _holder(dataset, index, "PlaneOrientationSequence"), "ImageOrientationPatient", 6
    )
    if position is None or directions is None:
        return None
    along_row, along_column = directions[:3], directions[3:]
    lengths = np.linalg.norm(along_row), np.linalg.norm(along_column)
    if min(lengths) < 0.5 or abs(along_row @ along_column) > 1e-2 * lengths[0] * lengths[1]:
        raise ScanError("its ImageOrientationPatient is not two directions at right angles")
    measures = _holder(dataset, index, "PixelMeasuresSequence")
    spacing, _ = spacing_of_pixels(measures)
    return Plane(
        position,
        along_row / lengths[0],
        along_column / lengths[1],
        spacing,
        thickness_of(measures),
    )


def planes_of(dataset: Any, frames: int) -> list[Plane] | None:
    """Where the frames of one file lie; None if one of them has no place, as in a film."""
    offsets = _numbers(dataset, "GridFrameOffsetVector", frames)
    first = None if offsets is None else plane_of(dataset)
    if offsets is not None and first is not None:
        steps = offsets - offsets[0]
        return [first._replace(position=first.position + step * first.normal) for step in steps]
    if not dataset.get("PerFrameFunctionalGroupsSequence"):
        return None
    planes = [plane_of(dataset, index) for index in range(frames)]
    known = [plane for plane in planes if plane is not None]
    return known if len(known) == frames else None


def spacing_of_pixels(dataset: Any) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
    """Mm between rows and between columns, and what was assumed.

    Source:
        Our choice: at the detector or on the film is the best there is where a projection has no
        PixelSpacing; it is larger than in the patient by the geometric magnification.
    """
    for name, where in (
        ("PixelSpacing", ""),
        ("ImagerPixelSpacing", "at the detector"),
        ("NominalScannedPixelSpacing", "on the film"),
    ):
        pair = _numbers(dataset, name, 2)
        if pair is not None and pair.min() > 0:
            said = (f"its spacing is that {where}, not that in the patient",) if where else ()
            return (float(pair[0]), float(pair[1])), said
    return None, ("its pixel spacing is unknown: the file has none, or zero",)


def thickness_of(dataset: Any) -> float | None:
    """Mm from a slice to the next, or at least through it; None if unknown."""
    for name in ("SpacingBetweenSlices", "SliceThickness"):
        found = _numbers(dataset, name, 1)
        if found is not None and found[0] != 0:
            return abs(float(found[0]))
    return None


def _holder(dataset: Any, index: int | None, name: str) -> Any:
    """What has the elements: the file itself or, in an enhanced one, a group of a frame."""
    found = None if index is None else functional_group(dataset, index, name)
    return dataset if found is None else found


def _numbers(dataset: Any, name: str, count: int) -> NDArray[np.float64] | None:
    """That many finite numbers of an element; None where it has others."""
    value = dataset.get(name)
    if value is None:
        return None
    try:
        numbers = np.array(value, np.float64).ravel()
    except (ValueError, TypeError):
        return None
    return numbers if len(numbers) == count and np.isfinite(numbers).all() else None
