"""Counts and lists in messages."""

from __future__ import annotations

from medldr.errors import some as some


def counted(number: int, one: str, several: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "row has", "rows have"), counted(1200, "row has", "rows have")
        ('1 row has', '1,200 rows have')
    """
    return f"{number:,} {one if number == 1 else several}"
