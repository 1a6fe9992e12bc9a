"""A picture file before it is decoded: its kind, how large it is, and whether it is whole.

Source:
    Our choice: up to 178,956,970 pixels are read, the number from which Pillow refuses too. From
    half of it on Pillow warns of an attack, which a slide scan is not: that warning, and Pillow's
    remarks on odd metadata, are passed over by a rule in front of Python's list of warning rules.
    Pillow's own limit, which is one for all threads, stays as it is.
    Checksums of a PNG are compared here, because a decoder skips them.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from PIL import Image, UnidentifiedImageError

from medldr.data.scans.scan import ScanError

MOST_PIXELS: Final = 178_956_970
"""Of a picture that is read, over all its frames."""

ABSENT: Final = "there is no such file"
EMPTY: Final = "the file is empty"
CUT_OFF: Final = "the file is truncated"

_KINDS: Final = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "WEBP", "GIF")
"""The formats that Pillow reads by itself; for some others it starts programs."""

_BROKEN: Final = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error)
"""What Pillow raises for broken files."""

_PNG_START: Final = b"\x89PNG\r\n\x1a\n"
_PNG_END: Final = b"\x00\x00\x00\x00IEND\xaeB`\x82"
_PNG_TEXTS: Final = (b"tEXt", b"zTXt", b"iTXt", b"iCCP")
_JPEG_START: Final = b"\xff\xd8"
_JPEG_END: Final = b"\xff\xd9"
_JPEG_SCAN: Final = b"\xff\xda"

_PASSED_OVER: Final = (
    ("ignore", None, Image.DecompressionBombWarning, None, 0),
    ("ignore", None, UserWarning, re.compile(r"PIL\."), 0),
)

_LARGE: Final = 1 << 25
_one_large = threading.Lock()


@contextlib.contextmanager
def faults(path: Path) -> Iterator[None]:
    """Turn whatever a broken picture raises into a `ScanError` that says why."""
    try:
        yield
    except ScanError:
        raise
    except FileNotFoundError as error:
        raise ScanError(ABSENT) from error
    except Image.DecompressionBombError as error:
        raise _too_large(int(re.findall(r"\d+", str(error))[0])) from error
    except UnidentifiedImageError as error:
        kinds = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        raise ScanError(f"unreadable (not a {kinds} file)") from error
    except _BROKEN as error:
        text = str(error).replace(f" {str(path)!r}", "").strip() or type(error).__name__
        raise ScanError(f"unreadable ({text})") from error


def open_picture(source: Path | BinaryIO) -> Image.Image:
    """A picture of which the head alone was read.

    Raises:
        Image.DecompressionBombError: If it has more than `MOST_PIXELS` pixels.
        Exception: What Pillow raises for broken files; see `faults`.
    """
    rules = cast("list[Any]", warnings.filters)
    for rule in _PASSED_OVER:
        if rule not in rules:  # whoever replaced the list lost it
            rules.insert(0, rule)
    return Image.open(source, formats=_KINDS)


@contextlib.contextmanager
def room_for(picture: Image.Image, frames: int = 1) -> Iterator[None]:
    """Decode large pictures one at a time, whatever the number of threads: each takes a gigabyte.

    Raises:
        ScanError: If all frames together have more than `MOST_PIXELS` pixels.
    """
    pixels = picture.width * picture.height * frames
    if pixels > MOST_PIXELS:
        raise _too_large(pixels)
    with _one_large if pixels > _LARGE else contextlib.nullcontext():
        yield


def _too_large(pixels: int) -> ScanError:
    return ScanError(
        f"it has {pixels:,} pixels; at most {MOST_PIXELS:,} are read. Make it smaller, or cut a "
        "whole slide into patches"
    )


def require_whole(path: Path) -> bytes | None:
    """Refuse a file that its first bytes, its last bytes or its checksums show to be damaged.

    Returns:
        The content of a PNG, all of whose checksums are right; None for other kinds.

    Raises:
        ScanError: If it is damaged.
        OSError: If it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        start = file.read(len(_PNG_START))
    if not start:
        raise ScanError(EMPTY)
    if start == _PNG_START:
        content = path.read_bytes()
        _require_checksums(content)
        return content
    if start.startswith(_JPEG_START) and _jpeg_is_padded(path):
        raise ScanError(CUT_OFF)  # Pillow takes zeros for picture data and makes grey of them
    return None


def _require_checksums(content: bytes) -> None:
    if content.rfind(_PNG_END) < 0:
        raise ScanError(CUT_OFF)
    for kind, start, end in _chunks(content):
        (expected,) = struct.unpack_from(">I", content, end - 4)
        if zlib.crc32(memoryview(content)[start + 4 : end - 4]) != expected:
            name = kind.decode("ascii", "replace")
            raise ScanError(f"unreadable (the checksum of its part {name} is wrong)")


def _chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Type, start and end of each chunk of a PNG; what follows the last one does no harm."""
    start, kind = len(_PNG_START), b""
    while kind != b"IEND":
        head = content[start : start + 8]
        if len(head) < 8:
            raise ScanError(CUT_OFF)
        length, kind = struct.unpack(">I4s", head)
        end = start + 12 + length
        if end > len(content):
            raise ScanError(CUT_OFF)
        yield kind, start, end
        start = end


def without_texts(content: bytes) -> bytes:
    """A PNG without its texts and its colour profile, which no pixel depends on here.

    Pillow refuses a picture for a text that is long once it is unpacked, as some microscopes and
    image generators write them.
    """
    kept = (content[a:b] for kind, a, b in _chunks(content) if kind not in _PNG_TEXTS)
    return b"".join((_PNG_START, *kept))


def _jpeg_is_padded(path: Path) -> bool:
    """Whether a JPEG without an end marker ends in zeros, as after a copy that stopped."""
    with path.open("rb", buffering=0) as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - 16))
        if any(file.read()):
            return False
    content = path.read_bytes()
    return content.rfind(_JPEG_END) < content.rfind(_JPEG_SCAN)
