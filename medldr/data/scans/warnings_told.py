"""What readers changed or assumed in the files of a data set, counted: no file is named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from medldr.data.scans.facts import Facts

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")


def warning_notes(facts: Iterable[Facts]) -> list[str]:
    """A sentence for each kind of warning, the most frequent first.

    Warnings that differ in numbers alone are one kind; from the smallest to the greatest is told.

    Example:
        >>> from medldr.data.scans.scan import Scan
        >>> import numpy as np
        >>> texts = ("3 of 64 pixels are transparent", "12 of 64 pixels are transparent")
        >>> pixels = np.zeros((1, 8, 8), np.uint8)
        >>> warning_notes(Facts.of(Scan(pixels, "picture", "", warnings=(t,))) for t in texts)
        ['2 items: 3–12 of 64 pixels are transparent']
    """
    counts = Counter(text for one in facts for text in one.warnings)
    kinds: dict[tuple[str, ...], list[str]] = {}
    for text in counts:
        kinds.setdefault(tuple(_NUMBER.split(text)), []).append(text)
    told = [(sum(map(counts.__getitem__, of)), _together(parts, of)) for parts, of in kinds.items()]
    return [f"{_items(count)}: {text}" for count, text in sorted(told, key=lambda one: -one[0])]


def _together(parts: Sequence[str], texts: Sequence[str]) -> str:
    """Texts of one kind as one, with ranges in place of numbers that differ."""
    told = [parts[0]]
    columns = zip(*map(_NUMBER.findall, texts), strict=True)
    for numbers, part in zip(columns, parts[1:], strict=True):
        low, high = (end(numbers, key=_value) for end in (min, max))
        told += [low if _value(low) == _value(high) else f"{low}–{high}", part]
    return "".join(told)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count:,} items"
