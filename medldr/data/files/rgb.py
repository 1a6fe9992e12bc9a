"""A picture as 8-bit RGB, by one of two rules: as published codes see it, or as a person does.

Source:
    Pictures of published benchmarks become RGB the way WILDS and torchvision's ImageFolder make
    them, by Pillow's conversion: an alpha channel is dropped, not blended, grey is repeated, and
    the orientation that a camera notes is not applied. Our choice: of 16 bits the upper eight are
    kept, where Pillow would cut everything above 255; pictures of real numbers are refused.

    Pictures of one's own are what `picture` reads. Our choice: those of 16 bits are scaled by a
    number of bits that is one for the whole tree, ``v * 255 / (2^bits - 1)`` rounded, so that a
    dark picture stays darker than a bright one; on request each by its own 0.5th and 99.5th
    percentile.

    Resizing is Pillow's bilinear filter over all pixels below one (antialiased), as torchvision's
    ``Resize((s, s))`` does it with a Pillow picture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data.files.geometry import as_stored, squashed
from medldr.data.files.intensity import as_channels, depth_of, too_deep
from medldr.data.files.memory import Examined
from medldr.data.files.picture import TURNED, Ground, read_picture
from medldr.data.files.picture_file import from_picture, room_for
from medldr.data.files.scan import Scan, ScanError
from medldr.data.image_table import BadFile, Look

Depth = Literal[8, 12, 16, "window"]

_PERCENTILES: Final = (0.5, 99.5)
_TRANSPARENT: Final = "transparent"
_ELONGATED: Final = 4


# Published benchmarks


def decode(path: Path, size: tuple[int, int] | None, *, resize: bool = False) -> NDArray[np.uint8]:
    """One picture of a published benchmark.

    Args:
        path: The file: PNG, JPEG, TIFF, BMP, PPM, WebP or GIF (its first picture), whatever its
            name ends in.
        size: ``(H, W)`` in pixels that it must have; None: its own.
        resize: Squash one of another size to it, whatever its aspect ratio, instead of refusing it.

    Returns:
        ``(3, H, W)``.

    Raises:
        ScanError: If it cannot be decoded or has another size.
    """
    return from_picture(path, partial(_rgb, size=size, resize=resize), checked=False)


def whole(path: Path, size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """One picture of a published benchmark at its own size, if it is whole to its last checksum.

    Args:
        path: The file.
        size: ``(H, W)`` that it must have; None: any.

    Raises:
        ScanError: If it is absent or damaged, or has another size.
    """
    return from_picture(path, partial(_rgb, size=size), checked=True)


def _rgb(
    picture: Image.Image, size: tuple[int, int] | None, *, resize: bool = False
) -> NDArray[np.uint8]:
    if size is not None and not resize and picture.size != size[::-1]:
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
            picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
        elif mode == "P" and "transparency" in picture.info:
            picture = picture.convert("RGBA")  # the same colours, and no warning
        picture = picture.convert("RGB")
    if size is not None and picture.size != size[::-1]:
        picture = picture.resize(size[::-1], Image.Resampling.BILINEAR)
    return as_stored(picture)


# Trees of one's own


class OwnRules(NamedTuple):
    """How pictures of a tree of one's own become 8-bit RGB.

    Attributes:
        ground: Colour behind transparent pixels.
        exif: Whether photographs are turned upright, as their camera noted.
        depth: Bits that pictures stored with more than 8 use; ``window``: percentiles of each;
            None: not yet known, so that only pictures of 8 bits can be read.
    """

    ground: Ground
    exif: bool
    depth: Depth | None = None


def decode_own(path: Path, size: tuple[int, int] | None, rules: OwnRules) -> NDArray[np.uint8]:
    """One picture of a tree of one's own.

    Args:
        path: The file.
        size: ``(H, W)`` to which it is squashed; None: its own.
        rules: Of the tree.

    Returns:
        ``(3, H, W)``.

    Raises:
        ScanError: If it cannot be read, or has values that the rules leave no room for.
    """
    scan = read_picture(path, ground=rules.ground, exif=rules.exif, first=True)
    return as_image(scan, size, rules.depth)


def as_image(scan: Scan, size: tuple[int, int] | None, depth: Depth | None) -> NDArray[np.uint8]:
    """A picture that was read, as 8-bit RGB.

    Raises:
        ScanError: As `decode_own`.
    """
    values = scan.values
    if values.dtype != np.uint8:
        reason = depth_fault(_facts(scan), depth)
        if reason:
            raise ScanError(reason)
        values = _with_8_bits(values, depth)
    channels = as_channels(values, 3)
    return np.ascontiguousarray(channels if size is None else squashed(channels, size))


def _with_8_bits(values: NDArray[Any], depth: Depth | None) -> NDArray[np.uint8]:
    low, high = 0.0, 0.0
    if depth == "window":
        low, high = np.percentile(values, _PERCENTILES)
    elif depth is not None:
        high = 2.0**depth - 1
    if high <= low:
        return np.zeros(values.shape, np.uint8)
    scaled = np.clip((values - np.float64(low)) * (255 / (high - low)), 0, 255)
    return np.rint(scaled).astype(np.uint8)


def examine_own(path: Path, rules: OwnRules) -> tuple[Scan, Examined]:
    """A picture as it was recorded, and what is to be remembered of it; no depth is needed.

    Raises:
        ScanError: If it cannot be read.
    """
    scan = read_picture(path, ground=rules.ground, exif=rules.exif, first=True)
    look = look_of(scan.values)
    return scan, Examined("", look.digest.hex(), look.constant, _facts(scan))


def look_of(picture: NDArray[Any]) -> Look:
    """A look at one picture ``(1, H, W)`` or ``(3, H, W)`` at its own size and depth.

    Grey counts as three equal channels; size and type of numbers are part of what is compared.

    Example:
        >>> grey, other = np.uint8([[[7, 7]]]), np.uint8([[[7], [7]]])
        >>> look_of(grey) == look_of(grey.repeat(3, 0)), look_of(grey) == look_of(other)
        (True, False)
    """
    planes = [np.ascontiguousarray(plane) for plane in picture]
    digest = hashlib.blake2b(f"{picture.dtype} {picture.shape[1:]}".encode(), digest_size=16)
    for plane in planes * (3 if len(planes) == 1 else 1):
        digest.update(plane.data)
    constant = all((plane == plane.flat[0]).all() for plane in planes)
    return Look(bool(constant), digest.digest())


def _facts(scan: Scan) -> dict[str, Any]:
    """What notes and depth follow from; what goes without saying is left out.

    ``size``: ``[H, W]``; ``high``: greatest value, of whole numbers of 16 bits; ``real``: numbers
    without a number of bits; ``frames``: where there are several; ``transparent``, ``turned``.
    """
    facts: dict[str, Any] = {"size": list(scan.spatial)}
    if scan.bits is None:
        facts["real"] = scan.mode
    elif scan.values.dtype != np.uint8:
        facts["high"] = int(scan.values.max())
    if scan.frames > 1:
        facts["frames"] = scan.frames
    if any(_TRANSPARENT in text for text in scan.warnings):
        facts["transparent"] = True
    if TURNED in scan.warnings:
        facts["turned"] = True
    return facts


def depth_fault(facts: Mapping[str, Any], depth: Depth | None) -> str:
    """Why a picture cannot be scaled to 8 bits; empty where it can.

    Args:
        facts: As `examine_own` gives them.
        depth: Of the tree.

    Example:
        >>> depth_fault({"size": [8, 8], "high": 4096}, 12)[:46]
        'its greatest value 4,096 needs more than 12 bi'
        >>> depth_fault({"size": [8, 8]}, None)
        ''
    """
    if depth == "window":
        return ""
    if "real" in facts:
        return (
            f"its pixels are numbers without a fixed range ({facts['real']}). Save it with 8 or 16 "
            "bits, or set data.bit_depth=window"
        )
    high = facts.get("high")
    if high is not None and (depth is None or high > 2**depth - 1):
        return too_deep(high, depth or 8)
    return ""


class Judged(NamedTuple):
    """What reading every picture of a tree of one's own once has shown.

    Attributes:
        bad: Pictures that cannot be used, in row order.
        depth: How pictures of more than 8 bits are scaled.
        notes: What readers should know of how its pictures are read.
    """

    bad: tuple[BadFile, ...]
    depth: Depth
    notes: tuple[str, ...]


def judge(
    paths: Sequence[str],
    examined: Sequence[Examined],
    bit_depth: Depth | Literal["auto"],
    ground: str,
) -> Judged:
    """Find one depth for all pictures of a tree, and those that have no place in it.

    Source:
        Our choice: one depth for all, so that no picture is scaled unlike another: with ``auto``
        the fewest of 8, 12 and 16 bits that hold the greatest value of any.

    Args:
        paths: ``(N,)`` of the pictures.
        examined: ``(N,)`` what was found in each.
        bit_depth: Value of `data.bit_depth`.
        ground: Value of `data.ground`.
    """
    high = max((one.facts["high"] for one in examined if "high" in one.facts), default=0)
    depth = bit_depth if bit_depth != "auto" else depth_of(high)
    reasons = [one.reason or depth_fault(one.facts, depth) for one in examined]
    bad = tuple(BadFile(*pair) for pair in zip(paths, reasons, strict=True) if pair[1])
    used = [one.facts for one, reason in zip(examined, reasons, strict=True) if not reason]
    return Judged(bad, depth, tuple(_notes(used, bit_depth, depth, high, ground)))


def _notes(
    used: Sequence[Mapping[str, Any]], bit_depth: object, depth: Depth, high: int, ground: str
) -> Iterator[str]:
    deep = sum("high" in facts or "real" in facts for facts in used)
    if deep and depth == "window":
        yield (
            f"{_pictures(deep)} more than 8 bits; each is scaled between its own 0.5th and 99.5th "
            "percentile (data.bit_depth)."
        )
    elif deep:
        why = f"their greatest value is {high:,}, so they " if bit_depth == "auto" else "they "
        yield (
            f"{_pictures(deep)} more than 8 bits; {why}are read as {depth}-bit pictures: "
            f"{2 ** int(depth) - 1:,} becomes white (data.bit_depth)."
        )
    clear = sum("transparent" in facts for facts in used)
    if clear:
        yield f"{_pictures(clear)} transparent pixels, which are seen on {ground} (data.ground)."
    turned = sum("turned" in facts for facts in used)
    if turned:
        yield f"pictures turned upright, as their camera noted (data.exif): {turned:,}."
    several = sum("frames" in facts for facts in used)
    if several:
        yield f"{_pictures(several)} several frames or pages, of which the first is read."
    long = sum(max(facts["size"]) > _ELONGATED * min(facts["size"]) for facts in used)
    if long:
        yield (
            f"{_pictures(long)} one edge more than {_ELONGATED} times as long as the other; they "
            "are squashed to a square like all others."
        )


def _pictures(count: int) -> str:
    return "1 picture has" if count == 1 else f"{count:,} pictures have"
