"""What a clinical reader asks of a split beyond its metrics.

How frequent each class is, what a binary test achieves at its threshold, whether probabilities can
be taken at their word, and how errors fall when unsure images are referred to a reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals import LEVEL
from medldr.evaluation.metrics import calibration, calibration_fit, operating_point
from medldr.evaluation.metrics.logistic import Fit
from medldr.evaluation.metrics.selective import COVERAGES
from medldr.evaluation.single_run import NO_UNITS
from medldr.evaluation.split_scores import SplitScores

if TYPE_CHECKING:
    from medldr.evaluation.split_entry import SplitEntry

MOST_CURVES = 6
"""With more classes, calibration has numbers for each but no curves."""


def clinical(entry: SplitEntry) -> dict[str, Any]:
    """Plain values, as `evaluation.json` holds them.

    Returns:
        ``class_counts``, and where something can be measured ``calibration_fit`` and
        ``calibration_curves`` by class (binary: of the positive one), ``error_at_coverage`` by
        percentage (single-label tasks), ``decisions`` and ``at_prevalence`` (binary tasks).
    """
    scores, task = entry.scores, entry.task
    found: dict[str, Any] = {"class_counts": class_counts(scores, slice(None))}
    if scores.why_not():
        return found
    found |= _calibration(scores)
    if task != "multi-label":
        found["error_at_coverage"] = {
            str(percent): entry.number(f"coverage/{percent}/error") for percent in COVERAGES
        }
    threshold = scores.point.threshold
    if task == "binary" and threshold is not None:
        label = scores.table.label.astype(np.int64)
        found["decisions"] = operating_point.decisions(
            label, scores.table.prob, positive=scores.positive, threshold=threshold
        )
        if scores.point.prevalence is not None:
            names = ("ppv_at_prevalence", "npv_at_prevalence")
            found["at_prevalence"] = {name: entry.number(name) for name in names}
    return found


def class_counts(scores: SplitScores, rows: NDArray[np.bool_] | slice) -> dict[str, Any]:
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


def _calibration(scores: SplitScores) -> dict[str, Any]:
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
    if isinstance(fit, str):
        return {"value": None, "low": None, "high": None, "reason": fit}
    value = float(fit.coefficients[place])
    ends = fit.interval(np.eye(len(fit.coefficients))[[place]], LEVEL)
    if ends is None:
        return {"value": value, "low": None, "high": None, "reason": NO_UNITS}
    return {"value": value, "low": float(ends[1][0]), "high": float(ends[2][0]), "reason": None}
