"""How differently classes are mixed in domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from medldr.folders.curve_records import ClassCount
from medldr.folders.evaluation_record import DomainRecord

LARGE = 0.10
"""Smallest difference between the shares of a class that readers are told of."""


class Shift(NamedTuple):
    """The class whose share differs most, and where it is lowest and highest."""

    name: str
    low: float
    rare_in: str
    high: float
    frequent_in: str


def share(count: ClassCount) -> float | None:
    """Share of the items with a known label; None without any.

    Example:
        >>> share(ClassCount(n=1, known=4)), share(ClassCount())
        (0.25, None)
    """
    return count.n / count.known if count.known else None


def largest_shift(domains: Mapping[str, DomainRecord]) -> Shift | None:
    """The class whose share differs most between domains; None if that is less than `LARGE`.

    Example:
        >>> of = lambda n: DomainRecord(class_counts={"tumour": ClassCount(n=n, known=100)})
        >>> shift = largest_shift({"a": of(20), "b": of(50)})
        >>> shift.name, shift.low, shift.frequent_in, largest_shift({"a": of(20), "b": of(29)})
        ('tumour', 0.2, 'b', None)
    """
    found = []
    for name in dict.fromkeys(name for entry in domains.values() for name in entry.class_counts):
        shares = [
            (value, domain)
            for domain, entry in domains.items()
            if name in entry.class_counts and (value := share(entry.class_counts[name])) is not None
        ]
        if shares:
            (low, rare_in), (high, frequent_in) = min(shares), max(shares)
            found.append(Shift(name, low, rare_in, high, frequent_in))
    widest = max(found, key=lambda shift: shift.high - shift.low, default=None)
    return widest if widest and widest.high - widest.low >= LARGE else None
