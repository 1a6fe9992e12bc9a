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
import io
import os
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast

from PIL import Image, UnidentifiedImageError

from medldr.data.files.scan import ABSENT, ScanError

Made = TypeVar("Made")

MOST_PIXELS: Final = 178_956_970
"""The most pixels that a picture may have, over all its frames."""

_CUT_OFF: Final = "the file is truncated"

_KINDS: Final = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "WEBP", "GIF")
"""The formats that Pillow reads by itself; for some others it starts programs."""

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


def from_picture(path: Path, make: Callable[[Image.Image], Made], *, checked: bool) -> Made:
    """What a function makes of a picture of which the head alone was read.

    Args:
        path: The file; its kind follows from its first bytes, not from its name.
        make: Decodes it. Called again where Pillow refuses a PNG for a text that is long once it is
            unpacked, as some microscopes and image generators write them; then without its texts.
        checked: Whether a damaged file is also found where a decoder would not see it: checksums
            of a PNG, and a JPEG whose end is zeros.

    Raises:
        ScanError: If it is absent, damaged, too large, or of another kind.
    """
    try:
        content = _require_whole(path) if checked else None
        try:
            with _opened(path if content is None else io.BytesIO(content)) as picture:
                return make(picture)
        except ValueError as error:
            if "MAX_TEXT" not in str(error):
                raise
        content = path.read_bytes() if content is None else content
        with _opened(io.BytesIO(_without_texts(content))) as picture:
            return make(picture)
    except (ScanError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise ScanError(ABSENT) from error
    except Image.DecompressionBombError as error:
        raise _too_large(int(re.findall(r"\d+", str(error))[0])) from error
    except UnidentifiedImageError as error:
        kinds = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
        raise ScanError(f"unreadable (not a {kinds} file)") from error
    except Exception as error:  # Pillow checks little before it unpacks bytes
        text = str(error).replace(f" {str(path)!r}", "").strip() or type(error).__name__
        raise ScanError(f"unreadable ({text})") from error


def _opened(source: Path | BinaryIO) -> Image.Image:
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


def _require_whole(path: Path) -> bytes | None:
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
        raise ScanError("the file is empty")
    if start == _PNG_START:
        content = path.read_bytes()
        _require_checksums(content)
        return content
    if start.startswith(_JPEG_START) and _jpeg_is_padded(path):
        raise ScanError(_CUT_OFF)  # Pillow takes zeros for picture data and makes grey of them
    return None


def _require_checksums(content: bytes) -> None:
    if content.rfind(_PNG_END) < 0:
        raise ScanError(_CUT_OFF)
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
            raise ScanError(_CUT_OFF)
        length, kind = struct.unpack(">I4s", head)
        end = start + 12 + length
        if end > len(content):
            raise ScanError(_CUT_OFF)
        yield kind, start, end
        start = end


def _without_texts(content: bytes) -> bytes:
    """A PNG without its texts and its colour profile, which no pixel depends on here."""
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
