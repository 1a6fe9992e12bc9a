"""Area under the precision-recall curve, and the curve itself.

The area is average precision: the sum over thresholds of the recall gained there times the
precision reached there, without interpolation. Only levels of the score that hold a positive gain
recall, so each negative is counted with the highest such level that it does not exceed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.ranking import positives
from medldr.evaluation.metrics.sums import Array, Sums, mean_defined, name_each, ratio

POINTS = 200
"""Maximum number of points kept of one curve."""


def areas(items: Items) -> Sums:
    """``auprc`` of any task, and of each class (or label) against the rest.

    Binary tasks have that of the positive class; others the unweighted mean over the columns where
    it is defined, which needs positives and negatives.

    Source:
        Equals scikit-learn's ``average_precision_score`` wherever an area is defined here.
    """
    truth = positives(items.label, items.prob.shape[1], items.task)
    blocks = [_levels(truth[:, k], items.order[:, k]) for k in range(items.prob.shape[1])]
    cuts = np.cumsum([0] + [block.shape[0] for block in blocks])

    def finish(sums: Array) -> dict[str, Array]:
        each = np.stack([_area(sums[a:b]) for a, b in pairwise(cuts)])
        overall = each[items.positive] if items.task == "binary" else mean_defined(each)
        return {"auprc": overall, **name_each("class/{}/auprc", each)}

    return Sums(csr_array(vstack(blocks)), finish)


def _levels(truth: Array, score: Array) -> csr_array:
    """Members of each level, from the highest score down: ``(2 * levels, N)``, positives first.

    A level is a distinct score of a positive; the last one takes the negatives below all of them.
    """
    item = np.flatnonzero(~np.isnan(truth))
    y, s = truth[item] == 1, score[item]
    distinct = np.unique(s[y])
    n = len(distinct) + 1
    level = n - 1 - np.searchsorted(distinct, s, side="right")
    # Scores from a level up to the next one belong to it.
    entries = (np.ones(len(item)), (np.where(y, level, n + level), item))
    return csr_array(entries, shape=(2 * n, len(truth)))


def _area(sums: Array) -> Array:
    positive, negative = np.split(sums, 2)
    found = np.cumsum(positive, axis=0)
    flagged = found + np.cumsum(negative, axis=0)
    precision = np.divide(found, flagged, out=np.zeros_like(found), where=flagged > 0)
    area = ratio(np.einsum("lb,lb->b", positive, precision), found[-1])
    return np.where(flagged[-1] > found[-1], area, np.nan)


def curve(truth: Array, score: Array) -> dict[str, list[float] | float] | None:
    """At most 200 points of the curve and the share of positives; None where it is undefined.

    Args:
        truth: ``(N,)`` of 1, 0 and NaN (left out).
        score: ``(N,)``.
    """
    from sklearn.metrics import precision_recall_curve  # slow to import

    known = ~np.isnan(truth)
    y: NDArray[np.bool_] = truth[known] == 1
    if not y.any() or y.all():
        return None
    precision, recall, _ = precision_recall_curve(y, score[known])
    steps = np.linspace(0, len(recall) - 1, min(POINTS, len(recall)))
    keep = np.unique(steps.round().astype(int))
    return {
        "recall": recall[keep].tolist(),
        "precision": precision[keep].tolist(),
        "prevalence": float(y.mean()),
    }
