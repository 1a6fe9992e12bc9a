"""The data that pages plot for a split: confusion matrix, reliability, and curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from medldr.evaluation.metrics import (
    calibration,
    counts,
    decision_curve,
    precision_recall,
    ranking,
    selective,
)
from medldr.evaluation.split_scores import SplitScores


def pictures(scores: SplitScores) -> dict[str, Any]:
    """Plain lists of numbers.

    Returns:
        ``confusion`` (counts ``K x K``, row = truth; multi-label ``L x 2 x 2``),
        ``reliability`` as ``ece`` measures it, for binary tasks ``reliability_positive`` too,
        and ``roc`` and ``precision_recall`` by class (binary: of the positive class).
        Single-label tasks have ``risk_coverage``, binary ones ``decision_curve`` and, where there
        are several domains, ``roc_by_domain``. ``confusion`` is None and curves are missing or
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
    pairs = {table.class_names[k]: (truth[:, k], table.prob[:, k]) for k in columns}
    out["roc"] = _defined({name: ranking.roc(*pair) for name, pair in pairs.items()})
    out["precision_recall"] = _defined(
        {name: precision_recall.curve(*pair) for name, pair in pairs.items()}
    )
    if table.task != "multi-label":
        label = table.label.astype(np.int64)
        out["risk_coverage"] = selective.curve(label, table.prob, table.task)
    if table.task == "binary":
        found, prob = truth[:, scores.positive], table.prob[:, scores.positive]
        out["decision_curve"] = decision_curve.curve(found, prob)
        if len(scores.domains) > 1:
            by_domain = {d: ranking.roc(found[r], prob[r]) for d, r in scores.domains.items()}
            out["roc_by_domain"] = _defined(by_domain)
    return out


def _defined(curves: dict[str, Any]) -> dict[str, Any]:
    return {name: curve for name, curve in curves.items() if curve is not None}
