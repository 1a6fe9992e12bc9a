"""One picture of a published benchmark: its pixels as published codes see them.

Source:
    Pictures become RGB the way WILDS and torchvision's ImageFolder make them, by Pillow's
    conversion: an alpha channel is dropped, not blended, grey is repeated, and the orientation that
    a camera notes is not applied. Our choice: of 16 bits the upper eight are kept, where Pillow
    would cut everything above 255; pictures of real numbers are refused. Pictures of one's own are
    read by other rules; see `own_picture`.
    Resizing is Pillow's bilinear filter over all pixels below one (antialiased), as
    torchvision's ``Resize((s, s))`` does it with a Pillow picture.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.scans.picture_file import (
    ABSENT,
    faults,
    open_picture,
    require_whole,
    room_for,
    without_texts,
)
from medldr.data.scans.scan import ScanError

__all__ = ["ABSENT", "decode", "squashed", "whole"]


def decode(path: Path, size: tuple[int, int] | None, *, resize: bool = False) -> NDArray[np.uint8]:
    """One picture as RGB.

    Args:
        path: The file: PNG, JPEG, TIFF, BMP, PPM, WebP or GIF (its first picture), whatever its
            name ends in.
        size: ``(H, W)`` in pixels that it must have; None: its own.
        resize: Squash one of another size to it, whatever its aspect ratio, instead of refusing it.

    Returns:
        ``(3, H, W)`` uint8.

    Raises:
        ScanError: If it cannot be decoded or has another size.
    """
    with faults(path):
        rgb = _rgb_of(path, None if resize else size)
        if size is not None and rgb.size != size[::-1]:
            rgb = rgb.resize(size[::-1], Image.Resampling.BILINEAR)
        return _channels_first(rgb)


def whole(path: Path, size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """One picture as RGB at its own size, if it is whole to its last checksum.

    Args:
        path: The file.
        size: ``(H, W)`` that it must have; None: any.

    Returns:
        ``(3, H, W)`` uint8.

    Raises:
        ScanError: If it is absent or damaged, or has another size.
    """
    with faults(path):
        require_whole(path)
        return _channels_first(_rgb_of(path, size))


def squashed(pixels: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture ``(3, h, w)`` at another size ``(H, W)``, whatever its aspect ratio."""
    if pixels.shape[1:] == size:
        return pixels
    picture = Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    return _channels_first(picture.resize(size[::-1], Image.Resampling.BILINEAR))


def _rgb_of(path: Path, size: tuple[int, int] | None) -> Image.Image:
    try:
        return _rgb(path, size)
    except ValueError as error:
        if "MAX_TEXT" not in str(error):
            raise
    return _rgb(io.BytesIO(without_texts(path.read_bytes())), size)


def _rgb(source: Path | BinaryIO, size: tuple[int, int] | None) -> Image.Image:
    with open_picture(source) as picture:
        if size is not None and picture.size != size[::-1]:
            raise ScanError(
                f"it is {picture.height} x {picture.width} pixels, not {size[0]} x {size[1]}"
            )
        with room_for(picture):
            mode = picture.mode
            if mode == "F":
                raise ScanError("its pixels are floating-point numbers. Save it with 8 or 16 bits")
            if mode == "I" and picture.format != "PNG":  # a PNG has 16 bits at most
                raise ScanError("its pixels have 32 bits. Save it with 8 or 16 bits")
            if mode.startswith("I"):
                values = np.asarray(picture) >> 8
                return Image.fromarray(values.astype(np.uint8)).convert("RGB")
            if mode == "P" and "transparency" in picture.info:
                return picture.convert("RGBA").convert("RGB")  # the same colours, and no warning
            return picture.convert("RGB")


def _channels_first(rgb: Image.Image) -> NDArray[np.uint8]:
    return np.ascontiguousarray(np.asarray(rgb).transpose(2, 0, 1))
