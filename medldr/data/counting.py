"""Counts and lists in messages."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, one: str, several: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "row has", "rows have"), counted(1200, "row has", "rows have")
        ('1 row has', '1,200 rows have')
    """
    return f"{number:,} {one if number == 1 else several}"


def some(names: Iterable[str], most: int = 10) -> str:
    """The first of some names, and how many more there are.

    Example:
        >>> some("abc", most=2)
        'a, b and 1 more'
    """
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return f"{', '.join(listed[:most])}{more}"
