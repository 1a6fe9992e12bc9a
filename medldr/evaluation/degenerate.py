"""Predictions that no accuracy should be read without: one class alone, or a class never found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Degenerate(NamedTuple):
    """What is wrong with the predictions of a run on a split.

    Attributes:
        only: The class that is predicted for every item, though others occur; empty if there are
            several.
        lost: Classes (labels) with items of which none is recognised, and how many these are.
    """

    only: str = ""
    lost: tuple[tuple[str, int], ...] = ()


def degenerate(confusion: ArrayLike | None, names: Sequence[str]) -> Degenerate | None:
    """Look at a confusion matrix; None where nothing is wrong, or there is none.

    Args:
        confusion: ``(K, K)`` counts, rows are the truth; ``(L, 2, 2)`` for several labels per item.
        names: Names of the classes, or labels.

    Example:
        >>> degenerate([[5, 0], [3, 0]], ["normal", "tumour"])
        Degenerate(only='normal', lost=(('tumour', 3),))
        >>> degenerate([[5, 0, 0], [0, 4, 0], [1, 2, 0]], ["a", "b", "c"])
        Degenerate(only='', lost=(('c', 3),))
        >>> degenerate([[5, 0], [2, 1]], ["normal", "tumour"])
    """
    if confusion is None:
        return None
    counts = np.asarray(confusion)
    labels = counts.ndim == 3
    items, right = (
        (counts[:, 1].sum(axis=1), counts[:, 1, 1])
        if labels
        else (counts.sum(axis=1), np.diagonal(counts))
    )
    found = zip(names, items.tolist(), right.tolist(), strict=True)
    lost = tuple((name, n) for name, n, hit in found if n and not hit)
    if not lost:
        return None
    predicted = [] if labels else np.flatnonzero(counts.sum(axis=0)).tolist()
    return Degenerate(names[predicted[0]] if len(predicted) == 1 else "", lost)
