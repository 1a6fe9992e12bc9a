"""Picture files (PNG, JPEG, TIFF, BMP, PPM, WebP, GIF) as a viewer shows them, at their own depth.

Source:
    Our choice: what a person sees is what a network gets; see `picture_frame`. Of an animated PNG,
    WebP or GIF and of a TIFF with pages all frames are read; a TIFF's pages that are marked as
    smaller copies or as masks are not, nor is the preview that a camera keeps behind a photograph.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.scans.picture_file import (
    faults,
    open_picture,
    require_whole,
    room_for,
    without_texts,
)
from medldr.data.scans.picture_frame import Frame, Ground, decoded, tag_of, upright
from medldr.data.scans.scan import Scan, ScanError

_SUBFILE: Final = 254
_SMALLER_COPY_OR_MASK: Final = 1 | 4


def read_picture(
    path: Path, *, ground: Ground = "white", exif: bool = True, first: bool = False
) -> Scan:
    """A picture as it was recorded; the kind follows from its first bytes, not from its name.

    Args:
        path: The file.
        ground: Colour behind transparent pixels.
        exif: Whether it is turned upright, as its camera noted. A TIFF always is: how its rows lie
            is part of that format.
        first: Whether only the first frame is decoded.

    Returns:
        Its values, ``(1, H, W)`` or ``(3, H, W)``: uint8 with 8 bits, uint16 with 16 (12 where the
        file says so), int32 or float32 without a number of bits. Of several frames
        ``(C, W, H, F)``, or with ``first`` the first one alone. NaN and infinity are replaced by
        the lowest number. The warnings count transparent pixels, and name what was changed.

    Raises:
        ScanError: If it is absent, damaged, too large, or of another kind.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.png")
        ...     Image.new("RGBA", (4, 2), (0, 0, 0, 0)).save(file)
        ...     scan = read_picture(file, ground="white")
        >>> scan.values.shape, int(scan.values.min()), scan.warnings[0]
        ((3, 2, 4), 255, '8 of 8 pixels are transparent, which are seen on white (data.ground)')
    """
    with faults(path):
        content = require_whole(path)
        if content is None:
            return _read(path, ground, exif, first)
        try:
            return _read(io.BytesIO(content), ground, exif, first)
        except ValueError as error:
            if "MAX_TEXT" not in str(error):
                raise
        return _read(io.BytesIO(without_texts(content)), ground, exif, first)


def _read(source: Path | BinaryIO, ground: Ground, exif: bool, first: bool) -> Scan:
    with open_picture(source) as picture:
        pages = _pages(picture)
        taken = pages[:1] if first else pages
        with room_for(picture, len(taken)):
            frames = list(_frames(picture, taken, ground, exif))
    values, bits, mode, _ = frames[0]
    if len(frames) > 1:
        values = _stacked([frame.values for frame in frames])
    return Scan(
        values=values,
        kind="picture",
        mode=mode,
        bits=bits,
        frames=len(pages),
        warnings=tuple(dict.fromkeys(text for frame in frames for text in frame.warnings)),
    )


def _pages(picture: Image.Image) -> list[int]:
    """Numbers of the frames that are pictures of their own."""
    count = int(getattr(picture, "n_frames", 1))
    if count == 1 or picture.format == "MPO":  # a photograph and its preview, or its second eye
        return [0]
    if picture.format != "TIFF":
        return list(range(count))
    found = []
    for number in range(count):
        picture.seek(number)
        if not tag_of(picture, _SUBFILE) & _SMALLER_COPY_OR_MASK:
            found.append(number)
    return found or [0]


def _frames(
    picture: Image.Image, numbers: list[int], ground: Ground, exif: bool
) -> Iterator[Frame]:
    for number in numbers:
        if number or picture.tell() != number:
            picture.seek(number)
        frame = decoded(picture, ground)
        yield upright(frame, picture) if exif else frame


def _stacked(frames: list[NDArray[Any]]) -> NDArray[Any]:
    colours = max(len(frame) for frame in frames)
    same = [as_channels(frame, 3) if colours == 3 else frame for frame in frames]
    kinds = list(dict.fromkeys((frame.shape[1:], frame.dtype.name) for frame in same))
    if len(kinds) > 1:
        listed = " and ".join(f"{h} x {w} pixels of {dtype}" for (h, w), dtype in kinds[:2])
        raise ScanError(
            f"its {len(frames)} pages are not alike ({listed}). Save the one that is meant as a "
            "file of its own"
        )
    return np.ascontiguousarray(np.stack(same, axis=-1).swapaxes(1, 2))


def as_channels(values: NDArray[Any], channels: int) -> NDArray[Any]:
    """Values with one channel or three.

    Source:
        Grey is repeated; colour becomes grey by the luma of ITU-R BT.601, in the fixed-point
        numbers of Pillow's ``convert("L")`` where values are whole, so that both agree.

    Args:
        values: ``(C, ...)``.
        channels: 1 or 3.

    Raises:
        ScanError: If they have neither one channel nor three.

    Example:
        >>> as_channels(np.uint8([[[255]], [[0]], [[0]]]), 1).tolist()
        [[[76]]]
    """
    if len(values) == channels:
        return values
    if len(values) == 1:
        return np.repeat(values, channels, axis=0)
    if len(values) != 3 or channels != 1:
        raise ScanError(
            f"it has {len(values)} channels, which become neither grey nor colour. Save it with "
            "one channel or three"
        )
    red, green, blue = values
    if values.dtype.kind == "f":
        grey = 0.299 * red + 0.587 * green + 0.114 * blue
    else:
        wide = np.uint32 if values.dtype in (np.uint8, np.uint16) else np.int64  # no sum overflows
        total = red * wide(19_595) + green * wide(38_470) + blue * wide(7_471)
        grey = (total + wide(0x8000)) >> wide(16)
    return np.asarray(grey.astype(values.dtype)[None])
