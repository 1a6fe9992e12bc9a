"""Accuracy of each group (slide, patient) and of the worst one.

The average of a split is the mean over its items, whatever their groups; the accuracy of a group
is the mean over its own items; the worst group is the one with the lowest accuracy among those
that have items. Two counts per group, of items and of correct decisions, are enough.

Each group has Wilson's interval of as many observations as it has items with a label. The worst has
none: the lowest of many groups is low by chance alone, and which one it is would change with other
patients.

Source:
    WILDS (Koh et al. 2021) and its code: groups without items are ignored. For multi-label tasks
    the decisions on all known labels of a group are pooled, as its multi-task accuracy does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.single_run import NORMAL, wilson
from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.sums import Array, ratio
from medldr.types import Predictions

WORST_GROUP = "worst_group/accuracy"


@dataclass(frozen=True)
class Groups:
    """The groups of a table that have items, in alphabetical order.

    Attributes:
        names: ``(G,)`` their names.
        domains: The domain of each; several are joined by commas.
        items: ``(G,)`` items of each.
        known: ``(G,)`` those of which any label is known.
        decided: ``(G,)`` decisions whose label is known: one per item, or one per known label.
        right: ``(G,)`` how many of these are right.
    """

    names: tuple[str, ...]
    domains: tuple[str, ...]
    items: NDArray[np.int64]
    known: NDArray[np.int64]
    decided: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def accuracy(self) -> Array:
        """``(G,)`` share of right decisions; NaN where no label is known."""
        return ratio(self.right.astype(np.float64), self.decided.astype(np.float64))

    @property
    def worst(self) -> int | None:
        """Number of the group with the lowest accuracy, the first of equals; None without any."""
        known = self.accuracy
        return None if np.isnan(known).all() else int(np.nanargmin(known))

    def content(self) -> dict[str, dict[str, Any]]:
        """As `evaluation.json` holds them."""
        columns = zip(
            self.names, self.items.tolist(), self.known.tolist(), self.right.tolist(),
            self.accuracy.tolist(), self.domains, strict=True,
        )  # fmt: skip
        groups = {}
        for name, items, known, right, accuracy, domain in columns:
            low, high = wilson(accuracy, known, NORMAL) if known else (None, None)
            groups[name] = {
                "n": items,
                "correct": right,
                "accuracy": accuracy if known else None,
                "low": low,
                "high": high,
                "domain": domain,
            }
        return groups


def decisions(table: Predictions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many decisions on each item have a known label, and how many of these are right.

    Returns:
        Two arrays ``(N,)``; the first is all ones but for multi-label tasks.
    """
    decision = decide(table.prob, table.task)
    if table.task != "multi-label":
        return np.ones(len(table), np.int64), (decision == table.label).astype(np.int64)
    known = ~np.isnan(table.label.astype(np.float64))
    hit = known & (decision == table.label)
    return known.sum(axis=1).astype(np.int64), hit.sum(axis=1).astype(np.int64)


def group_counts(table: Predictions) -> Groups:
    """Count the right decisions of each group; items without a group are left out.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.9, 0.1]]
        >>> found = group_counts(predictions_of("binary", [0, 0, 0, 0], prob, group=list("aacc")))
        >>> found.names, found.items.tolist(), found.accuracy.tolist(), found.worst
        (('a', 'c'), [2, 2], [0.5, 1.0], 0)
    """
    table = table.select(table.group != "")
    names, number = np.unique(table.group, return_inverse=True)
    known, right = decisions(table)
    domains: list[list[str]] = [[] for _ in names]
    for group, domain in sorted(set(zip(number.tolist(), table.domain.tolist(), strict=True))):
        domains[group] += [domain] if domain else []

    def count(weights: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.bincount(number, weights, minlength=len(names)).astype(np.int64)

    return Groups(
        names=tuple(names.tolist()),
        domains=tuple(map(", ".join, domains)),
        items=count(np.ones(len(table), np.int64)),
        known=count((known > 0).astype(np.int64)),
        decided=count(known),
        right=count(right),
    )
