"""One picture of a tree of one's own: as a person sees it, with 8 bits and three channels.

Source:
    Our choice: see `medldr.data.scans.pictures` for what a person sees. Pictures of 16 bits are
    scaled by a number of bits that is one for the whole tree, ``v * 255 / (2^bits - 1)`` rounded,
    so that a dark picture stays darker than a bright one; on request each by its own 0.5th and
    99.5th percentile. Then each is squashed by Pillow's bilinear filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.reading.memory import Examined
from medldr.data.reading.picture import squashed
from medldr.data.reading.statistics import look_of
from medldr.data.scans.picture_frame import TURNED, Ground
from medldr.data.scans.pictures import as_channels, read_picture
from medldr.data.scans.scan import Scan, ScanError

Depth = Literal[8, 12, 16, "window"]

_PERCENTILES: Final = (0.5, 99.5)
_TRANSPARENT: Final = "transparent"


class OwnRules(NamedTuple):
    """How pictures of a tree become images.

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
    """One picture as an image.

    Args:
        path: The file.
        size: ``(H, W)`` to which it is squashed; None: its own.
        rules: Of the tree.

    Returns:
        ``(3, H, W)`` uint8.

    Raises:
        ScanError: If it cannot be read, or has values that the rules leave no room for.
    """
    scan = read_picture(path, ground=rules.ground, exif=rules.exif, first=True)
    return as_image(scan, size, rules.depth)


def as_image(scan: Scan, size: tuple[int, int] | None, depth: Depth | None) -> NDArray[np.uint8]:
    """The same, of a picture that was read.

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


def _facts(scan: Scan) -> dict[str, Any]:
    """What notes and depth follow from; what goes without saying is left out.

    ``size``: ``[H, W]``; ``high``: greatest value, of whole numbers of 16 bits; ``real``: numbers
    without a number of bits; ``frames``: where there are several; ``transparent``, ``turned``.
    """
    facts: dict[str, Any] = {"size": list(scan.values.shape[1:])}
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
        return (
            f"its greatest value {high:,} needs more than {depth or 8} bits (data.bit_depth). Set "
            "data.bit_depth=16, or auto"
        )
    return ""
