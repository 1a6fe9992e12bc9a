"""What `evaluation.json` holds of a split beside its scores: counts of classes, and curves.

Whether probabilities can be taken at their word, what a figure draws (ROC, reliability, risk and
coverage), and how often each class occurs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import LEVEL
from medldr.evaluation.intervals.single_run import NO_UNITS
from medldr.evaluation.metrics import (
    calibration,
    calibration_fit,
    counts,
    decision_curve,
    precision_recall,
    ranking,
    selective,
)
from medldr.evaluation.metrics.logistic import Fit
from medldr.evaluation.split_scores import SplitScores

MOST_CURVES = 6
"""With more classes, calibration has numbers for each but no curves."""


def class_counts(
    scores: SplitScores, rows: NDArray[np.bool_] | slice = slice(None)
) -> dict[str, Any]:
    """How many items and groups there are of each class, or label that is present.

    Args:
        scores: The split.
        rows: Which of its rows.
    """
    truth, group = scores.truth[rows], scores.units.number[rows]
    return {
        name: {
            "n": int((truth[:, k] == 1).sum()),
            "n_groups": len(np.unique(group[truth[:, k] == 1])),
            "known": int((~np.isnan(truth[:, k])).sum()),
        }
        for k, name in enumerate(scores.table.class_names)
    }


def calibration_of_classes(scores: SplitScores) -> dict[str, Any]:
    """``calibration_fit`` and ``calibration_curves`` by class; binary: of the positive class."""
    names = scores.table.class_names
    columns = [scores.positive] if scores.table.task == "binary" else range(len(names))
    fits, curves = {}, {}
    for k in columns:
        known = ~np.isnan(scores.truth[:, k])
        if not known.any():
            continue
        truth, prob = scores.truth[known, k], scores.table.prob[known, k]
        group = scores.units.number[known]
        score, moved = calibration_fit.logits(prob)
        fits[names[k]] = {
            "n": int(truth.sum()),
            "moved": moved,
            "calibration_intercept": _number(calibration_fit.intercept(truth, score, group), 0),
            "calibration_slope": _number(calibration_fit.line(truth, score, group), 1),
        }
        if len(columns) <= MOST_CURVES:
            curves[names[k]] = {
                **calibration_fit.curve(truth, score, group, LEVEL),
                "bins": calibration.reliability(prob, truth, scores.bins),
            }
    return {"calibration_fit": fits, "calibration_curves": curves}


def _number(fit: Fit | str, place: int) -> dict[str, Any]:
    """A coefficient with its interval, as `single_run.number` writes numbers."""
    found: dict[str, Any] = {"value": None, "low": None, "high": None, "reason": None}
    if isinstance(fit, str):
        return {**found, "reason": fit}
    found["value"] = float(fit.coefficients[place])
    ends = fit.interval(np.eye(len(fit.coefficients))[[place]], LEVEL)
    if ends is None:
        return {**found, "reason": NO_UNITS}
    return {**found, "low": float(ends[1][0]), "high": float(ends[2][0])}


def confusion(scores: SplitScores, *, at_thresholds: bool = False) -> list[Any] | None:
    """Counts ``K x K``, row = truth (multi-label ``L x 2 x 2``); None where nothing is measured.

    Args:
        scores: The split.
        at_thresholds: Whether labels are decided at their own thresholds instead of 0.5.
    """
    if scores.why_not():
        return None
    table = scores.table
    called = scores.called if at_thresholds and scores.labels else None
    prob = table.prob if called is None else called.astype(np.float64)
    cells: list[Any] = counts.confusion(table.label, prob, table.task).tolist()
    return cells


def curves(scores: SplitScores) -> dict[str, Any]:
    """Plain lists of numbers.

    Returns:
        ``reliability`` as ``ece`` measures it, for binary tasks ``reliability_positive`` too,
        and ``roc`` and ``precision_recall`` by class (binary: of the positive class).
        Single-label tasks have ``risk_coverage``, binary ones ``decision_curve`` and, where there
        are several domains, ``roc_by_domain``; multi-label ones ``decision_curves`` by label.
        Curves are missing or empty where nothing can be measured.
    """
    table, truth, bins = scores.table, scores.truth, scores.bins
    if scores.why_not():
        empty = {"count": [0] * bins, "confidence": [None] * bins, "accuracy": [None] * bins}
        return {"reliability": empty, "roc": {}}
    if table.task == "multi-label":
        pair = table.prob, truth
    else:
        pair = calibration.top_label(table.label.astype(np.int64), table.prob, table.task)
    out: dict[str, Any] = {"reliability": calibration.reliability(*pair, bins)}
    columns = range(len(table.class_names))
    if table.task == "binary":
        k = scores.positive
        columns = range(k, k + 1)
        out["reliability_positive"] = calibration.reliability(table.prob[:, k], truth[:, k], bins)
    pairs = {table.class_names[k]: (truth[:, k], table.ranks_by[:, k]) for k in columns}
    out["roc"] = _defined({name: ranking.roc(*pair) for name, pair in pairs.items()})
    out["precision_recall"] = _defined(
        {name: precision_recall.curve(*pair) for name, pair in pairs.items()}
    )
    if table.task != "multi-label":
        label = table.label.astype(np.int64)
        out["risk_coverage"] = selective.curve(label, table.prob, table.task, table.ranks_by)
    else:
        out["decision_curves"] = {
            name: decision_curve.curve(truth[known, k], table.prob[known, k])
            for k, name in enumerate(table.class_names)
            if (known := ~np.isnan(truth[:, k])).any()
        }
    if table.task == "binary":
        positive, order = pairs[table.class_names[scores.positive]]
        out["decision_curve"] = decision_curve.curve(positive, table.prob[:, scores.positive])
        if len(scores.domains) > 1:
            by_domain = {d: ranking.roc(positive[r], order[r]) for d, r in scores.domains.items()}
            out["roc_by_domain"] = _defined(by_domain)
    return out


def _defined(curves: dict[str, Any]) -> dict[str, Any]:
    return {name: curve for name, curve in curves.items() if curve is not None}
