"""Picture files (PNG, JPEG, TIFF, BMP, PPM, WebP, GIF) as a viewer shows them, at their own depth.

Source:
    Our choice: what a person sees is what a network gets. Transparent pixels are blended on a
    stated ground, because the colour stored under them is arbitrary and may betray the label;
    photographs are turned as their camera noted; grey stays one channel; a palette gives its
    colours, three channels even where all of them are grey; 16 bits of grey are kept, of colour the
    upper eight, as Pillow reads them. Colours of CMYK, YCbCr and Lab become RGB by Pillow's
    conversion, without a colour profile. Of an animated PNG, WebP or GIF and of a TIFF with pages
    all frames are read, or the axes that it names (`medldr.data.files.tiff`); a TIFF's pages that
    are marked as smaller copies or as masks are not, nor is the preview that a camera keeps behind
    a photograph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.files.intensity import as_channels
from medldr.data.files.picture_file import MOST_PIXELS, from_picture, room_for
from medldr.data.files.scan import Scan, ScanError, bits_of, finite, plain_numbers
from medldr.data.files.tiff import layout_of, read_page

Ground = Literal["white", "black"]

TURNED: Final = "turned upright, as its camera noted"

_UPPER_EIGHT: Final = ("its colours have 16 bits, of which the upper eight are kept",)

_GREY: Final = ("1", "L", "LA", "La")
_WHOLE_IN_16: Final = ("PNG", "PPM")
"""Formats whose pixels have 16 bits at most, though Pillow may hold them in 32."""

_EXIF_ORIENTATION: Final = 274
_PHOTOMETRIC: Final = 262
_SUBFILE: Final = 254
_SMALLER_COPY_OR_MASK: Final = 1 | 4

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


class _Frame(NamedTuple):
    """One frame: ``(1, H, W)`` or ``(3, H, W)``; the others as in `Scan`."""

    values: NDArray[Any]
    bits: int | None
    mode: str
    warnings: tuple[str, ...] = ()


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
    layout = layout_of(path)
    if layout.odd:
        return _scan(layout.planes, lambda number: _odd_frame(path, number), first)

    def scan_of(picture: Image.Image) -> Scan:
        def decode(number: int) -> _Frame:
            if number or picture.tell() != number:
                picture.seek(number)
            frame = _decoded(picture, ground)
            return _upright(frame, picture) if exif else frame

        planes = layout.planes or [(number,) for number in _pages(picture)]
        with room_for(picture, len(planes[0]) * (1 if first else len(planes))):
            return _scan(planes, decode, first)

    return from_picture(path, scan_of, checked=True)


def _scan(planes: Sequence[Sequence[int]], decode: Callable[[int], _Frame], first: bool) -> Scan:
    """A scan of frames, each of which is made of the pages of its channels."""
    frames = [
        _joined([decode(number) for number in of_frame])
        for of_frame in (planes[:1] if first else planes)
    ]
    values, bits, mode, _ = frames[0]
    return Scan(
        values=values if len(frames) == 1 else _stacked([one.values for one in frames]),
        kind="picture",
        mode=mode,
        bits=bits,
        frames=len(planes),
        warnings=tuple(dict.fromkeys(text for one in frames for text in one.warnings)),
    )


def _joined(channels: list[_Frame]) -> _Frame:
    """One frame of planes that are its channels."""
    frame, count = channels[0], len(channels)
    if count == 1:
        return frame
    if len({(one.values.shape, one.values.dtype) for one in channels}) > 1:
        raise ScanError("its planes differ in size or in type. Save it with planes that are alike")
    values = np.concatenate([one.values for one in channels])
    mode = (
        "RGB" if len(values) == 3 and frame.bits == 8 else f"{frame.mode}, {len(values)} channels"
    )
    return frame._replace(values=values, mode=mode)


def _odd_frame(path: Path, number: int) -> _Frame:
    """A frame of numbers that Pillow does not decode."""
    values, replaced = finite(plain_numbers(read_page(path, number, MOST_PIXELS)))
    if len(values) == 3 and values.dtype == np.uint16:
        return _Frame((values >> 8).astype(np.uint8), 8, "RGB", (*_UPPER_EIGHT, *replaced))
    return _Frame(values, bits_of(values), str(values.dtype), replaced)


def _pages(picture: Image.Image) -> list[int]:
    """Numbers of the frames that are pictures of their own."""
    count = int(getattr(picture, "n_frames", 1))
    if count == 1 or picture.format == "MPO":  # a photograph and its preview, or its second eye
        return [0]
    if picture.format != "TIFF":
        return list(range(count))
    own = []
    for number in range(count):
        picture.seek(number)
        if not _tag(picture, _SUBFILE) & _SMALLER_COPY_OR_MASK:
            own.append(number)
    return own or [0]


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


def _decoded(picture: Image.Image, ground: Ground) -> _Frame:
    """The current frame, not yet turned.

    Raises:
        Exception: What Pillow raises for broken files; see `from_picture`.
        ScanError: If none of its numbers is finite.
    """
    raw = _raw_mode(picture)
    picture.load()
    if picture.mode == "F":
        values, replaced = finite(np.array(picture, dtype=np.float32))
        return _Frame(values[None], None, "float32", replaced)
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format in _WHOLE_IN_16):
        return _grey_of_16(picture, raw, ground)
    if picture.mode == "I":
        return _Frame(np.array(picture, dtype=np.int32)[None], None, "int32")
    warnings: tuple[str, ...] = ()
    if ";16" in raw:
        warnings = _UPPER_EIGHT
    _scale_transparency(picture, raw)
    grey, transparent = picture.mode in _GREY, picture.has_transparency_data
    plain = picture.convert(("L" if grey else "RGB") + ("A" if transparent else ""))
    pixels = np.asarray(plain)
    pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    mode = "8-bit grey" if grey else "RGB"
    if not transparent:
        return _Frame(np.array(pixels, order="C"), 8, mode, warnings)
    colours, alpha = pixels[:-1], pixels[-1]
    opaque = alpha.astype(np.uint16)
    # At most 255 * 255 + 127, which 16 bits hold.
    mixed = colours * opaque + (255 if ground == "white" else 0) * (255 - opaque) + np.uint16(127)
    return _Frame((mixed // 255).astype(np.uint8), 8, mode, warnings + _transparent(alpha, ground))


def _raw_mode(picture: Image.Image) -> str:
    """How the file itself holds its pixels, as Pillow names it; known before they are decoded."""
    tiles = getattr(picture, "tile", None)
    arguments = tiles[0].args if tiles else ""
    first = arguments[0] if isinstance(arguments, tuple) and arguments else arguments
    return first if isinstance(first, str) else ""


def _grey_of_16(picture: Image.Image, raw: str, ground: Ground) -> _Frame:
    values = np.asarray(picture).astype(np.uint16)[None]
    if _tag(picture, _PHOTOMETRIC, 1) == 0:
        values = 65_535 - values  # Pillow turns it round for 8 bits only
    clear = picture.info.get("transparency")
    warnings: tuple[str, ...] = ()
    if isinstance(clear, int):
        alpha = np.where(values[0] == clear, 0, 255).astype(np.uint8)
        values = np.where(alpha, values, 65_535 if ground == "white" else 0).astype(np.uint16)
        warnings = _transparent(alpha, ground)
    bits = 12 if raw == "I;12" else 16
    return _Frame(values, bits, f"{bits}-bit grey", warnings)


def _scale_transparency(picture: Image.Image, raw: str) -> None:
    """Give the transparent value of a PNG in the 8 bits of the pixels, not in those of the file."""
    clear = picture.info.get("transparency")
    if isinstance(clear, int) and raw in ("L;2", "L;4"):
        picture.info["transparency"] = clear * (85 if raw == "L;2" else 17)
    elif isinstance(clear, tuple) and raw.startswith("RGB;16"):
        picture.info["transparency"] = tuple(value >> 8 for value in clear)


def _transparent(alpha: NDArray[np.uint8], ground: Ground) -> tuple[str, ...]:
    count = int((alpha < 255).sum())
    if not count:
        return ()
    return (
        f"{count:,} of {alpha.size:,} pixels are transparent, which are seen on {ground} "
        "(data.ground)",
    )


def _upright(frame: _Frame, picture: Image.Image) -> _Frame:
    """A frame as it was meant to be held, by what its camera noted (EXIF)."""
    try:
        noted = picture.getexif().get(_EXIF_ORIENTATION, 1)
    except Exception:  # Pillow raises whatever the bytes of a camera make it stumble on
        warnings = "its camera's notes (EXIF) are damaged, so it is not turned"
        return frame._replace(warnings=(*frame.warnings, warnings))
    turn = _TURNS.get(noted)
    if turn is None:
        return frame
    values = np.ascontiguousarray(turn(frame.values))
    return frame._replace(values=values, warnings=(*frame.warnings, TURNED))


def _tag(picture: Image.Image, number: int, usual: int = 0) -> int:
    """A number that a TIFF states of its current page; the usual one where it does not."""
    value = getattr(picture, "tag_v2", {}).get(number, usual)
    return value if isinstance(value, int) else usual
