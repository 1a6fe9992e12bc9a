"""One picture file: its pixels, or why it cannot be used.

Source:
    Pictures become RGB the way WILDS and torchvision's ImageFolder make them, by Pillow's
    conversion: an alpha channel is dropped, not blended, grey is repeated, and the orientation that
    a camera notes is not applied. Our choice: of 16 bits the upper eight are kept, where Pillow
    would cut everything above 255; pictures of real numbers are refused.
    Resizing is Pillow's bilinear filter over all pixels below one (antialiased), as
    torchvision's ``Resize((s, s))`` does it with a Pillow picture.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB`\x82"
_JPEG_START = b"\xff\xd8"
_JPEG_END = b"\xff\xd9"
_JPEG_SCAN = b"\xff\xda"
_KINDS = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "WEBP", "GIF")
"""The formats that Pillow reads by itself; for some others it starts programs."""

_BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError)
"""What Pillow raises for broken files."""

ABSENT: Final = "there is no such file"
_CUT_OFF: Final = "the file is truncated"
_EMPTY: Final = "the file is empty"


class PictureError(Exception):
    """Why a picture cannot be used, without its name."""


def decode(path: Path, size: tuple[int, int], *, resize: bool = False) -> NDArray[np.uint8]:
    """One picture as RGB.

    Args:
        path: The file: PNG, JPEG, TIFF, BMP, PPM, WebP or GIF (its first picture), whatever its
            name ends in.
        size: ``(H, W)`` in pixels that it must have.
        resize: Squash one of another size to it, whatever its aspect ratio, instead of refusing it.

    Returns:
        ``(3, H, W)`` uint8.

    Raises:
        PictureError: If it cannot be decoded or has another size.
    """
    try:
        with Image.open(path, formats=_KINDS) as picture:
            if picture.size != size[::-1] and not resize:
                raise PictureError(_wrong_size(picture.size[::-1], size))
            rgb = _rgb(picture)
            if rgb.size != size[::-1]:
                rgb = rgb.resize(size[::-1], Image.Resampling.BILINEAR)
            pixels = np.asarray(rgb)
    except PictureError:
        raise
    except FileNotFoundError as error:
        raise PictureError(ABSENT) from error
    except _BROKEN as error:
        raise PictureError(_plain(error, path)) from error
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _rgb(picture: Image.Image) -> Image.Image:
    mode = picture.mode
    if mode == "F":
        raise PictureError("its pixels are floating-point numbers. Save it with 8 or 16 bits")
    if mode == "I" and picture.format != "PNG":  # a PNG has 16 bits at most
        raise PictureError("its pixels have 32 bits. Save it with 8 or 16 bits")
    if mode.startswith("I"):
        values = np.asarray(picture) >> 8
        return Image.fromarray(values.astype(np.uint8)).convert("RGB")
    if mode == "P" and "transparency" in picture.info:
        picture = picture.convert("RGBA")  # the same colours, without a warning
    return picture.convert("RGB")


def _plain(error: BaseException, path: Path) -> str:
    text = str(error).replace(f" {str(path)!r}", "").strip() or type(error).__name__
    return f"unreadable ({text})"


def _wrong_size(found: tuple[int, int], wanted: tuple[int, int]) -> str:
    return f"it is {found[0]} x {found[1]} pixels, not {wanted[0]} x {wanted[1]}"


def whole(path: Path, size: tuple[int, int], *, resize: bool = False) -> NDArray[np.uint8] | str:
    """The pixels of a picture that is whole to its last checksum, or why it is not."""
    try:
        if resize and _jpeg_is_padded(path):
            return _CUT_OFF  # Pillow takes zeros for picture data and makes grey of them
        pixels = decode(path, size, resize=resize)
        with Image.open(path, formats=_KINDS) as picture:
            picture.verify()  # the checksum of each chunk, which decoding does not look at
    except PictureError as error:
        return str(error)
    except _BROKEN as error:
        return _plain(error, path)
    return pixels


def ends_fault(path: Path, size: tuple[int, int]) -> str | None:
    """What the ends of a file show: signature, size and last chunk of a PNG, else its existence."""
    try:
        with path.open("rb", buffering=0) as file:
            start = file.read(24)
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - len(_PNG_END)))
            end = file.read()
            if not length:
                return _EMPTY
            if path.suffix.lower() != ".png":
                return None
            if start[:8] != _PNG_START[: len(start)]:
                return "unreadable (not a PNG file)"
            if len(start) < 24:
                return _CUT_OFF
            width, height = struct.unpack(">II", start[16:24])
            if (height, width) != size:
                return _wrong_size((height, width), size)
            if end != _PNG_END:
                file.seek(0)
                # Bytes after the last chunk do no harm.
                return None if _PNG_END in file.read() else _CUT_OFF
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return f"unreadable ({error.strerror})"
    return None


def tree_fault(path: Path, size: tuple[int, int]) -> str | None:
    """Why a picture of any size and kind cannot be used, without decoding a PNG or a JPEG.

    A file's name does not matter, only how it begins. The ends of other formats do not show
    whether the file is whole, so those are decoded.
    """
    try:
        with path.open("rb", buffering=0) as file:
            start = file.read(24)
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - len(_PNG_END)))
            end = file.read()
            if not length:
                return _EMPTY
            if start[:8] == _PNG_START:
                if end == _PNG_END:
                    return None
                file.seek(0)
                return None if _PNG_END in file.read() else _CUT_OFF
            if start[:2] == _JPEG_START and end.endswith(_JPEG_END):
                return None
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return f"unreadable ({error.strerror})"
    found = whole(path, size, resize=True)
    return found if isinstance(found, str) else None


def _jpeg_is_padded(path: Path) -> bool:
    """Whether a JPEG without an end marker ends in zeros, as after a copy that stopped."""
    with path.open("rb", buffering=0) as file:
        if file.read(2) != _JPEG_START:
            return False
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - 16))
        if any(file.read()):
            return False
        file.seek(0)
        content = file.read()
    return content.rfind(_JPEG_END) < content.rfind(_JPEG_SCAN)
