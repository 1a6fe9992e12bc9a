"""Which numbers a scan may hold: whole and real ones, all finite, in the machine's byte order."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.scans.scan import ScanError

OBJECTS: Final = (
    "it holds Python objects, which can run a program when they are opened. Save it anew as an "
    "array of numbers: array.astype(np.float32)"
)


def plain_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a type that every later step takes.

    Args:
        values: Of any shape and type.

    Returns:
        Whole numbers and float32, float64 as they are, in the machine's byte order; yes and no
        become uint8, half precision float32, and more than double precision float64.

    Raises:
        ScanError: If they are no real numbers.

    Example:
        >>> plain_numbers(np.array([True, False])).dtype, plain_numbers(np.ones(1, ">f4")).dtype
        (dtype('uint8'), dtype('float32'))
    """
    kind, width = values.dtype.kind, values.dtype.itemsize
    if kind == "c":
        raise ScanError(
            "its numbers are complex. Save their magnitude or their phase as a file of real numbers"
        )
    if kind == "O":
        raise ScanError(OBJECTS)
    if kind == "b":
        return values.astype(np.uint8)
    if kind == "f" and width not in (4, 8):
        return values.astype(np.float32 if width < 4 else np.float64)
    if kind not in "iuf":
        raise ScanError(f"its values are of type {values.dtype}, not numbers")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def times(shape: tuple[int, ...]) -> str:
    """A shape as text.

    Example:
        >>> times((8, 6, 3))
        '8 x 6 x 3'
    """
    return " x ".join(map(str, shape)) or "a single number"


def bits_of(values: NDArray[Any]) -> int | None:
    """8 or 16 for unsigned whole numbers of that many bits; None for others."""
    width = 8 * values.dtype.itemsize
    return width if values.dtype.kind == "u" and width <= 16 else None


def finite(values: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Numbers without NaN and infinity.

    Source:
        Our choice: each becomes the lowest finite number of the file, which is air in a CT and
        background in an MR picture; zero would be water in a CT.

    Args:
        values: Of any shape.

    Returns:
        The numbers, in the same array where nothing had to be replaced, and a sentence with the
        count where something had to.

    Raises:
        ScanError: If none is finite.

    Example:
        >>> finite(np.array([np.nan, 2.0, np.inf, 5.0]))[0]
        array([2., 2., 2., 5.])
    """
    if values.dtype.kind != "f":
        return values, ()
    good = np.isfinite(values)
    if good.all():
        return values, ()
    if not good.any():
        raise ScanError("none of its numbers is finite: all are NaN or infinite")
    lowest = values[good].min()
    blank = int(np.isnan(values).sum())
    count = int(values.size - good.sum())
    return np.where(good, values, lowest), (
        f"{count:,} of {values.size:,} numbers are not finite ({blank:,} NaN, {count - blank:,} "
        f"infinite); each is replaced by the lowest finite one, {lowest:g}",
    )


def scaled(stored: NDArray[Any], slope: float, intercept: float) -> NDArray[Any]:
    """``slope * stored + intercept``.

    Source:
        Our choice: computed with double precision; kept in single precision where the stored
        numbers have 16 bits or fewer or are single-precision themselves, whose 24 bits of
        significand lose none of their differences.

    Returns:
        The stored array itself where that changes nothing; else float32, or float64 for stored
        numbers of more than 16 bits.
    """
    if slope == 1 and intercept == 0:
        return stored
    narrow = stored.dtype.itemsize <= 2 or stored.dtype == np.float32
    with np.errstate(all="ignore"):  # what becomes infinite is replaced, and told, by `finite`
        numbers = stored.astype(np.float64)
        numbers *= slope
        numbers += intercept
        return numbers.astype(np.float32) if narrow else numbers
