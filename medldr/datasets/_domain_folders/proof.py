"""A tree whose every picture was read once: which cannot be used, and how the others are scaled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from medldr.data.image_table import BadFile
from medldr.data.reading.own_picture import Depth, depth_fault
from medldr.data.reading.proof import Examined

BitDepth = Literal["auto", 8, 12, 16, "window"]

_ELONGATED: Final = 4


class Proven(NamedTuple):
    """What is known of a tree of one's own.

    Attributes:
        bad: Pictures that cannot be used, in row order.
        depth: How pictures of more than 8 bits are scaled.
        notes: What readers should know of how its pictures are read.
    """

    bad: tuple[BadFile, ...]
    depth: Depth
    notes: tuple[str, ...]


def judge(
    paths: Sequence[str], examined: Sequence[Examined], bit_depth: BitDepth, ground: str
) -> Proven:
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
    depth = bit_depth if bit_depth != "auto" else 8 if high <= 255 else 12 if high <= 4095 else 16
    bad = tuple(
        BadFile(path, reason)
        for path, one in zip(paths, examined, strict=True)
        if (reason := one.reason or depth_fault(one.facts, depth))
    )
    out = {file.path for file in bad}
    used = [one.facts for path, one in zip(paths, examined, strict=True) if path not in out]
    return Proven(bad, depth, tuple(_notes(used, bit_depth, depth, high, ground)))


def _notes(
    used: Sequence[Mapping[str, Any]], bit_depth: BitDepth, depth: Depth, high: int, ground: str
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
