"""Net benefit of acting on a prediction, against acting on everybody and on nobody.

Whoever acts above a probability of 20% accepts four unnecessary actions for one that is needed. Net
benefit counts the needed actions per image and subtracts the unnecessary ones at that rate.

Source:
    Vickers and Elkin 2006.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medldr.evaluation.metrics.sums import Array
from medldr.folders.evaluation_parts import DecisionCurve

THRESHOLDS = np.arange(1, 100) / 100
"""Probabilities at and above which one acts."""
EQUAL = 1e-12
"""Differences this small come from rounding."""


def net_benefit(truth: Array, prob: Array, threshold: Array = THRESHOLDS) -> Array:
    """Net benefit at each threshold ``(T,)``: TP/N - FP/N * t / (1 - t).

    Args:
        truth: ``(N,)`` of 1 and 0.
        prob: ``(N,)`` probabilities of 1.
        threshold: ``(T,)``, above 0 and below 1; one acts at and above it.

    Example:
        >>> truth, prob = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.3, 0.5, 0.1])
        >>> net_benefit(truth, prob, np.array([0.2, 0.5])).tolist()
        [0.4375, 0.0]
    """
    n, odds = len(truth), threshold / (1 - threshold)
    true, false = np.sort(prob[truth == 1]), np.sort(prob[truth == 0])
    found = len(true) - np.searchsorted(true, threshold, side="left")
    alarms = len(false) - np.searchsorted(false, threshold, side="left")
    out: Array = found / n - alarms / n * odds
    return out


def curve(truth: Array, prob: Array) -> dict[str, list[float]]:
    """Net benefit of the predictions (``model``) and of acting on all; that of nobody is 0."""
    return {
        "threshold": THRESHOLDS.tolist(),
        "model": net_benefit(truth, prob).tolist(),
        "treat_all": net_benefit(truth, np.ones_like(prob)).tolist(),
    }


class Useful(NamedTuple):
    """How many thresholds favour the predictions, of how many, and the longest range of these."""

    thresholds: int
    of: int
    low: float
    high: float


def useful(curve: DecisionCurve) -> Useful | None:
    """Thresholds at which the predictions have the highest net benefit; None if there are none.

    Example:
        >>> curve = DecisionCurve(threshold=(0.1, 0.2, 0.3, 0.4), model=(0.2, 0.2, 0.1, 0.1),
        ...                       treat_all=(0.3, 0.1, 0.0, -0.1))
        >>> useful(curve)
        Useful(thresholds=3, of=4, low=0.2, high=0.4)
    """
    rows = zip(curve.threshold, curve.model, curve.treat_all, strict=True)
    runs: list[list[float]] = [[]]
    for threshold, model, treat_all in rows:
        if model > max(treat_all, 0.0) + EQUAL:
            runs[-1].append(threshold)
        elif runs[-1]:
            runs.append([])
    longest = max(runs, key=len)
    if not longest:
        return None
    return Useful(sum(map(len, runs)), len(curve.threshold), longest[0], longest[-1])
