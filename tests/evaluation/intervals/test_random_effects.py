"""The random-effects summary: against published values, and against a search by brute force."""

import numpy as np
import pytest
from scipy import stats

from medldr.evaluation.intervals.random_effects import random_effects

# Thirteen trials of BCG vaccination against tuberculosis (Colditz 1994; metafor's dat.bcg):
# cases and others among the vaccinated, then among the controls.
BCG = np.array([
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619),
    (33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892),
    (29, 7470, 45, 7232), (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338),
    (27, 16886, 29, 17825),
])  # fmt: skip


@pytest.fixture
def bcg():
    """Log relative risks and their standard errors."""
    a, b, c, d = BCG.T.astype(float)
    risk = np.log(a / (a + b)) - np.log(c / (c + d))
    return risk, np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_the_published_summary_of_the_bcg_trials(bcg):
    found = random_effects(*bcg)
    assert found.mean == pytest.approx(-0.7145, abs=5e-5)
    assert found.tau2 == pytest.approx(0.3132, abs=5e-5)
    assert found.tau == pytest.approx(0.5597, abs=5e-5)
    assert 100 * found.i2 == pytest.approx(92.22, abs=5e-3)
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.q_p < 1e-4
    assert found.error == pytest.approx(0.1808, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((-1.1084, -0.3206), abs=5e-5)
    assert not found.few


def restricted_loss(tau2, y, v):
    """Minus the restricted log likelihood, by the determinants of its definition."""
    sigma, ones = np.diag(v + tau2), np.ones((len(y), 1))
    inverse = np.linalg.inv(sigma)
    information = ones.T @ inverse @ ones
    mean = np.linalg.solve(information, ones.T @ inverse @ y)
    rest = y - ones @ mean
    _, whole = np.linalg.slogdet(sigma)
    _, of_mean = np.linalg.slogdet(information)
    return 0.5 * (whole + of_mean + rest @ inverse @ rest)


def samples():
    rng = np.random.default_rng(5)
    for k in (2, 5, 12):
        for spread in (0.0, 0.02, 0.2):
            errors = rng.uniform(0.005, 0.06, k)
            yield rng.normal(0.02, spread, k) + rng.normal(0, errors), errors


@pytest.mark.parametrize(("y", "s"), list(samples()))
def test_reml_is_the_best_of_a_fine_grid(y, s):
    scale = max(np.ptp(y), s.max()) ** 2
    grid = np.concatenate([[0.0], np.geomspace(1e-8, 10, 800) * scale])
    losses = np.array([restricted_loss(tau2, y, s**2) for tau2 in grid])
    found = random_effects(y, s)
    place = int(losses.argmin())
    assert restricted_loss(found.tau2, y, s**2) <= losses[place] + 1e-9
    around = grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]
    assert around[0] - 1e-12 <= found.tau2 <= around[1] + 1e-12


@pytest.mark.parametrize(("y", "s"), list(samples()))
def test_intervals_are_those_of_their_formulas(y, s):
    found, k = random_effects(y, s), len(y)
    w = 1 / (s**2 + found.tau2)
    mean = np.average(y, weights=w)
    factor = (w * (y - mean) ** 2).sum() / (k - 1)
    error = np.sqrt(max(1, factor) / w.sum())
    half = stats.t.ppf(0.975, k - 1) * error
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half))
    assert found.weights == pytest.approx(w / w.sum())
    fixed = np.average(y, weights=s**-2.0)
    assert found.q == pytest.approx((((y - fixed) / s) ** 2).sum())
    assert found.q_p == pytest.approx(stats.chi2.sf(found.q, k - 1))
    assert found.few == (k == 2)
    if k == 2:
        assert found.predicted is None
        return
    reach = stats.t.ppf(0.975, k - 2) * np.sqrt(found.tau2 + error**2)
    assert found.predicted == pytest.approx((mean - reach, mean + reach))


def test_effects_that_agree_have_no_interval_of_no_width():
    found = random_effects([0.02] * 4, [0.01] * 4)
    half = stats.t.ppf(0.975, 3) * 0.01 / 2
    assert (found.low, found.high) == pytest.approx((0.02 - half, 0.02 + half))
    assert (found.tau2, found.i2) == (0.0, 0.0)
    assert found.q == pytest.approx(0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_does_not_matter(bcg, scale):
    y, s = bcg
    one, other = random_effects(y, s), random_effects(scale * y, scale * s)
    assert other.tau2 == pytest.approx(scale**2 * one.tau2, rel=1e-6)
    assert other.mean == pytest.approx(scale * one.mean, rel=1e-6)
    assert other.i2 == pytest.approx(one.i2, rel=1e-6)


def test_fewer_than_two_cannot_be_pooled():
    assert random_effects([], []) is None
    assert random_effects([0.1], [0.1]) is None


@pytest.mark.parametrize(
    ("effects", "errors"),
    [([0.1, 0.2], [0.1]), ([0.1, np.nan], [0.1, 0.1]), ([0.1, 0.2], [0.1, 0.0])],
)
def test_what_is_no_effect_or_no_error_is_refused(effects, errors):
    with pytest.raises(ValueError, match=r"effects|standard error"):
        random_effects(effects, errors)
