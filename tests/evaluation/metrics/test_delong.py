"""DeLong's covariance equals its definition over all pairs; its interval holds in simulations."""

import numpy as np
import pytest
from scipy.special import ndtr

from medldr.evaluation.comparison import delong
from medldr.evaluation.comparison.delong import paired


def by_pairs(truth, score):
    """Areas and covariance from every pair of a positive and a negative."""
    areas, above, below = [], [], []
    for s in score:
        x, y = s[truth == 1], s[truth == 0]
        wins = np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in y] for a in x])
        areas.append(wins.mean())
        above.append([row.mean() for row in wins])
        below.append([column.mean() for column in wins.T])
    k, m, n = len(score), len(above[0]), len(below[0])
    covariance = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            one = sum(
                (a - areas[i]) * (b - areas[j]) for a, b in zip(above[i], above[j], strict=True)
            )
            two = sum(
                (a - areas[i]) * (b - areas[j]) for a, b in zip(below[i], below[j], strict=True)
            )
            covariance[i, j] = one / (m - 1) / m + two / (n - 1) / n
    return areas, covariance


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_it_equals_its_definition_also_with_ties(decimals):
    rng = np.random.default_rng(decimals)
    truth = (rng.random(60) < 0.3).astype(float)
    score = (rng.normal(size=(3, 60)) + truth).round(decimals)
    areas, covariance = delong.areas(truth, score)
    expected = by_pairs(truth, score)
    assert areas == pytest.approx(expected[0], abs=1e-12)
    assert covariance == pytest.approx(expected[1], abs=1e-12)


def test_equal_scores_differ_by_nothing_without_variance():
    rng = np.random.default_rng(0)
    truth, score = (rng.random(40) < 0.5).astype(float), rng.normal(size=40)
    assert paired(truth, score, score) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_its_interval_covers_the_true_difference():
    """Two readings with different noise of the same signal; true areas by the normal law."""
    true = float(ndtr(1.2 / 2**0.5) - ndtr(1.2 / 1.5 / 2**0.5))
    covered, times = 0, 400
    for seed in range(times):
        rng = np.random.default_rng([3, seed])
        truth = np.repeat([1.0, 0.0], [40, 80])
        shared = rng.normal(size=120)
        one = 1.2 * truth + 0.8 * shared + 0.6 * rng.normal(size=120)
        other = 1.2 * truth + 1.5 * (0.8 * shared + 0.6 * rng.normal(size=120))
        _, low, high = paired(truth, one, other)
        covered += low <= true <= high
    assert 0.92 <= covered / times <= 0.98


def test_too_few_of_a_class_cannot_be_used():
    with pytest.raises(ValueError, match="two positives"):
        delong.areas(np.array([1.0, 0, 0]), np.array([[1.0, 2, 3]]))
