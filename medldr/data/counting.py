"""Counts and lists in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from medldr.errors import some as some


def counted(number: int, one: str, several: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "row has", "rows have"), counted(1200, "row has", "rows have")
        ('1 row has', '1,200 rows have')
    """
    return f"{number:,} {one if number == 1 else several}"


def tally(places: Iterable[str]) -> str:
    """How often each of some places occurs, in brackets; empty where none has a name.

    Example:
        >>> tally(["south", "north", "south"]), tally(["", ""])
        (' (north 1, south 2)', '')
    """
    counts = Counter(sorted(filter(None, places), key=str.casefold))
    return f" ({some(f'{place} {n:,}' for place, n in counts.items())})" if counts else ""
