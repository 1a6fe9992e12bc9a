"""One frame of a picture file: from what Pillow holds to plain values.

Source:
    Our choice: transparent pixels are blended on a stated ground, because the colour stored under
    them is arbitrary and may betray the label; photographs are turned as their camera noted; grey
    stays one channel; a palette gives its colours, three channels even where all of them are grey;
    16 bits of grey are kept, of colour the upper eight, as Pillow reads them. Colours of CMYK,
    YCbCr and Lab become RGB by Pillow's conversion, without a colour profile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.scans.plain_numbers import finite

Ground = Literal["white", "black"]

TURNED: Final = "turned upright, as its camera noted"

_GREY: Final = ("1", "L", "LA", "La")
_WHOLE_IN_16: Final = ("PNG", "PPM")
"""Formats whose pixels have 16 bits at most, though Pillow may hold them in 32."""

_ORIENTATION: Final = 274
_PHOTOMETRIC: Final = 262


class Frame(NamedTuple):
    """One frame of a picture file.

    Attributes:
        values: ``(1, H, W)`` or ``(3, H, W)``.
        bits: See `Scan.bits`.
        mode: See `Scan.mode`.
        warnings: What was changed or assumed.
    """

    values: NDArray[Any]
    bits: int | None
    mode: str
    warnings: tuple[str, ...]


def decoded(picture: Image.Image, ground: Ground) -> Frame:
    """The current frame, not yet turned.

    Args:
        picture: Opened, and at the frame.
        ground: Colour behind transparent pixels.

    Raises:
        Exception: What Pillow raises for broken files; see `picture_file.faults`.
        ScanError: If none of its numbers is finite.
    """
    raw = _raw_mode(picture)
    picture.load()
    if picture.mode == "F":
        values, warnings = finite(np.array(picture, dtype=np.float32))
        return Frame(values[None], None, "float32", warnings)
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format in _WHOLE_IN_16):
        return _grey_of_16(picture, raw, ground)
    if picture.mode == "I":
        return Frame(np.array(picture, dtype=np.int32)[None], None, "int32", ())
    said: tuple[str, ...] = ()
    if ";16" in raw:
        said = ("its colours have 16 bits, of which the upper eight are kept",)
    _scale_transparency(picture, raw)
    grey, transparent = picture.mode in _GREY, picture.has_transparency_data
    plain = picture.convert(("L" if grey else "RGB") + ("A" if transparent else ""))
    pixels = np.asarray(plain)
    pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    name = "8-bit grey" if grey else "RGB"
    if not transparent:
        return Frame(np.array(pixels, order="C"), 8, name, said)
    values, seen = _blended(pixels[:-1], pixels[-1], ground)
    return Frame(values, 8, name, said + seen)


def _raw_mode(picture: Image.Image) -> str:
    """How the file itself holds its pixels, as Pillow names it; known before they are decoded."""
    tiles = getattr(picture, "tile", None)
    arguments = tiles[0].args if tiles else ""
    first = arguments[0] if isinstance(arguments, tuple) and arguments else arguments
    return first if isinstance(first, str) else ""


def _grey_of_16(picture: Image.Image, raw: str, ground: Ground) -> Frame:
    values = np.asarray(picture).astype(np.uint16)[None]
    if tag_of(picture, _PHOTOMETRIC, 1) == 0:
        values = 65_535 - values  # Pillow turns it round for 8 bits only
    clear = picture.info.get("transparency")
    said: tuple[str, ...] = ()
    if isinstance(clear, int):
        alpha = np.where(values[0] == clear, 0, 255).astype(np.uint8)
        values = np.where(alpha, values, 65_535 if ground == "white" else 0).astype(np.uint16)
        said = _said_of(alpha, ground)
    bits = 12 if raw == "I;12" else 16
    return Frame(values, bits, f"{bits}-bit grey", said)


def _scale_transparency(picture: Image.Image, raw: str) -> None:
    """Give the transparent value of a PNG in the 8 bits of the pixels, not in those of the file."""
    clear = picture.info.get("transparency")
    if isinstance(clear, int) and raw in ("L;2", "L;4"):
        picture.info["transparency"] = clear * (85 if raw == "L;2" else 17)
    elif isinstance(clear, tuple) and raw.startswith("RGB;16"):
        picture.info["transparency"] = tuple(value >> 8 for value in clear)


def _blended(
    colours: NDArray[np.uint8], alpha: NDArray[np.uint8], ground: Ground
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Colours ``(C, H, W)`` on a ground, rounded; and how many pixels that changes."""
    opaque = alpha.astype(np.uint16)
    # At most 255 * 255 + 127, which 16 bits hold.
    mixed = colours * opaque + (255 if ground == "white" else 0) * (255 - opaque) + np.uint16(127)
    return (mixed // 255).astype(np.uint8), _said_of(alpha, ground)


def _said_of(alpha: NDArray[np.uint8], ground: Ground) -> tuple[str, ...]:
    count = int((alpha < 255).sum())
    if not count:
        return ()
    return (
        f"{count:,} of {alpha.size:,} pixels are transparent, which are seen on {ground} "
        "(data.ground)",
    )


def upright(frame: Frame, picture: Image.Image) -> Frame:
    """A frame as it was meant to be held, by what its camera noted (EXIF)."""
    try:
        noted = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # Pillow raises whatever the bytes of a camera make it stumble on
        said = "its camera's notes (EXIF) are damaged, so it is not turned"
        return frame._replace(warnings=(*frame.warnings, said))
    turn = _TURNS.get(noted)
    if turn is None:
        return frame
    return frame._replace(
        values=np.ascontiguousarray(turn(frame.values)), warnings=(*frame.warnings, TURNED)
    )


_TURNS: Final[dict[int, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    2: lambda values: values[:, :, ::-1],
    3: lambda values: values[:, ::-1, ::-1],
    4: lambda values: values[:, ::-1],
    5: lambda values: values.swapaxes(1, 2),
    6: lambda values: values.swapaxes(1, 2)[:, :, ::-1],
    7: lambda values: values.swapaxes(1, 2)[:, ::-1, ::-1],
    8: lambda values: values.swapaxes(1, 2)[:, ::-1],
}
"""By the number that a camera notes: what turns ``(C, H, W)`` upright.

Source:
    EXIF 2.3, tag 274; ImageOps.exif_transpose does the same.
"""


def tag_of(picture: Image.Image, number: int, usual: int = 0) -> int:
    """A number that a TIFF states of its current page; the usual one where it does not."""
    value = getattr(picture, "tag_v2", {}).get(number, usual)
    return value if isinstance(value, int) else usual
