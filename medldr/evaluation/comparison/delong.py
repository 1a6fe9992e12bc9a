"""DeLong's interval of a difference in AUC, beside the bootstrap.

It is the interval that readers of diagnostic studies know best, and it holds for two trained
networks on one test set: a binary task, items that are independent (no groups), and a single run of
each method. With several seeds it would ignore their spread, so it is not given there. It has no p
value here: two networks are not two methods.

Source:
    DeLong, DeLong and Clarke-Pearson 1988, computed from midranks as in Sun and Xu 2014; the
    interval is normal and clipped to -1 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from medldr.evaluation.intervals.bootstrap import LEVEL
from medldr.evaluation.metrics.sums import Array
from medldr.metrics import metric_facts

if TYPE_CHECKING:
    from medldr.evaluation.comparison.split_comparison import SplitComparison

TWO = 2
"""Positives, and negatives, that a variance needs."""


def delong_notes(split: SplitComparison) -> Iterator[str]:
    """A sentence for each method that can be compared with the reference in this way.

    Args:
        split: All methods on one split.
    """
    first = split.per_run[0]
    alone = {m.name for m in split.methods if len(m.runs) == 1}
    truth = first.truth[:, -1]
    few = min((truth == 1).sum(), (truth == 0).sum()) < TWO
    if first.table.task != "binary" or first.units.kind != "item" or few:
        return
    base, show = split.base.name, metric_facts("auc").show_difference
    for method in split.methods:
        pair = {method.name, base}
        if len(pair) < TWO or not pair <= alone:
            continue
        one, other = (split.per_run[split.first[name]] for name in (method.name, base))
        if one.why_not() or other.why_not():
            continue
        value, low, high = paired(truth, one.table.ranks_by[:, -1], other.table.ranks_by[:, -1])
        shown = f"{show(value)} ({100 * LEVEL:g}% CI {show(low)} to {show(high)})"
        if low == high:
            shown = f"{show(value)} (no CI: the variance is 0)"
        yield (
            f"{split.split}: AUC of {method.name} minus that of {base} by DeLong's method: "
            f"{shown}. It is of these two networks, not of other seeds, so it has no p value."
        )


def paired(truth: Array, one: Array, other: Array) -> tuple[float, float, float]:
    """Difference of two areas on the same independent items, with its interval.

    Args:
        truth: ``(N,)`` of 1 and 0, at least two of each.
        one: ``(N,)`` scores.
        other: ``(N,)`` scores.

    Example:
        >>> truth = np.array([1.0, 1, 1, 0, 0, 0])
        >>> one, other = np.array([6.0, 5, 3, 4, 2, 1]), np.array([6.0, 3, 2, 5, 4, 1])
        >>> [round(number, 4) for number in paired(truth, one, other)]
        [0.3333, -0.2001, 0.8668]
    """
    area, covariance = areas(truth, np.stack([one, other]))
    value = float(area[0] - area[1])
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    half = float(ndtri(0.5 + LEVEL / 2)) * max(variance, 0.0) ** 0.5
    return value, max(value - half, -1.0), min(value + half, 1.0)


def areas(truth: Array, score: Array) -> tuple[Array, Array]:
    """Areas of several scores of the same items, and their covariance.

    The variance of the difference of the first two is ``c[0, 0] + c[1, 1] - 2 * c[0, 1]``. Items
    have to be independent: several images of a patient are not.

    Args:
        truth: ``(N,)`` of 1 and 0, at least two of each.
        score: ``(M, N)``, one row per classifier.

    Returns:
        Areas ``(M,)`` and their covariance ``(M, M)``.

    Raises:
        ValueError: If there are fewer than two positives or negatives.

    Example:
        >>> truth = np.array([1.0, 1.0, 0.0, 0.0])
        >>> area, covariance = areas(truth, np.array([[0.9, 0.4, 0.5, 0.1]]))
        >>> area.tolist(), covariance.tolist()
        ([0.75], [[0.125]])
    """
    from scipy.stats import rankdata  # takes a second to load, and few runs need it

    positive, negative = score[:, truth == 1], score[:, truth == 0]
    m, n = positive.shape[1], negative.shape[1]
    if min(m, n) < 2:
        raise ValueError("DeLong's variance needs two positives and two negatives")
    both = rankdata(np.concatenate([positive, negative], axis=1), axis=1)
    # Each positive's share of negatives below it, and each negative's share of positives above it.
    above = (both[:, :m] - rankdata(positive, axis=1)) / n
    below = 1 - (both[:, m:] - rankdata(negative, axis=1)) / m
    covariance = np.atleast_2d(np.cov(above)) / m + np.atleast_2d(np.cov(below)) / n
    return above.mean(axis=1), covariance
