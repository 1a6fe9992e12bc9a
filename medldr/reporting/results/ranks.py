"""Which rows of a column are best, as far as the paired differences between them are clear.

The best number of a column is often one of several that cannot be told apart. It is marked alone
only where every other row is clearly worse; else all that are not clearly worse share its mark. If
no row is clearly worse, none is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TypeAlias

from medldr.evaluation.estimate import Mark
from medldr.evaluation.intervals import holm
from medldr.metrics import Metric

ALPHA = 0.05
"""Below it a corrected p counts as a difference."""

Paired: TypeAlias = Callable[[str, str], float | None]
"""The p of the paired difference between two rows; None where there is none."""


def marks(values: Mapping[str, float | None], known: Metric, paired: Paired) -> dict[str, Mark]:
    """Which rows are best, and which one is second where that is clear.

    ``best`` are the row with the best value and all that are not clearly worse: p of the paired
    difference below 0.05 after Holm's correction over all pairs, since the same data say which row
    is best. ``second`` is the next one after them, where it is likewise clearly better than all
    that follow. Nothing is marked where no row is clearly worse than the best, no difference has a
    p, or neither more nor less of the metric is better.

    Args:
        values: By row.
        known: The metric.
        paired: The p of two rows.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> def paired(one, other):
        ...     return 0.5 if {one, other} == {"a", "b"} else 0.001
        >>> values = {"d": 0.5, "c": 0.6, "b": 0.79, "a": 0.8}
        >>> marks(values, metric_facts("accuracy"), paired)
        {'a': 'best', 'b': 'best', 'c': 'second'}
        >>> marks(values, metric_facts("ece"), paired)
        {}
    """
    there = {row: value for row, value in values.items() if value is not None}
    ranked = sorted(there, key=there.__getitem__, reverse=known.better == "higher")
    if not (known.better and not known.biased) or len(ranked) < 2:
        return {}
    adjusted = holm({pair: paired(*pair) for pair in combinations(ranked, 2)})
    clear = {pair for pair, p in adjusted.items() if p is not None and p < ALPHA}
    best, *others = ranked
    worse = [other for other in others if (best, other) in clear]
    if not worse:  # a mark on every row would say nothing
        return {}
    found: dict[str, Mark] = {row: "best" for row in ranked if row not in worse}
    following, *last = worse
    if last and all((following, other) in clear for other in last):
        found[following] = "second"
    return found
