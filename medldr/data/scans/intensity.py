"""The values of a scan on a scale from 0 to 1.

Source:
    Our choice, and always by what a file declares, never by how its values happen to look: windows
    in Hounsfield units for CT, percentiles where numbers have no unit (MR), the full range of the
    stored bits for X-rays and pictures. Where both percentiles are one number, as in a volume that
    is background but for a small part, its lowest and its greatest value take their place.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.rules import WINDOWS, Rules
from medldr.data.scans.scan import Scan, ScanError

NO_WINDOW: Final = (
    "it recommends no window (data.window: file). Name one, such as data.window=percentile"
)

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
    if isinstance(window, tuple):
        return window
    if window in WINDOWS:
        return WINDOWS[window]
    if window == "file":
        if scan.window is None:
            raise ScanError(NO_WINDOW)
        return scan.window
    if window == "auto" and scan.modality not in NO_UNIT:
        if scan.modality == "CT" and scan.kind == "dicom":
            return WINDOWS["ct"]
        by_bits = _range_of_bits(scan, rules)
        if by_bits is not None:
            return by_bits
    low, high = np.percentile(scan.values, rules.percentiles)
    if high <= low:  # nearly all is background: what is not would vanish with it
        low, high = scan.values.min(), scan.values.max()
    return float(low), float(high)


def rule_name(
    bits: int | None,
    modality: str,
    kind: str,
    window: str | tuple[float, float],
    bit_depth: int | None,
) -> str:
    """In a word, which rule `value_range` follows for a scan.

    Args:
        bits: `Scan.bits`.
        modality: `Scan.modality`.
        kind: `Scan.kind`.
        window: `Rules.window`.
        bit_depth: `Rules.bit_depth`.
    """
    if window != "auto":
        return "two numbers" if isinstance(window, tuple) else window
    if modality in NO_UNIT:
        return "percentile"
    if modality == "CT" and kind == "dicom":
        return "ct"
    if bits is not None and (bits != 16 or bit_depth is not None):
        return "bit depth"
    return "percentile"


def too_deep(highest: float, bits: int) -> str:
    """What to say of a value that so many bits do not hold."""
    return (
        f"its greatest value {highest:,.0f} needs more than {bits} bits (data.bit_depth). Set "
        "data.bit_depth=16, or auto"
    )


def _range_of_bits(scan: Scan, rules: Rules) -> tuple[float, float] | None:
    if scan.bits is None:
        return None
    if scan.bits != 16:
        return 0.0, 2.0**scan.bits - 1
    # 16 bits are often those of the memory alone: the rules say how many are in use.
    if rules.bit_depth is None:
        return None
    top = 2.0**rules.bit_depth - 1
    highest = scan.values.max()
    if highest > top:
        raise ScanError(too_deep(highest, rules.bit_depth))
    return 0.0, top


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
