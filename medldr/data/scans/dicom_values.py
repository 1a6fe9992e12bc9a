"""From stored pixels to values: shown white or black at the low end, rescaled, windowed.

Source:
    PS3.3, C.11.1 (modality look-up table and rescaling), C.11.2 (windows), C.7.6.16.2.9 (rescaling
    of each frame), C.8.8.3.4 (doses). Our choices: MONOCHROME1 is turned before the rescaling, so
    that it equals its MONOCHROME2 twin, and its padding (C.7.5.1.1.2), which would become white, is
    as dark as the darkest pixel; a slope of 0 is read as none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydicom.pixels.processing import apply_modality_lut

from medldr.data.scans.dicom_pixels import Pixels
from medldr.data.scans.plain_numbers import finite, plain_numbers, scaled
from medldr.data.scans.scan import ScanError


class Values(NamedTuple):
    """Rescaled frames.

    Attributes:
        frames: ``(frames, rows, columns, channels)``.
        bits: Of unsigned numbers that were not rescaled; else None.
        window: Lowest and highest value to show; None if the file names none.
        warnings: What was replaced.
    """

    frames: NDArray[Any]
    bits: int | None
    window: tuple[float, float] | None
    warnings: tuple[str, ...]


def values_of(dataset: Any, pixels: Pixels) -> Values:
    """The values of all frames of a file.

    Raises:
        ScanError: If the file's own look-up table or rescaling is broken.
    """
    said = list(pixels.warnings)
    if pixels.inverted:
        pixels, padding = _dark_padding(dataset, pixels)
        said += padding
    stored = plain_numbers(pixels.stored)
    if stored.shape[-1] == 3:  # the standard rescales grey only
        return Values(stored, pixels.bits, None, tuple(said))
    if dataset.get("ModalityLUTSequence"):
        frames, bits = _looked_up(dataset, stored[..., 0], pixels.inverted)
        window = _window(dataset)
        if pixels.inverted and window and bits is not None:
            window = _turned(window, 1.0, 0.0, 2**bits - 1)
        return Values(frames[..., None], bits, window, tuple(said))
    if pixels.inverted:
        stored = (pixels.ends - stored.astype(np.int64)).astype(stored.dtype)
    rescales = [rescale_of(dataset, index) for index in range(len(stored))]
    if any(slope == 0 for slope, _ in rescales):
        said.append("its rescale slope is 0, which would make all values equal: it was not applied")
        rescales = [(slope or 1.0, intercept if slope else 0.0) for slope, intercept in rescales]
    window = _window(dataset)
    if pixels.inverted and window:
        window = _turned(window, *rescales[0], pixels.ends)
    if len(set(rescales)) == 1:
        frames = scaled(stored, *rescales[0])
    else:
        frames = np.stack([scaled(f, *r) for f, r in zip(stored, rescales, strict=True)])
    frames, replaced = finite(frames)
    holder = functional_group(dataset, 0, "PixelValueTransformationSequence") or dataset
    if dataset.get("Modality") == "CT" and "RescaleIntercept" not in holder:
        said.append("it does not say how its numbers become Hounsfield units")
    untouched = set(rescales) == {(1.0, 0.0)} and stored.dtype.kind == "u"
    return Values(frames, pixels.bits if untouched else None, window, (*said, *replaced))


def _dark_padding(dataset: Any, pixels: Pixels) -> tuple[Pixels, list[str]]:
    """Inverted pixels whose padding is as dark, which means as high, as the darkest of the others.

    Raises:
        ScanError: If the value that marks padding is not a number.
    """
    value = dataset.get("PixelPaddingValue")
    if value is None or value == "":
        return pixels, []
    try:
        ends = sorted((int(value), int(dataset.get("PixelPaddingRangeLimit") or value)))
    except (ValueError, TypeError) as error:
        raise ScanError("its pixel padding value is not a number") from error
    padding = (pixels.stored >= ends[0]) & (pixels.stored <= ends[1])
    if not padding.any() or padding.all():
        return pixels, []
    darkest = pixels.stored[~padding].max()
    if pixels.stored[padding].min() >= darkest:
        return pixels, []
    stored = np.where(padding, darkest, pixels.stored)
    return pixels._replace(stored=stored), ["its padding would be white and was made dark"]


def rescale_of(dataset: Any, index: int) -> tuple[float, float]:
    """Slope and intercept of a frame; 1 and 0 where the file has none.

    Raises:
        ScanError: If they are no finite numbers.
    """
    holder = functional_group(dataset, index, "PixelValueTransformationSequence") or dataset
    try:
        slope = _number(holder, "RescaleSlope", 1)
        intercept = _number(holder, "RescaleIntercept", 0)
        slope *= _number(dataset, "DoseGridScaling", 1)
    except (ValueError, TypeError) as error:
        raise ScanError("its rescale slope or intercept is not a number") from error
    if not np.isfinite([slope, intercept]).all():
        raise ScanError("its rescale slope or intercept is not finite")
    return slope, intercept


def functional_group(dataset: Any, index: int, name: str) -> Any:
    """What an enhanced file says about a frame, or about all of them; None if it does not."""
    frames = dataset.get("PerFrameFunctionalGroupsSequence") or []
    shared = dataset.get("SharedFunctionalGroupsSequence") or []
    for group in (*frames[index : index + 1], *shared[:1]):
        if group.get(name):
            return group[name].value[0]
    return None


def _number(holder: Any, name: str, otherwise: float) -> float:
    value = holder.get(name)
    return float(otherwise if value is None or value == "" else value)


def _looked_up(
    dataset: Any, stored: NDArray[Any], inverted: bool
) -> tuple[NDArray[Any], int | None]:
    """Values by the file's own table, whose highest entry white is measured from if inverted."""
    try:
        depth = int(dataset.ModalityLUTSequence[0].LUTDescriptor[2])
        # Wide, for pydicom counts entries in the type of the pixels.
        frames = np.asarray(apply_modality_lut(stored.astype(np.int64), dataset))
    except Exception as error:
        raise ScanError("its modality look-up table is broken") from error
    if inverted:
        frames = (2**depth - 1 - frames.astype(np.int64)).astype(frames.dtype)
    return frames, depth


def _window(dataset: Any) -> tuple[float, float] | None:
    holder = functional_group(dataset, 0, "FrameVOILUTSequence") or dataset
    try:
        center, width = (_first(holder.get(f"Window{name}")) for name in ("Center", "Width"))
    except (ValueError, TypeError):
        return None
    if center is None or width is None or not np.isfinite([center, width]).all():
        return None
    if str(holder.get("VOILUTFunction") or "LINEAR") == "LINEAR":
        # PS3.3, C.11.2.1.2.1: a width of 256 has 256 steps and so 255 between its ends.
        center, width = center - 0.5, width - 1
    return (center - width / 2, center + width / 2) if width > 0 else None


def _first(value: Any) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    if not value:  # nothing, an empty text, or a list of none
        return None
    return float(value if isinstance(value, str) else value[0])


def _turned(
    window: tuple[float, float], slope: float, intercept: float, ends: int
) -> tuple[float, float]:
    """A window on inverted values: what was its upper end is its lower one."""
    both = slope * ends + 2 * intercept
    return both - window[1], both - window[0]
