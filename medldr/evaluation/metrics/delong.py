"""Variance of areas under ROC curves that were measured on the same independent items.

Source:
    DeLong, DeLong and Clarke-Pearson 1988, computed from midranks as in Sun and Xu 2014.
"""

from __future__ import annotations

import numpy as np

from medldr.evaluation.metrics.sums import Array


def areas(truth: Array, score: Array) -> tuple[Array, Array]:
    """Areas of several scores of the same items, and their covariance.

    The variance of the difference of the first two is ``c[0, 0] + c[1, 1] - 2 * c[0, 1]``. Items
    have to be independent: several images of a patient are not.

    Args:
        truth: ``(N,)`` of 1 and 0, at least two of each.
        score: ``(M, N)``, one row per classifier.

    Returns:
        Areas ``(M,)`` and their covariance ``(M, M)``.

    Raises:
        ValueError: If there are fewer than two positives or negatives.

    Example:
        >>> truth = np.array([1.0, 1.0, 0.0, 0.0])
        >>> area, covariance = areas(truth, np.array([[0.9, 0.4, 0.5, 0.1]]))
        >>> area.tolist(), covariance.tolist()
        ([0.75], [[0.125]])
    """
    from scipy.stats import rankdata  # takes a second to load, and few runs need it

    positive, negative = score[:, truth == 1], score[:, truth == 0]
    m, n = positive.shape[1], negative.shape[1]
    if min(m, n) < 2:
        raise ValueError("DeLong's variance needs two positives and two negatives")
    both = rankdata(np.concatenate([positive, negative], axis=1), axis=1)
    # Each positive's share of negatives below it, and each negative's share of positives above it.
    above = (both[:, :m] - rankdata(positive, axis=1)) / n
    below = 1 - (both[:, m:] - rankdata(negative, axis=1)) / m
    covariance = np.atleast_2d(np.cov(above)) / m + np.atleast_2d(np.cov(below)) / n
    return above.mean(axis=1), covariance
