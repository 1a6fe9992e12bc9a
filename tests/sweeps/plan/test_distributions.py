"""What draws are drawn from: bounds, quantiles, whole numbers, and numbers that never change."""

import functools
import hashlib
import re

import numpy as np
import pytest
from scipy import stats

from medldr.sweeps.plan.distributions import Distribution, distribution, number_of

MANY = 4000


@functools.cache
def numbers(*, seed=0, key="training.lr", run=None):
    return np.array([number_of(seed, draw, key, run) for draw in range(MANY)])


def drawn(kind, *values):
    return np.array([Distribution(kind, values).at(u) for u in numbers()])


def test_numbers_are_pinned_for_ever():
    # Derived apart from the code: SHA-256 of the JSON text seeds PCG64, whose Generator draws one.
    seeded = {
        '[0, 7, "training.lr"]': (0, 7, "training.lr"),
        '[3, 1, "algorithm.weight", 2]': (3, 1, "algorithm.weight", 2),
    }
    for text, parts in seeded.items():
        seed = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        assert number_of(*parts) == np.random.default_rng(seed).random()
    assert number_of(0, 7, "training.lr") == 0.7006330635660422
    assert number_of(0, 1, "training.lr") == 0.5901445436534329


@pytest.mark.slow
def test_numbers_are_uniform_and_those_of_two_keys_or_seeds_are_unrelated():
    first = numbers()
    assert stats.kstest(first, "uniform").pvalue > 0.01
    for other in (numbers(seed=1), numbers(key="training.weight_decay"), numbers(run=0)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.05
        assert not np.isin(first, other).any()


def test_log_uniform_is_ten_to_a_uniform_power():
    found = drawn("log_uniform", 1e-5, 10**-3.5)
    assert 1e-5 <= found.min() < 1.02e-5
    assert 0.98 * 10**-3.5 < found.max() <= 10**-3.5
    assert stats.kstest(np.log10(found), stats.uniform(-5, 1.5).cdf).pvalue > 0.01
    np.testing.assert_allclose(found, 10 ** (-5 + 1.5 * numbers()), rtol=5e-6)


def test_uniform_is_linear_and_choices_are_equally_likely():
    found = drawn("uniform", -0.5, 0.99)
    assert -0.5 <= found.min() < -0.49
    assert 0.98 < found.max() <= 0.99
    np.testing.assert_allclose(np.quantile(found, [0.25, 0.5, 0.75]),
                               [-0.1275, 0.245, 0.6175], atol=0.04)  # fmt: skip
    counts = [np.sum(drawn("choice", 0, 0.1, 0.5) == value) for value in (0, 0.1, 0.5)]
    assert sum(counts) == MANY
    assert stats.chisquare(counts).pvalue > 0.01


def test_whole_numbers_are_rounded_down_as_in_domainbed():
    found = drawn("log_uniform_int", 8, 2**5.5)
    assert found.tolist() == [int(2 ** (3 + 2.5 * u)) for u in numbers()]
    assert (found.min(), found.max()) == (8, 45)
    # P(8) is the width of [8, 9) on the scale of powers of two.
    assert np.mean(found == 8) == pytest.approx(np.log2(9 / 8) / 2.5, abs=0.015)
    found = drawn("uniform_int", 0, 4)
    assert sorted(set(found.tolist())) == [0, 1, 2, 3]
    found = drawn("uniform_int", -2, 2)
    assert stats.chisquare(np.unique(found, return_counts=True)[1]).pvalue > 0.01
    for kind in ("uniform_int", "log_uniform_int"):
        assert type(Distribution(kind, (1, 8)).at(0.3)) is int


@pytest.mark.parametrize("kind", ["uniform", "log_uniform", "uniform_int", "log_uniform_int"])
def test_no_value_leaves_its_bounds(kind):
    for low, high in [(8, 2**5.5), (3, 4), (1, 1e9), (7, 7.5)]:
        found = Distribution(kind, (low, high))
        ends = found.extremes()
        for u in (0.0, 2.0**-53, 0.5, 1 - 2.0**-53):
            assert ends[0] <= found.at(u) <= ends[1]
        assert found.at(0.0) == ends[0]


def test_values_have_six_digits():
    assert Distribution("log_uniform", (1e-5, 1e-2)).at(1 / 3) == 0.0001
    assert Distribution("uniform", (0, 1)).at(1 / 3) == 0.333333


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({}, "needs one distribution. Known: uniform, log_uniform"),
        ({"uniform": [0, 1], "choice": [1]}, "needs one distribution. Known"),
        ({"loguniform": [1, 2]}, "needs one distribution. Did you mean 'log_uniform'?"),
        ({"log_uniform": [0, 1]}, "log_uniform = [0, 1]: the lower bound should be above 0"),
        ({"uniform": [2, 1]}, "the lower bound should be below the upper one"),
        ({"uniform": [1]}, "should be two numbers, [low, high]"),
        ({"uniform": [0, True]}, "should be two numbers, [low, high]"),
        ({"uniform": [0, float("inf")]}, "should be two numbers, [low, high]"),
        ({"uniform_int": [0.5, 3]}, "the lower bound should be a whole number"),
        ({"choice": []}, "choice = []: should be a list with at least one value"),
        ({"choice": [{"lr": 1}]}, "draw each of them by its dotted key"),
    ],
)  # fmt: skip
def test_a_faulty_distribution_says_what_is_possible(written, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        distribution(written)
