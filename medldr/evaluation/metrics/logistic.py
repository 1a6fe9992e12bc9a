"""Logistic regression without a penalty, with a variance that allows for patients.

Images of a patient are not independent, so the variance is the sandwich of the scores summed over
groups. With the factor G / (G - 1) and Student's t with G - 1 degrees of freedom it holds for few
groups too; where every item is its own group, it is the usual robust variance.

Source:
    Liang and Zeger 1986 (sandwich over groups); Albert and Anderson 1984 (when no maximum exists).
    The factor and the t distribution are common choices for few groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, stdtrit  # scipy.stats takes a second to load

from medldr.evaluation.metrics.sums import Array

STEPS = 25
"""Newton steps before a fit counts as failed. Good ones need about ten, as their error squares;
where outcomes are separated, coefficients grow for ever, and each step gains a third of the last.
"""
FARTHEST = 4.0
"""A step moves no linear predictor by more: where all probabilities are near 0 or 1, the likelihood
is so flat that Newton's step would overshoot by far."""
FLAT = 1e-12
"""Twice the gain in log likelihood that a step promises once a fit has converged."""


@dataclass(frozen=True)
class Fit:
    """A fitted regression.

    Attributes:
        coefficients: ``(P,)``.
        covariance: ``(P, P)``, over groups; None for fewer than two groups.
        groups: Number of groups.
    """

    coefficients: Array
    covariance: Array | None
    groups: int

    def interval(self, design: Array, level: float) -> tuple[Array, Array, Array] | None:
        """Linear predictor and its Wald interval, at rows ``(M, P)``; None without a variance."""
        if self.covariance is None:
            return None
        middle = design @ self.coefficients
        variance = np.einsum("mp,pq,mq->m", design, self.covariance, design)
        half = stdtrit(self.groups - 1, 0.5 + level / 2) * np.sqrt(np.maximum(variance, 0))
        return middle, middle - half, middle + half


def fit(
    outcome: Array, design: Array, group: NDArray[np.int64], offset: Array | float = 0.0
) -> Fit | None:
    """Maximum likelihood by Newton's method with step halving.

    Args:
        outcome: ``(N,)`` of 1 and 0.
        design: ``(N, P)``.
        group: ``(N,)`` number of each item's group.
        offset: ``(N,)`` fixed part of the linear predictor.

    Returns:
        None where no finite maximum is found: the outcomes are separated, or the columns of the
        design depend on each other.

    Example:
        >>> outcome = np.array([1.0, 1.0, 1.0, 0.0])
        >>> found = fit(outcome, np.ones((4, 1)), np.arange(4))
        >>> round(float(found.coefficients[0]), 6), round(float(found.covariance[0, 0]), 6)
        (1.098612, 1.777778)
    """
    beta = np.zeros(design.shape[1])
    likelihood = _likelihood(outcome, offset + design @ beta)
    for _ in range(STEPS):
        score, information = _derivatives(outcome, design, offset + design @ beta)
        step = _solve(information, score)
        if step is None:
            return None
        if score @ step < FLAT:
            beta = beta + step  # Newton's error squares, so this step lands on the maximum
            return Fit(beta, *_sandwich(outcome, design, group, offset + design @ beta))
        step = step * min(1.0, FARTHEST / np.abs(design @ step).max())
        for _ in range(40):
            after = _likelihood(outcome, offset + design @ (beta + step))
            if after >= likelihood:
                break
            step = step / 2
        beta, likelihood = beta + step, after
    return None


def _likelihood(outcome: Array, predictor: Array) -> float:
    return float(log_expit(np.where(outcome == 1, predictor, -predictor)).sum())


def _derivatives(outcome: Array, design: Array, predictor: Array) -> tuple[Array, Array]:
    p = expit(predictor)
    return design.T @ (outcome - p), (design * (p * expit(-predictor))[:, None]).T @ design


def _solve(information: Array, right: Array) -> Array | None:
    """The solution, None where the information is singular: then nothing determines it."""
    scale = np.sqrt(np.diag(information))
    if not (scale > 1e-8).all():
        return None
    scaled = information / np.outer(scale, scale)
    if np.linalg.cond(scaled) > 1e12:
        return None
    found: Array = (np.linalg.solve(scaled, (right.T / scale).T).T / scale).T
    return found


def _sandwich(
    outcome: Array, design: Array, group: NDArray[np.int64], predictor: Array
) -> tuple[Array | None, int]:
    _, number = np.unique(group, return_inverse=True)
    count = int(number.max()) + 1
    if count < 2:
        return None, count
    _, information = _derivatives(outcome, design, predictor)
    each = design * (outcome - expit(predictor))[:, None]
    scores = np.zeros((count, design.shape[1]))
    np.add.at(scores, number, each)
    bread = np.linalg.inv(information)
    return count / (count - 1) * bread @ (scores.T @ scores) @ bread, count
