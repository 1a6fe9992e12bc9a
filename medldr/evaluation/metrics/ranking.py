"""Area under the ROC curve by weighted ranks, and the curve itself.

The area is the chance that a random positive scores higher than a random negative, ties counting
half. Sorted by score, a positive wins against the weight of all negatives below it: one running
sum per class and draw. Neighbouring levels of one kind (only positives, or only negatives) are
merged first, which changes nothing and shortens the sum.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, mean_defined, name_each, ratio
from medldr.types import Task

POINTS = 200
"""Maximum number of points kept of one ROC curve."""


def positives(label: NDArray[np.int64] | Array, classes: int, task: Task) -> Array:
    """``(N, K)`` of 1 (this class), 0 (another) and NaN (not known)."""
    if task == "multi-label":
        return np.asarray(label, dtype=np.float64)
    same: Array = (label[:, None] == np.arange(classes)).astype(np.float64)
    return same


def areas(items: Items) -> Sums:
    """``auc`` of any task."""
    return auc(items.label, items.order, items.task, items.positive)


def auc(label: NDArray[np.int64] | Array, prob: Array, task: Task, positive: int = 1) -> Sums:
    """Area under the ROC curve of each class (or label) and their unweighted mean.

    ``auc`` is: binary, the area of the positive class; multi-class and ordinal, the mean over
    columns of one class against the rest; multi-label, the mean over labels. Classes with only
    positives or only negatives are undefined and stay out of the mean.

    Args:
        label: ``(N,)`` class numbers, or ``(N, L)`` with NaN for missing.
        prob: ``(N, K)``; any scores will do, they need not sum to one.
        task: Kind of labels.
        positive: Column of the positive class; binary only.

    Source:
        MedMNIST's evaluator, whose positive class is the second; the results are equal wherever
        that one is defined.
    """
    truth = positives(label, prob.shape[1], task)
    blocks = [_levels(truth[:, k], prob[:, k]) for k in range(prob.shape[1])]
    cuts = np.cumsum([0] + [block.shape[0] for block in blocks])

    def finish(sums: Array) -> dict[str, Array]:
        areas = np.stack([_area(sums[a:b]) for a, b in pairwise(cuts)])
        overall = areas[positive] if task == "binary" else mean_defined(areas)
        return {"auc": overall, **name_each("class/{}/auc", areas)}

    return Sums(csr_array(vstack(blocks)), finish)


def _levels(truth: Array, score: Array) -> csr_array:
    """Members of each level of the score, ascending: ``(2 * levels, N)``, positives first."""
    item = np.flatnonzero(~np.isnan(truth))
    order = item[np.argsort(score[item], kind="stable")]
    y, s = truth[order] == 1, score[order]
    if not len(order):
        return csr_array((2, len(truth)))
    start = np.flatnonzero(np.r_[True, s[1:] != s[:-1]])  # where each distinct score begins
    positive = np.logical_or.reduceat(y, start)
    negative = np.logical_or.reduceat(~y, start)
    mixed = positive & negative
    new = np.r_[True, (positive[1:] != positive[:-1]) | mixed[1:] | mixed[:-1]]
    level_of_score = np.cumsum(new) - 1
    size = np.diff(np.r_[start, len(order)])
    level = np.repeat(level_of_score, size)
    n = int(level_of_score[-1]) + 1
    entries = (np.ones(len(order)), (np.where(y, level, n + level), order))
    return csr_array(entries, shape=(2 * n, len(truth)))


def _area(sums: Array) -> Array:
    positive, negative = np.split(sums, 2)
    below = np.cumsum(negative, axis=0)
    pairs = positive.sum(axis=0) * below[-1]
    below -= negative / 2  # all of the lower levels and half of the tied one
    return ratio(np.einsum("lb,lb->b", positive, below), pairs)


def roc(truth: Array, score: Array) -> dict[str, list[float]] | None:
    """At most 200 points of the ROC curve, or None where it is undefined.

    Args:
        truth: ``(N,)`` of 1, 0 and NaN (left out).
        score: ``(N,)``.
    """
    from sklearn.metrics import roc_curve  # slow to import, so only where a curve is drawn

    known = ~np.isnan(truth)
    y, s = truth[known] == 1, score[known]
    if not y.any() or y.all():
        return None
    fpr, tpr, _ = roc_curve(y, s)
    keep = np.unique(np.linspace(0, len(fpr) - 1, min(POINTS, len(fpr))).round().astype(int))
    return {"fpr": fpr[keep].tolist(), "tpr": tpr[keep].tolist()}
