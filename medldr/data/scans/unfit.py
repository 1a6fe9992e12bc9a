"""Why a readable item cannot become an image as the keys of its data set ask.

Everything is told from facts, so that nothing is read twice, and before anything is made of any
item, so that all such items are named at once.
"""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np

from medldr.data.scans.config import ScanConfig
from medldr.data.scans.crop import box_around, margin_around
from medldr.data.scans.dims import a_picture, is_picture, several
from medldr.data.scans.facts import Facts
from medldr.data.scans.intensity import NO_WINDOW, too_deep
from medldr.data.scans.read import of_mask
from medldr.data.scans.scan import ScanError
from medldr.data.scans.source import Source

_MOST_CHANNELS: Final = 64
"""As many as `data.channels` may ask for."""


def unfit(
    facts: Facts, config: ScanConfig, dims: int, source: Source, mask: Facts | None = None
) -> str:
    """Why an item cannot become an image; empty where it can.

    Args:
        facts: What it is.
        config: The section `data`.
        dims: Of the data set.
        source: The item.
        mask: What its mask is, where it is cut around one.
    """
    reasons = (
        _of_axes(facts, config, dims),
        _of_channels(facts, config),
        _of_values(facts, config),
        _of_spacing(facts, config),
        _of_crop(facts, config, dims, source, mask),
    )
    return next(filter(None, reasons), "")


def _of_axes(facts: Facts, config: ScanConfig, dims: int) -> str:
    if dims == 3 and len(facts.spatial) == 2:
        return a_picture()
    if dims == 2 and not is_picture(facts.spatial) and config.frame == "error":
        return several(facts.spatial, facts.spacing, film=facts.frames > 1)
    return ""


def _of_channels(facts: Facts, config: ScanConfig) -> str:
    found, asked = facts.shape[0], config.channels
    if found > _MOST_CHANNELS:
        return (
            f"it has {found:,} channels, and at most {_MOST_CHANNELS} are read. If they are a "
            "series over time, save one volume of it, or their mean"
        )
    if asked == "auto" or found == asked or (found in (1, 3) and asked in (1, 3)):
        return ""
    return f"it has {found} channels, but data.channels asks for {asked}"


def _of_values(facts: Facts, config: ScanConfig) -> str:
    if config.window == "file" and facts.window is None:
        return NO_WINDOW
    depth = config.bit_depth
    if isinstance(depth, str) or config.window != "auto":
        return ""
    stored_with_16 = facts.bits == 16
    return too_deep(facts.high, depth) if stored_with_16 and facts.high > 2**depth - 1 else ""


def _of_spacing(facts: Facts, config: ScanConfig) -> str:
    if config.spacing is None or facts.spacing is not None:
        return ""
    return (
        "it does not say its spacing, which data.spacing needs. Add it to the file "
        "(PixelSpacing in DICOM, pixdim in NIfTI), or leave data.spacing unset"
    )


def _of_crop(
    facts: Facts, config: ScanConfig, dims: int, source: Source, mask: Facts | None
) -> str:
    if config.crop is None:
        return ""
    try:
        if source.point is not None:
            box_around(facts.grid(dims), source.point, config.crop)
        if mask is not None:
            why = _of_axes(mask, config, dims)
            if why:
                return of_mask(why)
            marks = bool(mask.low or mask.high)
            margin_around(facts.grid(dims), mask.grid(dims).spatial, config.crop, marks=marks)
            return _beside(facts, mask)
    except ScanError as error:
        return str(error)
    return ""


def _beside(facts: Facts, mask: Facts) -> str:
    """What to say of a mask of another place than its scan; empty where both agree.

    Source:
        Our choice: half a pixel at any corner. Each is turned by what it says itself, so a mask
        that does not say the same as its scan may mark the patient's other side.
    """
    cure = "Save the mask with the affine of its scan"
    if facts.affine is None and mask.affine is None:
        return ""
    if facts.affine is None or mask.affine is None:
        one, other = ("it", "its mask") if mask.affine is None else ("its mask", "it")
        return f"{one} says how the patient lay, and {other} does not. {cure}"
    corners = np.array([*itertools.product(*((0, n - 1) for n in facts.spatial))])
    moved = (np.array(facts.affine) - np.array(mask.affine))[:3]
    apart = np.linalg.norm(corners @ moved[:, :3].T + moved[:, 3], axis=1).max()
    if apart <= min(facts.spacing or (0.0,)) / 2:
        return ""
    return f"its mask lies up to {apart:.3g} mm beside it, or is turned. {cure}"
