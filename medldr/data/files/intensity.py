"""The values of a scan on a scale from 0 to 1, in one channel or three.

Source:
    Our choice, and always by what a file declares, never by how its values happen to look: windows
    in Hounsfield units for CT, percentiles where numbers have no unit (MR), the full range of the
    stored bits for X-rays and pictures. Where both percentiles are one number, as in a volume that
    is background but for a small part, its lowest and its greatest value take their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.scan import Scan, ScanError

if TYPE_CHECKING:
    from medldr.data.files.config import Rules
    from medldr.data.files.facts import Facts

WINDOWS: Final[Mapping[str, tuple[float, float]]] = {
    "ct": (-1000.0, 1000.0),
    "bone": (-500.0, 1300.0),
    "lung": (-1350.0, 150.0),
    "soft_tissue": (-160.0, 240.0),
    "brain": (0.0, 80.0),
}
"""Hounsfield units that become 0 and 1.

Source: the usual levels and widths of radiology (bone 400 / 1800, lung -600 / 1500, soft tissue
40 / 400, brain 40 / 80); `ct` is ours: air to dense bone.
"""

_NO_WINDOW: Final = {
    "sigmoid": "it recommends a sigmoid curve, which is not applied",
    "table": "it recommends a look-up table (VOI LUT), which is not applied",
}

NO_UNIT: Final = ("MR", "NM", "PT")
"""Modalities whose numbers depend on a scanner's gain, whatever the bits they are stored with."""


def value_range(scan: Scan, rules: Rules) -> tuple[float, float]:
    """The values of a scan that become 0 and 1.

    Args:
        scan: The scan, or the part of it that is kept.
        rules: Of the data set.

    Raises:
        ScanError: If a value exceeds the bits that the rules state, or the file recommends no
            window although the rules ask for it.
    """
    window = rules.window
    rule = rule_name(scan, window, rules.bit_depth)
    if isinstance(window, tuple):
        return window
    if rule in WINDOWS:
        return WINDOWS[rule]
    if rule == "file":
        reason = window_fault(scan)
        if scan.window is None or reason:
            raise ScanError(reason)
        return scan.window
    if rule == "bit depth":
        # 16 bits are often those of the memory alone: the rules say how many are in use.
        bits = rules.bit_depth if scan.bits == 16 else scan.bits
        assert bits is not None
        highest = scan.values.max()
        if scan.bits == 16 and highest > 2**bits - 1:
            raise ScanError(too_deep(highest, bits))
        return 0.0, 2.0**bits - 1
    low, high = np.percentile(scan.values, rules.percentiles)
    if high <= low:  # nearly all is background: what is not would vanish with it
        low, high = scan.values.min(), scan.values.max()
    return float(low), float(high)


def rule_name(item: Scan | Facts, window: str | tuple[float, float], bit_depth: int | None) -> str:
    """Name of the rule that `value_range` follows for a scan.

    Args:
        item: The scan, or its facts.
        window: `Rules.window`.
        bit_depth: `Rules.bit_depth`.
    """
    if window != "auto":
        return "two numbers" if isinstance(window, tuple) else window
    modality = item.modality if item.channels == 1 else ""  # colours are on the scale of screens
    if modality in NO_UNIT:
        return "percentile"
    if modality == "CT" and item.kind == "dicom":
        return "ct"
    if item.bits is not None and (item.bits != 16 or bit_depth is not None):
        return "bit depth"
    return "percentile"


def window_fault(item: Scan | Facts) -> str:
    """Why no window of a file can be taken (`data.window: file`); empty where one can."""
    if item.window is not None and item.voi != "sigmoid":
        return ""
    why = _NO_WINDOW.get(item.voi, "it recommends no window")
    return f"{why} (data.window: file). Name a window, such as data.window=percentile"


def depth_of(highest: float) -> Literal[8, 12, 16]:
    """The fewest of 8, 12 and 16 bits that hold a value.

    Example:
        >>> depth_of(255), depth_of(256), depth_of(4096)
        (8, 12, 16)
    """
    return 8 if highest <= 255 else 12 if highest <= 4095 else 16


def too_deep(highest: float, bits: int) -> str:
    """The refusal of a value that needs more bits than are stated."""
    return (
        f"its greatest value {highest:,.0f} needs more than {bits} bits (data.bit_depth). Set "
        "data.bit_depth=16, or auto"
    )


def to_unit(values: NDArray[Any], low: float, high: float) -> NDArray[np.float32]:
    """Values from ``low`` to ``high`` on a scale from 0 to 1; all else is cut off.

    A scan of a single value becomes 0 throughout.

    Example:
        >>> to_unit(np.array([-2000, -1000, 0, 3000]), -1000, 1000).tolist()
        [0.0, 0.0, 0.5, 1.0]
        >>> to_unit(np.full(2, 7.0), 7, 7).tolist()
        [0.0, 0.0]
    """
    if high <= low:
        return np.zeros(values.shape, np.float32)
    scaled = values.astype(np.float64)  # changed in place: new arrays of a volume cost far more
    scaled -= low
    scaled /= high - low
    return np.clip(scaled, 0, 1, out=scaled).astype(np.float32)


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
