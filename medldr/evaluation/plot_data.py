"""The data that pages plot for a split: confusion matrix, reliability and ROC curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from medldr.evaluation.metrics import calibration, counts, ranking
from medldr.evaluation.split_scores import SplitScores


def pictures(scores: SplitScores) -> dict[str, Any]:
    """Plain lists of numbers.

    Returns:
        ``confusion`` (counts ``K x K``, row = truth; multi-label ``L x 2 x 2``),
        ``reliability`` as ``ece`` measures it, for binary tasks ``reliability_positive`` too,
        and ``roc`` by class (binary: of the positive class). ``confusion`` is None and ``roc``
        empty where nothing can be measured.
    """
    table, truth, bins = scores.table, scores.truth, scores.bins
    if scores.why_not():
        empty = {"count": [0] * bins, "confidence": [None] * bins, "accuracy": [None] * bins}
        return {"confusion": None, "reliability": empty, "roc": {}}
    if table.task == "multi-label":
        pair = table.prob, truth
    else:
        pair = calibration.top_label(table.label.astype(np.int64), table.prob, table.task)
    out: dict[str, Any] = {
        "confusion": counts.confusion(table.label, table.prob, table.task).tolist(),
        "reliability": calibration.reliability(*pair, bins),
    }
    columns = range(len(table.class_names))
    if table.task == "binary":
        k = scores.positive
        columns = range(k, k + 1)
        out["reliability_positive"] = calibration.reliability(table.prob[:, k], truth[:, k], bins)
    curves = {table.class_names[k]: ranking.roc(truth[:, k], table.prob[:, k]) for k in columns}
    out["roc"] = {name: curve for name, curve in curves.items() if curve is not None}
    return out
