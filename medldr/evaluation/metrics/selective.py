"""Errors among the images that remain when the least confident ones are referred to a reader.

Confidence is the log-odds of the predicted class, or its probability where these are not known, as
probabilities near 1 are rounded to ties. Coverage is the share of images that are
kept, the most confident first; images of equal confidence are kept or referred together.

Source:
    Geifman and El-Yaniv 2017 (risk and coverage; the area is the mean risk over the items).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from medldr.evaluation.metrics.calibration import top_label
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, ratio
from medldr.types import Task

COVERAGES = (100, 90, 80, 70)
"""Shares of images kept, in %, at which the error is reported."""
POINTS = 200
"""Maximum number of points kept of one curve."""


def risks(items: Items) -> Sums:
    """``aurc``, and ``coverage/90/error`` where 90% of the images are kept, and so on."""
    confidence, right = top_label(items.number, items.prob, items.task, items.ranks_by)
    distinct, level = np.unique(-confidence, return_inverse=True)
    n, item = len(distinct), np.arange(len(level))
    wrong = item[right == 0]
    rows = np.concatenate([level, n + level[wrong]])
    per_item = csr_array(
        (np.ones(len(rows)), (rows, np.concatenate([item, wrong]))), (2 * n, len(level))
    )

    def finish(sums: Array) -> dict[str, Array]:
        kept, errors = np.split(sums, 2)
        size, failed = np.cumsum(kept, axis=0), np.cumsum(errors, axis=0)
        risk = np.divide(failed, size, out=np.zeros_like(failed), where=size > 0)
        out = {"aurc": ratio(np.einsum("lb,lb->b", kept, risk), size[-1])}
        for percent in COVERAGES:
            place = _first(size, percent / 100)
            chosen = np.take_along_axis(risk, place[None], axis=0)[0]
            out[f"coverage/{percent}/error"] = np.where(size[-1] > 0, chosen, np.nan)
        return out

    return Sums(per_item, finish)


def _first(size: Array, coverage: float) -> NDArray[np.intp]:
    """The first level by which this share of the items is kept."""
    first: NDArray[np.intp] = np.argmax(size >= coverage * size[-1] - 1e-9, axis=0)
    return first


def curve(
    label: NDArray[np.int64], prob: Array, task: Task, ranks_by: Array | None = None
) -> dict[str, list[float]]:
    """At most 200 points of the error against the coverage.

    Args:
        label: ``(N,)`` class numbers.
        prob: ``(N, K)`` probabilities.
        task: Anything but multi-label.
        ranks_by: ``(N, K)`` what orders items; unset: the probabilities.

    Example:
        >>> prob = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
        >>> curve(np.array([0, 1, 1, 1]), prob, "binary")
        {'coverage': [0.25, 0.5, 0.75, 1.0], 'error': [0.0, 0.0, 0.0, 0.25]}
    """
    confidence, right = top_label(label, prob, task, ranks_by)
    order = np.argsort(-confidence, kind="stable")
    size = np.arange(1, len(order) + 1)
    last = np.flatnonzero(np.r_[np.diff(confidence[order]) != 0, True])
    steps = np.linspace(0, len(last) - 1, min(POINTS, len(last)))
    keep = last[np.unique(steps.round().astype(int))]
    error = np.cumsum(1 - right[order]) / size
    return {"coverage": (size[keep] / len(order)).tolist(), "error": error[keep].tolist()}
