"""What predictions that ignore the image reach: the level below which a number means nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from medldr.evaluation.comparison.records import Size


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
    there = sum(share > 0 for share in shares.values())
    values = {"accuracy": most, "balanced_accuracy": 1 / there}
    return Chance(name if alone else "", {**values, **({"auc": 0.5} if there > 1 else {})})


def mean_of_levels(levels: Sequence[Chance | None]) -> Chance | None:
    """Their unweighted mean over domains or data sets; None where any has none.

    Example:
        >>> one, two = Chance("a", {"accuracy": 0.5}), Chance("b", {"accuracy": 0.25})
        >>> mean_of_levels([one, two]), mean_of_levels([one, None])
        (Chance(name='', values={'accuracy': 0.375}, labels=False), None)
    """
    known = [level for level in levels if level is not None]
    if not known or len(known) < len(levels):
        return None
    names = {level.name for level in known}
    shared = [m for m in known[0].values if all(m in level.values for level in known)]
    means = {m: fmean(level.values[m] for level in known) for m in shared}
    labels = all(level.labels for level in known)
    return Chance(names.pop() if len(names) == 1 else "", means, labels)
