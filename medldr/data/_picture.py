"""One picture file: its pixels, or why it cannot be used.

Source:
    Pictures become RGB the way WILDS makes them, by Pillow's conversion: an alpha channel is
    dropped, not blended, and grey is repeated.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB\x60\x82"
_KINDS = ("PNG", "JPEG", "TIFF", "BMP")
"""Of the kinds that Pillow knows, those that are read by itself: for some it starts programs."""

_BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError)
"""What Pillow answers broken files with."""

ABSENT = "there is no such file"


class PictureError(Exception):
    """Why a picture cannot be used, without its name."""


def decode(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """One picture as RGB.

    Args:
        path: The file: PNG, JPEG, TIFF or BMP, whatever its name ends in.
        size: ``(H, W)`` in pixels that it must have.

    Returns:
        ``(3, H, W)`` uint8.

    Raises:
        PictureError: If it cannot be decoded or has another size.
    """
    try:
        with Image.open(path, formats=_KINDS) as picture:
            if picture.size != size[::-1]:
                raise PictureError(_wrong_size(picture.size[::-1], size))
            pixels = np.asarray(picture.convert("RGB"))
    except PictureError:
        raise
    except FileNotFoundError as error:
        raise PictureError(ABSENT) from error
    except _BROKEN as error:
        raise PictureError(_plain(error, path)) from error
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _plain(error: BaseException, path: Path) -> str:
    text = str(error).replace(f" {str(path)!r}", "").strip() or type(error).__name__
    return f"unreadable ({text})"


def _wrong_size(found: tuple[int, int], wanted: tuple[int, int]) -> str:
    return f"it has {found[0]} x {found[1]} pixels, not {wanted[0]} x {wanted[1]}"


def whole(path: Path, size: tuple[int, int]) -> NDArray[np.uint8] | str:
    """The pixels of a picture that is whole to its last checksum, or why it is not."""
    try:
        pixels = decode(path, size)
        with Image.open(path, formats=_KINDS) as picture:
            picture.verify()  # the checksum of each chunk, which decoding does not look at
    except PictureError as error:
        return str(error)
    except _BROKEN as error:
        return _plain(error, path)
    return pixels


def ends_fault(path: Path, size: tuple[int, int]) -> str | None:
    """What the ends of a file tell: signature, size and last chunk of a PNG, else that it is."""
    try:
        with path.open("rb", buffering=0) as file:
            start = file.read(24)
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - len(_PNG_END)))
            end = file.read()
            if not length:
                return "the file is empty"
            if path.suffix.lower() != ".png":
                return None
            if start[:8] != _PNG_START[: len(start)]:
                return "unreadable (it is no PNG file)"
            if len(start) < 24:
                return "the file is cut off"
            width, height = struct.unpack(">II", start[16:24])
            if (height, width) != size:
                return _wrong_size((height, width), size)
            if end != _PNG_END:
                file.seek(0)
                # Bytes after the last chunk do no harm.
                return None if _PNG_END in file.read() else "the file is cut off"
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return f"unreadable ({error.strerror})"
    return None
