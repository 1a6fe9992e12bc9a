"""Where the voxels of a NIfTI file lie, as far as its header can be believed."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from nibabel.spatialimages import HeaderDataError
from numpy.typing import NDArray

from medldr.data.scans.orient import directions, spacing_of, usable

_MM: Final = {1: ("metres", 1000.0), 3: ("micrometres", 0.001)}
"""Codes of ``xyzt_units`` that are not mm (2), or unknown (0), which is read as mm."""


class Place(NamedTuple):
    """Where voxels lie.

    Attributes:
        affine: ``(4, 4)``, from indices to mm (RAS+); None if unknown.
        spacing: mm between voxels; None if unknown.
        warnings: What was wrong or is not known.
    """

    affine: NDArray[np.float64] | None
    spacing: tuple[float, float, float] | None
    warnings: tuple[str, ...]


def place_of(image: Any, stored: Any) -> Place:
    """Where the voxels of an image that nibabel opened lie.

    Args:
        image: The image.
        stored: Its header as the file has it.

    Source:
        Our choices: the sform if its code is above 0 and it maps voxels to places, else such a
        qform, else nothing but the spacing of ``pixdim``; lengths in other units become mm.
    """
    header = image.header
    if "sform_code" not in header:
        if "pixdim" in header:  # Analyze
            return _spacing_only(stored, ("its format does not say how the patient lay",))
        affine = np.asarray(image.affine, np.float64)
        return Place(affine, spacing_of(affine), ()) if usable(affine) else _nowhere()
    said: list[str] = []
    for code, get in (("sform_code", header.get_sform), ("qform_code", header.get_qform)):
        if int(header[code]) <= 0 or (code == "qform_code" and not _lengths(stored)):
            continue
        try:
            affine = np.array(get(), np.float64)
        except (HeaderDataError, ValueError):
            affine = np.zeros((4, 4))
        if usable(affine):
            factor, changed = _factor(header)
            affine[:3] *= factor
            if code == "sform_code":
                said += _contradicted(affine, header, stored)
            return Place(affine, spacing_of(affine), (*said, *changed))
        said.append(f"the {code[:5]} of its header maps no voxel to a place and is left out")
    said.append(
        "its header does not say how the patient lay (sform and qform codes are 0): its axes stay "
        "as stored"
        if not said
        else "how the patient lay is unknown: its axes stay as stored"
    )
    return _spacing_only(stored, tuple(said))


def _contradicted(affine: NDArray[np.float64], header: Any, stored: Any) -> list[str]:
    """What to say where the qform turns or mirrors the voxels otherwise than the sform does."""
    if int(header["qform_code"]) <= 0 or not _lengths(stored):
        return []
    try:
        other = np.array(header.get_qform(), np.float64)
    except (HeaderDataError, ValueError):
        return []
    if not usable(other):
        return []
    taken, left = directions(affine), directions(other)
    if taken == left:
        return []
    return [
        "the sform and the qform of its header say differently how the patient lay: the sform "
        f"({taken}) was taken, not the qform ({left})"
    ]


def _spacing_only(stored: Any, said: tuple[str, ...]) -> Place:
    lengths = _lengths(stored)
    if not lengths:
        return Place(None, None, (*said, "its spacing is unknown: pixdim is zero or not a number"))
    factor, changed = _factor(stored)
    x, y, z = (factor * length for length in lengths)
    return Place(None, (x, y, z), (*said, *changed))


def _nowhere() -> Place:
    return Place(None, None, ("its header does not say where its voxels lie",))


def _lengths(stored: Any) -> tuple[float, ...]:
    """Distances as the header has them; empty where one is not a length."""
    lengths = tuple(abs(float(length)) for length in stored["pixdim"][1:4])
    return lengths if all(np.isfinite(lengths)) and min(lengths) > 0 else ()


def _factor(header: Any) -> tuple[float, tuple[str, ...]]:
    """Mm per unit of length of the file, and what to say about it."""
    code = int(header["xyzt_units"]) & 7 if "xyzt_units" in header else 0
    if code not in _MM:
        return 1.0, ()
    unit, factor = _MM[code]
    return factor, (f"its lengths are in {unit} and were converted to mm",)
