"""Calibration as clinical papers report it: intercept, slope, and a smooth curve with its band.

All are logistic regressions of the outcome on the logit of the predicted probability. The intercept
fixes the slope at 1 (calibration in the large): above 0 the probabilities are too low on average.
A slope below 1 says that they are too extreme. The curve lets the relation bend: a restricted cubic
spline of the logit.

Probabilities of 0 and 1 have no logit. They are moved to 1e-6 and 1 - 1e-6, and counted.

Source:
    Cox 1958; Van Calster et al. 2016 and 2019 (intercept, slope, curve). Spline and places of the
    knots: Harrell 2015. Ours: the intervals (see `logistic`) and the number of knots, which leaves
    ten of the rarer outcome to each coefficient but the intercept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from medldr.evaluation.metrics.logistic import Fit, fit
from medldr.evaluation.metrics.sums import Array

EDGE = 1e-6
"""Probabilities nearer to 0 or 1 are moved here."""
KNOTS = {4: (0.05, 0.35, 0.65, 0.95), 3: (0.10, 0.50, 0.90)}
"""Quantiles of the logit that are knots, by their number."""
EACH = 10
"""Items of the rarer outcome that each coefficient of the curve needs."""
POINTS = 60
"""Points of a curve."""
ONE_CLASS = "only one class in the labels"
ALL_EQUAL = "all predicted probabilities are equal"
SEPARATED = "the probabilities separate the classes perfectly, so there is no finite value"
FAILED = "the regression did not converge"


def logits(prob: Array) -> tuple[Array, int]:
    """Logit of each probability, and how many were moved away from 0 or 1.

    Example:
        >>> found, moved = logits(np.array([0.5, 1.0]))
        >>> found.round(3).tolist(), moved
        ([0.0, 13.816], 1)
    """
    inside = np.clip(prob, EDGE, 1 - EDGE)
    return logit(inside), int((inside != prob).sum())


def intercept(truth: Array, score: Array, group: NDArray[np.int64]) -> Fit | str:
    """Calibration in the large, or why it is undefined.

    Args:
        truth: ``(N,)`` of 1 and 0.
        score: ``(N,)`` from `logits`.
        group: ``(N,)`` number of each item's group.

    Example:
        >>> truth, score = np.array([1.0, 1.0, 1.0, 0.0]), np.zeros(4)
        >>> round(float(intercept(truth, score, np.arange(4)).coefficients[0]), 6)
        1.098612
    """
    if truth.min() == truth.max():
        return ONE_CLASS
    return fit(truth, np.ones((len(truth), 1)), group, score) or FAILED


def line(truth: Array, score: Array, group: NDArray[np.int64]) -> Fit | str:
    """Intercept and slope together, or why they are undefined; arguments as of `intercept`.

    Example:
        >>> score = np.repeat([-2.0, 2.0], 4)
        >>> found = line(np.array([0.0, 0, 0, 1, 0, 1, 1, 1]), score, np.arange(8))
        >>> round(float(found.coefficients[1]), 6)
        0.549306
    """
    why = _undefined(truth, score)
    return why or fit(truth, _columns(score, np.array([])), group) or FAILED


def _undefined(truth: Array, score: Array) -> str:
    if truth.min() == truth.max():
        return ONE_CLASS
    if score.min() == score.max():
        return ALL_EQUAL
    positive, negative = score[truth == 1], score[truth == 0]
    apart = positive.min() >= negative.max() or negative.min() >= positive.max()
    return SEPARATED if apart else ""


def curve(truth: Array, score: Array, group: NDArray[np.int64], level: float) -> dict[str, Any]:
    """Observed frequency as a smooth function of the predicted probability, with its band.

    Args:
        truth: ``(N,)`` of 1 and 0.
        score: ``(N,)`` from `logits`.
        group: ``(N,)`` number of each item's group.
        level: Of the band, which holds at each point by itself.

    Returns:
        ``predicted``, ``observed``, ``low``, ``high`` (lists, empty without a curve), ``knots`` (0:
        a straight line in the logit) and ``reason``, why there is no curve. It spans the predicted
        probabilities without the outermost 1% on either side.
    """
    why, design = _undefined(truth, score), np.array([])
    rarer = int(min(truth.sum(), (1 - truth).sum()))
    if not why and rarer < EACH:
        why = f"fewer than {EACH} items of one outcome"
    found: Fit | None = None
    if not why:
        design = _knots(score, rarer)
        found = fit(truth, _columns(score, design), group)
        why = "" if found else FAILED
    low, high = np.quantile(score, [0.01, 0.99]).tolist()
    # Half of the points are even in probability and half in log odds, where the curve is smooth.
    even = logits(np.linspace(expit(low), expit(high), POINTS // 2))[0]
    grid = np.unique(np.concatenate([even, np.linspace(low, high, POINTS // 2)]))
    band = found and found.interval(_columns(grid, design), level)
    if found and band is None:
        why = "no band from a single group"
    names = ("observed", "low", "high")
    drawn = [expit(values).tolist() for values in band] if band else [[], [], []]
    return {
        "predicted": expit(grid).tolist() if band else [],
        **dict(zip(names, drawn, strict=True)),
        "knots": len(design),
        "reason": why or None,
    }


def _knots(score: Array, rarer: int) -> Array:
    """As many knots as the rarer outcome allows and the scores tell apart; none: a line."""
    for count, quantiles in KNOTS.items():
        knots = np.quantile(score, quantiles)
        if rarer >= EACH * (count - 1) and (np.diff(knots) > 1e-6).all():
            return knots
    return np.array([])


def _columns(score: Array, knots: Array) -> Array:
    """Columns of the regression: constant, logit, and the bends of a restricted cubic spline."""
    columns = [np.ones_like(score), score]
    if len(knots):
        last, before = knots[-1], knots[-2]

        def cube(knot: float) -> Array:
            out: Array = np.maximum(score - knot, 0) ** 3
            return out

        for knot in knots[:-2]:
            bend = cube(knot) - cube(before) * (last - knot) / (last - before)
            bend += cube(last) * (before - knot) / (last - before)
            columns.append(bend / (last - knots[0]) ** 2)
    return np.stack(columns, axis=1)
