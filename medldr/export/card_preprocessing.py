"""What `preprocessing.json` says, in sentences for the model card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from medldr.data.reading.ways import OWN_PICTURE, SCAN
from medldr.data.scans.rules import WINDOWS
from medldr.folders.preprocessing_record import Preprocessing, Range


def reading_lines(record: Preprocessing) -> list[str]:
    """How a file becomes a stored image."""
    values = record.reading
    stored = record.stored
    scale = "whole numbers from 0 to 255" if stored.dtype == "uint8" else "numbers from 0 to 1"
    shape = f"{stored.channels} x {times(stored.spatial_size)}"
    last = f"stored image: {shape}, {scale}; this is what the exported network is given"
    if values.get("kind") == SCAN:
        return [*_scan_lines(values), last]
    lines = ["pictures, in colour, resized by Pillow's bilinear filter whatever their aspect ratio"]
    if values.get("kind") == OWN_PICTURE:
        lines.append(f"transparent pixels on {values['ground']}")
        if values["exif"]:
            lines.append("photographs are turned upright, as their camera noted")
    return [*lines, last]


def input_lines(record: Preprocessing) -> list[str]:
    """What the exported network does itself before the first layer."""
    keys = ", ".join(
        f"{key} {value}"
        for key, value in record.transform.items()
        if key in ("size", "channels", "mean", "std", "shape_transform") and value is not None
    )
    name = record.transform.get("name", "none")
    said = f"preset {name} ({keys})" if keys else f"preset {name}"
    shape = f"{record.input.channels} x {times(record.input.spatial_size)}"
    return [f"inside the network: {said}, which gives its layers {shape}"]


def _scan_lines(values: Mapping[str, Any]) -> list[str]:
    volumes = values["dims"] == 3
    axes = "volumes (X, Y, Z), turned to RAS+" if volumes else "pictures (rows, columns)"
    lines = [axes, *_value_lines(values)]
    if values["crop"] is not None:
        lines.append("each scan is cut to a part of it (reading.crop in preprocessing.json)")
    if values["spacing"] is not None:
        lines.append(f"resampled to {times(values['spacing'])} mm")
    if values["size"] is not None:
        how = "borders added or cut evenly" if values["pad"] else "stretched"
        lines.append(f"{how} to {times(values['size'])} pixels")
    return lines


def _value_lines(values: Mapping[str, Any]) -> list[str]:
    grey = "grey" if values["channels"] == 1 else f"{values['channels']} channels"
    if values["eight_bit"]:
        return [f"8 bits, {grey}, transparent pixels on {values['ground']}"]
    window, (low, high) = values["window"], values["percentiles"]
    by_percentiles = f"the percentiles {low:g} and {high:g} of each image"
    if isinstance(window, str) and window in WINDOWS:
        window = WINDOWS[window]
    if not isinstance(window, str):
        said = f"{window[0]:g} and {window[1]:g}"
    elif window == "file":
        said = "the ends of the window that each DICOM file recommends"
    elif window == "percentile":
        said = by_percentiles
    else:
        depth = values["bit_depth"]
        deep = f", of unsigned 16 bits 0 and {2**depth - 1:,}" if depth else ""
        said = (
            f"by what a file declares: of CT in DICOM -1000 and 1000 HU, of unsigned 8 bits 0 and "
            f"255{deep}, else {by_percentiles}"
        )
    return [f"values that become 0 and 1, all else cut off: {said}", grey]


def times(numbers: Iterable[float]) -> str:
    """Numbers along each axis.

    Example:
        >>> times((64, 64, 2.5))
        '64 x 64 x 2.5'
    """
    return " x ".join(f"{n:g}" for n in numbers)


def between(ranges: Iterable[Range]) -> str:
    """Ranges along each axis.

    Example:
        >>> between([(256, 512), (0.5, 0.5)])
        '256 to 512 x 0.5'
    """
    return " x ".join(f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in ranges)
