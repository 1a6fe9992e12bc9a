"""Where each picture of a DICOM file or series lies in the patient, and the volume they make.

Source:
    PS3.3, C.7.6.2 (image plane): ImagePositionPatient is the middle of the first pixel in mm, to
    the patient's left, back and head (LPS); PixelSpacing is the distance between rows, then that
    between columns. C.7.6.16 (frames), C.8.8.3 (doses). Slices are ordered along the normal of
    their plane, never by name or number, and the step between them is the mean one from the first
    to the last, as in ITK's ImageSeriesReader. Our choices: two slices at one place are refused,
    for one of them would have to be left out; uneven steps are told, not resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some
from medldr.data.files.dicom_file import functional_group
from medldr.data.files.geometry import across, as_picture, seen_as
from medldr.data.files.nifti import canonical
from medldr.data.files.scan import ScanError

_SAME_DIRECTION: Final = 1e-3
"""Largest difference between components of two equal directions: a twentieth of a degree."""

_SAME_PLACE: Final = 1e-3
"""mm between two slices at one place; the thinnest slices there are lie 0.1 mm apart."""

_EVEN: Final = 0.01
"""Largest share by which even steps differ, and by which they leave the normal."""

NO_THICKNESS: Final = "its single slice has no thickness: the spacing is unknown"
_NO_SPACING: Final = "its pixel spacing is unknown: the file has none, or zero"


class Plane(NamedTuple):
    """Where a slice lies.

    Attributes:
        position: ``(3,)``, mm, LPS, of its first pixel.
        along_row: ``(3,)``, the direction in which columns count up.
        along_column: ``(3,)``, the direction in which rows count up.
        spacing: mm between rows and between columns; None if unknown.
        thickness: mm to the next slice, as far as one slice can know; None if unknown.
        name: What the slice is called in messages.
    """

    position: NDArray[np.float64]
    along_row: NDArray[np.float64]
    along_column: NDArray[np.float64]
    spacing: tuple[float, float] | None
    thickness: float | None
    name: str

    @property
    def normal(self) -> NDArray[np.float64]:
        """``(3,)``, the direction across the slice."""
        return np.cross(self.along_row, self.along_column)


class Stack(NamedTuple):
    """Where a volume of slices lies.

    Attributes:
        order: Indices of the slices, from the first to the last along the normal.
        affine: ``(4, 4)``, from (column, row, slice) to mm (RAS+), with lengths of 1 mm where
            they are unknown.
        measured: Whether all three lengths are known.
        warnings: Of gaps and tilt, and of what is unknown.
    """

    order: list[int]
    affine: NDArray[np.float64]
    measured: bool
    warnings: tuple[str, ...]


def plane_of(dataset: Any, index: int | None = None, name: str = "") -> Plane | None:
    """Where a picture lies.

    Args:
        dataset: Of its file.
        index: Of a frame; None in a file of one.
        name: What to call it in messages; unset: by its number as a frame.

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
        where = f"{name}: " if name else ""
        raise ScanError(f"{where}its ImageOrientationPatient is not two directions at right angles")
    measures = _holder(dataset, index, "PixelMeasuresSequence")
    spacing, _ = spacing_of_pixels(measures)
    return Plane(
        position,
        along_row / lengths[0],
        along_column / lengths[1],
        spacing,
        thickness_of(measures),
        name or f"frame {(index or 0) + 1}",
    )


def planes_of(dataset: Any, frames: int) -> list[Plane] | None:
    """Where the frames of one file lie; None if one of them has no place, as in a film."""
    offsets = _numbers(dataset, "GridFrameOffsetVector", frames)
    first = None if offsets is None else plane_of(dataset)
    if offsets is not None and first is not None:
        steps = offsets - offsets[0]
        return [
            first._replace(position=first.position + step * first.normal, name=f"frame {number}")
            for number, step in enumerate(steps, 1)
        ]
    if not dataset.get("PerFrameFunctionalGroupsSequence"):
        return None
    planes = [plane_of(dataset, index) for index in range(frames)]
    placed = [plane for plane in planes if plane is not None]
    return placed if len(placed) == frames else None


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
            warnings = (f"its spacing is that {where}, not that in the patient",) if where else ()
            return (float(pair[0]), float(pair[1])), warnings
    return None, (_NO_SPACING,)


def thickness_of(dataset: Any) -> float | None:
    """Mm from a slice to the next, or at least through it; None if unknown."""
    for name in ("SpacingBetweenSlices", "SliceThickness"):
        number = _numbers(dataset, name, 1)
        if number is not None and number[0] != 0:
            return abs(float(number[0]))
    return None


def _holder(dataset: Any, index: int | None, name: str) -> Any:
    """What has the elements: the file itself or, in an enhanced one, a group of a frame."""
    group = None if index is None else functional_group(dataset, index, name)
    return dataset if group is None else group


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


def upright(
    values: NDArray[Any], spacing: tuple[float, float] | None, dataset: Any
) -> tuple[NDArray[Any], tuple[float, float] | None]:
    """A picture as radiologists see it, however it was recorded.

    Source:
        Our choice. A slice that says where it lies becomes the picture that the volume of it alone
        becomes: the patient's right on the left, the front (in other planes the head) at the top.
        A projection (PatientOrientation, PS3.3, C.7.6.1.1.1) has the head, or else the front, at
        the top and the right on the left; what is seen from the side, as a lateral view or a
        breast, keeps its side.

    Args:
        values: ``(C, columns, rows, 1)``, as recorded.
        spacing: mm between rows and between columns; None if unknown.
        dataset: Of the file.

    Returns:
        ``(C, rows, columns)``, and mm between these rows and columns.

    Raises:
        ScanError: If its directions are not at right angles.
    """
    plane = plane_of(dataset, 0)
    if plane is not None:
        volume, affine = canonical(values, stack([plane]).affine)
        if spacing is not None:
            lengths = tuple(np.linalg.norm(affine[:3, :3], axis=0).tolist())
            _, turned = seen_as(volume.shape[1:], lengths, 2)
            assert turned is not None
            spacing = turned[0], turned[1]
        return as_picture(volume, across(volume.shape[1:], None), 0, placed=True), spacing
    picture = as_picture(values, 2, 0, placed=False)
    letters = [str(word)[:1] for word in dataset.get("PatientOrientation") or ()]
    if len(letters) != 2:
        return picture, spacing
    if letters[0] in ("H", "F") and letters[1] not in ("H", "F"):
        picture, letters = picture.swapaxes(1, 2), letters[::-1]
        spacing = spacing and (spacing[1], spacing[0])
    if letters[0] == "R":
        picture = picture[:, :, ::-1]
    if letters[1] in ("H", "A"):
        picture = picture[:, ::-1]
    return picture, spacing


def stack(planes: Sequence[Plane]) -> Stack:
    """Put slices in order and find where their volume lies.

    Args:
        planes: Of each slice, in any order; at least one.

    Raises:
        ScanError: If they are not parallel, differ in spacing, or two have one place.
    """
    first = planes[0]
    _require_parallel(planes)
    places = np.array([plane.position for plane in planes])
    heights = (places - places[0]) @ first.normal
    order = np.argsort(heights, kind="stable").tolist()
    _require_distinct(heights[order], [planes[index].name for index in order])
    warnings: list[str] = []
    step = first.normal * (first.thickness or 1.0)
    if len(planes) > 1:
        step = (places[order[-1]] - places[order[0]]) / (len(planes) - 1)
        warnings += [*_uneven(heights[order]), *_tilted(step, first.normal)]
    elif first.thickness is None:
        warnings.append(NO_THICKNESS)
    if first.spacing is None:
        warnings.append(_NO_SPACING)
    rows, columns = first.spacing or (1.0, 1.0)
    affine = np.eye(4)
    affine[:3, 0] = first.along_row * columns
    affine[:3, 1] = first.along_column * rows
    affine[:3, 2] = step
    affine[:3, 3] = places[order[0]]
    affine[:2] *= -1  # LPS to RAS
    measured = first.spacing is not None and (len(planes) > 1 or first.thickness is not None)
    return Stack(order, affine, measured, tuple(warnings))


def _require_parallel(planes: Sequence[Plane]) -> None:
    first = planes[0]
    turned = [
        plane.name
        for plane in planes
        if max(
            np.abs(plane.along_row - first.along_row).max(),
            np.abs(plane.along_column - first.along_column).max(),
        )
        > _SAME_DIRECTION
    ]
    unlike = turned or [plane.name for plane in planes if plane.spacing != first.spacing]
    spacings = {p.spacing and (round(p.spacing[0], 4), round(p.spacing[1], 4)) for p in planes}
    if turned or len(spacings) > 1:
        raise ScanError(
            f"of its {len(planes)} slices {len(turned)} are not parallel to the first, and they "
            f"have {len(spacings)} pixel spacings. Put those of each orientation and spacing into "
            f"a folder of their own: {some(unlike)} differ from {first.name}"
        )


def _require_distinct(heights: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse places that several slices share."""
    again = np.flatnonzero(np.diff(heights) <= _SAME_PLACE)
    if len(again):
        raise ScanError(
            f"its {len(heights)} slices lie at only {len(heights) - len(again)} places, as echoes "
            "or points of time do. Put those of one volume into a folder of their own: "
            f"{some(f'{names[at]} and {names[at + 1]}' for at in again.tolist())} share one"
        )


def _uneven(heights: NDArray[np.float64]) -> list[str]:
    steps = np.diff(heights)
    usual = float(np.median(steps))
    other = int((np.abs(steps - usual) > _EVEN * usual).sum())
    if not other:
        return []
    return [
        f"{other} of {len(steps)} distances between its slices differ from the usual "
        f"{usual:.4g} mm, from {steps.min():.4g} to {steps.max():.4g} mm: slices may be missing"
    ]


def _tilted(step: NDArray[np.float64], normal: NDArray[np.float64]) -> list[str]:
    across = abs(float(step @ normal))
    aside = float(np.linalg.norm(step - (step @ normal) * normal))
    if aside <= _EVEN * across:
        return []
    angle = np.degrees(np.arctan2(aside, across))
    return [f"its slices are shifted against each other (gantry tilt of {angle:.1f} degrees)"]
