"""One item as the image that training, evaluation and prediction see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.scans.crop import around_mask, around_point
from medldr.data.scans.geometry import fit
from medldr.data.scans.intensity import to_unit, value_range
from medldr.data.scans.pictures import as_channels
from medldr.data.scans.read import read_scan
from medldr.data.scans.rules import Rules
from medldr.data.scans.scan import Scan, ScanError
from medldr.data.scans.source import Source


def make_image(source: Source, rules: Rules) -> NDArray[Any]:
    """The image of one item.

    Args:
        source: Where it is.
        rules: Of the data set, resolved.

    Returns:
        ``(C, H, W)`` or ``(C, X, Y, Z)``: uint8 where ``rules.eight_bit``, else float32 in [0, 1].

    Raises:
        ScanError: If it cannot be used.
    """
    scan = read_scan(source, rules.dims, ground=rules.ground, exif=rules.exif)
    scan = as_dims(scan, rules)
    scan = cropped(scan, source, rules)
    if rules.eight_bit:
        return _eight_bit(scan, rules)
    image = to_unit(scan.values, *value_range(scan, rules))
    return fit(as_channels(image, rules.channels), scan.spacing, rules)


def cropped(scan: Scan, source: Source, rules: Rules) -> Scan:
    """The part of a scan that is kept.

    Raises:
        ScanError: If its mask or point does not fit.
    """
    if rules.crop is None:
        return scan
    if source.mask is not None:
        mask = as_dims(read_scan(Source(source.mask), rules.dims), rules)
        return around_mask(scan, mask, rules.crop)
    if source.point is not None:
        return around_point(scan, source.point, rules.crop)
    raise ScanError("its row gives neither a mask nor a point (data.crop)")


def as_dims(scan: Scan, rules: Rules) -> Scan:
    """A scan as a picture or as a volume, as the data set has them.

    A volume of one slice, or the frame that the rules choose, is a picture as radiologists see it:
    the patient's right on the left, the front (in other planes the head) at the top.

    Raises:
        ScanError: If a picture is wanted of several frames, or a volume of a picture.
    """
    if rules.dims == 3:
        if not scan.is_volume:
            raise ScanError(
                "it is a picture, not a volume (data.dims: 3). Give the folder of all its slices, "
                "or train on pictures with data.dims=2"
            )
        return scan
    if not scan.is_volume:
        return scan
    axis = _across(scan)
    count = scan.values.shape[1:][axis]
    if count > 1 and rules.frame == "error":
        raise ScanError(
            f"it has {count} {'frames' if scan.affine is None else 'slices'}, but pictures have "
            "one. Choose one with data.frame=first or middle, or train on volumes with data.dims=3"
        )
    number = 0 if rules.frame == "first" else count // 2 if count > 1 else 0
    flat = np.take(scan.values, number, axis=axis + 1).swapaxes(1, 2)  # rows are the second axis
    if scan.affine is not None:
        flat = flat[:, ::-1, ::-1]
    spacing = scan.spacing
    if spacing is not None:
        kept = [mm for place, mm in enumerate(spacing) if place != axis]
        spacing = (kept[1], kept[0])
    return replace(scan, values=np.ascontiguousarray(flat), spacing=spacing, affine=None)


def _across(scan: Scan) -> int:
    """The axis along which the slices or frames of a volume lie."""
    shape = scan.values.shape[1:]
    if 1 in shape:
        return len(shape) - 1 - shape[::-1].index(1)
    if scan.spacing is None or max(scan.spacing) < 1.5 * min(scan.spacing):
        return 2  # frames, and from foot to head
    return int(np.argmax(scan.spacing))


def _eight_bit(scan: Scan, rules: Rules) -> NDArray[np.uint8]:
    """A picture of 8 bits, resized as Pillow resizes, so that it stays one."""
    pixels: NDArray[np.uint8] = as_channels(scan.values, rules.channels)
    if rules.size is None or pixels.shape[1:] == rules.size:
        return np.ascontiguousarray(pixels)
    height, width = rules.size
    shown = pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
    picture = Image.fromarray(np.ascontiguousarray(shown))
    if rules.pad:
        found = Image.new(picture.mode, (width, height))
        found.paste(picture, ((width - picture.width) // 2, (height - picture.height) // 2))
    else:
        found = picture.resize((width, height), Image.Resampling.BILINEAR)
    array = np.asarray(found)
    return np.ascontiguousarray(array[None] if array.ndim == 2 else array.transpose(2, 0, 1))
