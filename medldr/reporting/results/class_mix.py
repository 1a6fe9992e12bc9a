"""What a class mix does to numbers: the level of chance, and how domains differ in their mix.

Predictions that ignore the image reach the level of chance; below it a number means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from medldr.evaluation.comparison.comparison import Size
from medldr.folders.evaluation_parts import ClassCount
from medldr.folders.evaluation_record import DomainRecord, SplitRecord

LARGE = 0.10
"""Smallest difference between the shares of a class that readers are told of."""


class Chance(NamedTuple):
    """Always the same answer, on one split.

    Attributes:
        name: The class that is always answered; empty where several are, or none is more frequent.
        values: What this reaches, by metric; metrics that it says nothing of are left out.
        labels: Whether each of several labels has its own answer.
    """

    name: str
    values: Mapping[str, float]
    labels: bool = False


def chance(size: Size, task: str) -> Chance | None:
    """Always the most frequent class of a split; of several labels, always the likelier answer.

    Args:
        size: The split or domain, with its class mix.
        task: Kind of labels.

    Returns:
        None where the class mix is not known.

    Example:
        >>> found = chance(Size(10, class_shares={"a": 0.7, "b": 0.3, "c": 0.0}), "multi-class")
        >>> found.name, found.values
        ('a', {'accuracy': 0.7, 'balanced_accuracy': 0.5, 'auc': 0.5})
        >>> chance(Size(10, class_shares={"a": 0.2, "b": 0.6}), "multi-label").values["accuracy"]
        0.7
    """
    shares = size.class_shares
    if not shares:
        return None
    if task == "multi-label":
        likelier = [max(share, 1 - share) for share in shares.values()]
        mixed = any(0 < share < 1 for share in shares.values())
        values = {"accuracy": sum(likelier) / len(likelier)}
        values |= {"balanced_accuracy": 0.5, "auc": 0.5} if mixed else {}
        return Chance("", values, labels=True)
    name, most = max(shares.items(), key=lambda share: share[1])
    alone = sum(share == most for share in shares.values()) == 1
    occurring = sum(share > 0 for share in shares.values())
    values = {"accuracy": most, "balanced_accuracy": 1 / occurring}
    return Chance(name if alone else "", {**values, **({"auc": 0.5} if occurring > 1 else {})})


def mean_of_levels(levels: Sequence[Chance | None]) -> Chance | None:
    """Their unweighted mean over domains or data sets; None where any has none.

    Example:
        >>> one, two = Chance("a", {"accuracy": 0.5}), Chance("b", {"accuracy": 0.25})
        >>> mean_of_levels([one, two]), mean_of_levels([one, None])
        (Chance(name='', values={'accuracy': 0.375}, labels=False), None)
    """
    defined = [level for level in levels if level is not None]
    if not defined or len(defined) < len(levels):
        return None
    names = {level.name for level in defined}
    shared = [m for m in defined[0].values if all(m in level.values for level in defined)]
    means = {m: fmean(level.values[m] for level in defined) for m in shared}
    labels = all(level.labels for level in defined)
    return Chance(names.pop() if len(names) == 1 else "", means, labels)


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


def mix_of(part: SplitRecord | DomainRecord) -> dict[str, float]:
    """Share of each class, or of the positives of each label; empty where it was not counted.

    Example:
        >>> mix_of(DomainRecord(class_counts={"tumour": ClassCount(n=1, known=4)}))
        {'tumour': 0.25}
    """
    counted = {name: share(count) for name, count in part.class_counts.items()}
    if not counted and isinstance(part, SplitRecord) and part.classes:
        counted = {name: (entry.n or 0) / max(part.n, 1) for name, entry in part.classes.items()}
    return {name: value for name, value in counted.items() if value is not None}


def largest_shift(domains: Mapping[str, DomainRecord]) -> Shift | None:
    """The class whose share differs most between domains; None if that is less than `LARGE`.

    Example:
        >>> of = lambda n: DomainRecord(class_counts={"tumour": ClassCount(n=n, known=100)})
        >>> shift = largest_shift({"a": of(20), "b": of(50)})
        >>> shift.name, shift.low, shift.frequent_in, largest_shift({"a": of(20), "b": of(29)})
        ('tumour', 0.2, 'b', None)
    """
    shifts = []
    for name in dict.fromkeys(name for entry in domains.values() for name in entry.class_counts):
        shares = [
            (value, domain)
            for domain, entry in domains.items()
            if name in entry.class_counts and (value := share(entry.class_counts[name])) is not None
        ]
        if shares:
            (low, rare_in), (high, frequent_in) = min(shares), max(shares)
            shifts.append(Shift(name, low, rare_in, high, frequent_in))
    widest = max(shifts, key=lambda shift: shift.high - shift.low, default=None)
    return widest if widest and widest.high - widest.low >= LARGE else None
