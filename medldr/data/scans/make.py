"""One item as the image that training, evaluation and prediction see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.scans.crop import around_mask, around_point
from medldr.data.scans.dims import as_dims
from medldr.data.scans.geometry import fit
from medldr.data.scans.intensity import to_unit, value_range
from medldr.data.scans.pictures import as_channels
from medldr.data.scans.read import read_mask, read_scan
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
    return image_of(
        read_scan(source, rules.dims, ground=rules.ground, exif=rules.exif), source, rules
    )


def image_of(scan: Scan, source: Source, rules: Rules) -> NDArray[Any]:
    """The same, of a scan that was read.

    Args:
        scan: What the item holds.
        source: Where it is, and what it is cut around.
        rules: Of the data set, resolved.

    Raises:
        ScanError: If it cannot be used.
    """
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
        mask = read_mask(source.mask, rules.dims, exif=rules.exif)
        return around_mask(scan, as_dims(mask, rules), rules.crop)
    if source.point is not None:
        return around_point(scan, source.point, rules.crop)
    raise ScanError("its row gives neither a mask nor a point (data.crop)")


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
        found.paste(picture, (_start(width, picture.width), _start(height, picture.height)))
    else:
        found = picture.resize((width, height), Image.Resampling.BILINEAR)
    array = np.asarray(found)
    return np.ascontiguousarray(array[None] if array.ndim == 2 else array.transpose(2, 0, 1))


def _start(wanted: int, has: int) -> int:
    """Where the first pixel comes to lie along an axis; below 0 where it is cut off.

    Source:
        MONAI's ``ResizeWithPadOrCrop``, which places images of floating point.

    Example:
        >>> _start(10, 7), _start(4, 7)
        (1, -1)
    """
    return (wanted - has) // 2 if wanted >= has else wanted // 2 - has // 2
