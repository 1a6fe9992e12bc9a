"""Variances of test units and seeds: worked values, a second implementation, false positives."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import t as student

from medldr.evaluation.intervals.bootstrap import group_weights
from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.evaluation.intervals.inference import (
    NO_DIFFERENCE,
    NO_SPREAD,
    Scores,
    average,
    inferred,
    of_difference,
    of_gap,
    of_mean,
)
from medldr.evaluation.intervals.single_run import NO_UNITS, UNDEFINED_DRAWS
from medldr.metrics import metric_facts

ACCURACY, MACRO_F1 = metric_facts("accuracy"), metric_facts("macro_f1")
NEW = ("111101101110", "110111101111", "111101111010")
REFERENCE = ("101101001110", "100101101100", "011101001110")


def matrix(rows):
    return np.array([[int(answer) for answer in row] for row in rows], dtype=float)


def first(*counts, items=100):
    """Runs that answer the first so many items correctly."""
    return (np.arange(items) < np.array(counts)[:, None]).astype(float)


def exact(right):
    """Accuracies with draws that have the covariance of infinitely many real ones."""
    mean = right.mean(axis=1, keepdims=True)
    return Scores(mean[:, 0], mean + (right - mean) / right.shape[1] ** 0.5)


def drawn(right, weights):
    """Accuracies with real draws."""
    return Scores(right.mean(axis=1), right @ weights / right.shape[1])


def real_weights(units, draws, seed=0):
    return np.hstack(list(group_weights(units, draws, np.random.default_rng(seed))))


def noises(*methods, units):
    """Run x unit noise of each method, alone: c_1 and c_0."""
    return [of_mean(scores, units).noise for scores in methods]


WORKED = {
    "three seeds each": (
        (matrix(NEW), matrix(REFERENCE)),
        {
            "D": 0.2222222,
            "I": 0.0072951740,
            "c": (0.0041386083, 0.0041386083),
            "S": (0.0007716049, 0.0007716049),
            "V": 0.0072951740,
            "nu": 9.3694297,
            "t": 2.6017745,
            "p": 0.0277635,
            "ends": (0.0301624, 0.4142820),
        },
    ),
    "three seeds and two": (
        (matrix(NEW), matrix(REFERENCE[:2])),
        {
            "D": 0.2361111,
            "I": 0.0098730359,
            "c": (0.0041386083, 0.0055239899),
            "S": (0.0007716049, 0.0017361111),
            "V": 0.0098730359,
            "nu": 7.1538264,
            "t": 2.3762442,
            "p": None,
            "ends": (0.0021749, 0.4700473),
        },
    ),
    "seeds dominate": (
        (first(80, 70, 90), first(60, 70, 65)),
        {
            "D": 0.15,
            "I": 0.00061447811,
            "c": (0.00019079686, 0.00010381594),
            "S": (0.0033333333, 0.00083333333),
            "V": 0.0044865319,
            "nu": 2.8105300,
            "t": 2.2394217,
            "p": 0.1170014,
            "ends": (-0.0715301, 0.3715301),
        },
    ),
}


@pytest.mark.parametrize("name", WORKED)
def test_worked_differences(name):
    (new, reference), expected = WORKED[name]
    units = new.shape[1]
    one, other = exact(new), exact(reference)
    difference = one.mean - other.mean
    variance = of_difference(one, other, units)
    found = inferred(difference, variance)

    def near(value, digits=1e-7):
        return pytest.approx(value, abs=digits)

    def fine(value):
        return near(value, 1e-10)

    assert difference == near(expected["D"])
    assert variance.units == (Source(fine(expected["I"]), units - 1),)
    assert noises(one, other, units=units) == [fine(c) for c in expected["c"]]
    assert variance.noise == fine(sum(expected["c"]))
    assert [source.variance for source in variance.seeds] == [fine(sum(expected["S"]))]
    total, root = sum(expected["S"]), sum(s**2 for s in expected["S"]) ** 0.5
    assert variance.seeds[0].df == near((len(reference) - 1) * total / root, 1e-6)
    assert variance.fewest == len(reference)
    assert variance.total == fine(expected["V"])
    assert variance.df == near(expected["nu"])
    assert difference / variance.total**0.5 == near(expected["t"])
    assert found.p == (None if expected["p"] is None else near(expected["p"], 1e-6))
    assert (found.low, found.high) == (near(expected["ends"][0]), near(expected["ends"][1]))
    assert found.reason == ""


def test_worked_mean_of_one_method():
    new = exact(matrix(NEW))
    variance = of_mean(new, 12)
    found = inferred(new.mean, variance, MACRO_F1)
    assert new.mean == pytest.approx(0.7777778, abs=1e-7)
    assert variance.total == pytest.approx(0.0072951740, abs=1e-7)
    assert variance.df == pytest.approx(10.3624, abs=1e-4)
    assert found.low == pytest.approx(0.5883668, abs=1e-7)
    assert found.high == pytest.approx(0.9671888, abs=1e-7)
    assert found.p is None


def test_worked_share_near_one_has_its_interval_on_the_logit_scale():
    spread = np.var([0.96, 0.98, 0.94], ddof=1) / 3
    variance = Variance((Source(1e-4, 199),), (Source(spread, 2),), fewest=3)
    found = inferred(0.96, variance, ACCURACY)
    assert variance.total == pytest.approx(0.000233333, abs=1e-9)
    assert variance.df == pytest.approx(6.0905684, abs=1e-6)
    assert (found.low, found.high) == pytest.approx((0.9009823, 0.9844484), abs=1e-7)


def test_worked_spread_of_seeds_over_domains():
    """A seed that is lucky on one domain is lucky on the others: its own mean is what spreads."""
    values = np.array(
        [[0.70, 0.62, 0.81, 0.66], [0.74, 0.65, 0.83, 0.70], [0.69, 0.60, 0.80, 0.67]]
    )
    unit = Source(1e-6, 99)
    each = [
        Estimate(of.mean(), variance=Variance((unit,), (Source(of.var(ddof=1) / 3, 2),), 0.0, 3))
        for of in values.T
    ]
    together = average(each, ACCURACY, seeds=[values.mean(axis=1)])
    assert together.mean == pytest.approx(0.7058333, abs=1e-7)
    assert together.variance.seeds == (Source(pytest.approx(1.5069444e-4, abs=1e-11), 2),)
    unrelated = average(each, ACCURACY).variance
    assert sum(source.variance for source in unrelated.seeds) == pytest.approx(4.16667e-5, abs=1e-9)
    seeds = Variance((), unrelated.seeds)
    assert seeds.df == pytest.approx(7.0588, abs=1e-4)


# A second implementation, straight from the formulas.


def spread(values):
    return sum((value - sum(values) / len(values)) ** 2 for value in values) / len(values)


def unit_terms(signed, units):
    """I and c of a test set: `signed` has a sign and ``(k, draws)`` per method."""
    whole = [
        b
        for b in range(signed[0][1].shape[1])
        if not any(math.isnan(value) for _, draws in signed for value in draws[:, b])
    ]
    f = units / (units - 1)
    contrast = [sum(sign * sum(draws[:, b]) / len(draws) for sign, draws in signed) for b in whole]
    noise = 0.0
    for _, draws in signed:
        k = len(draws)
        if k > 1:
            single = sum(f * spread(list(run[whole])) for run in draws) / k
            mean = f * spread([sum(draws[:, b]) / k for b in whole])
            noise += max(0.0, (single - mean) / (k - 1))
    return (f * spread(contrast), units - 1), noise


def seed_term(*methods):
    each = [spread(list(values)) / (len(values) - 1) for values in methods]
    root = math.sqrt(sum(s**2 for s in each)) or math.nan
    return sum(each), (min(map(len, methods)) - 1) * sum(each) / root


def concluded(value, own, seeds, noise):
    """V, nu, p and interval from the components, each with its degrees of freedom."""
    total = sum(v for v, _ in own) + max(0.0, sum(s for s, _ in seeds) - noise)
    terms = [(v, df) for v, df in (*own, *seeds) if v > 0]
    nu = total**2 / sum(v**2 / df for v, df in terms)
    nu = max(nu, min(df for _, df in terms))  # the one deviation: see `Variance.df`
    p = 2 * student.sf(abs(value) / total**0.5, nu)
    half = student.ppf(0.975, nu) * total**0.5
    return {"V": total, "nu": nu, "p": p, "low": value - half, "high": value + half}


def agree(value, variance, expected, metric=None):
    """For means of a metric without a scale of its own."""
    found = inferred(value, variance, metric)
    close = {"rel": 1e-10, "abs": 1e-10}
    assert variance.total == pytest.approx(expected["V"], **close)
    assert variance.df == pytest.approx(expected["nu"], **close)
    low, high = expected["low"], expected["high"]
    if metric:
        low, high = max(low, 0.0), min(high, 1.0)
        assert found.p is None
    elif variance.fewest < 3:
        assert found.p is None
    else:
        assert found.p == pytest.approx(expected["p"], **close)
    assert found.low == pytest.approx(low, **close)
    assert found.high == pytest.approx(high, **close)


def random_answers(generator, units, *ks):
    """Answers of methods with a shared difficulty, seeds that spread more or less, and noise."""
    difficulty = generator.normal(0, 1.5, units)
    level, noise = generator.choice([0.0, 0.2, 1.0]), generator.choice([0.1, 0.7, 2.0])
    level_of_runs = [generator.normal(0.8, level, (k, 1)) for k in ks]
    return [
        (runs - difficulty + generator.normal(0, noise, (len(runs), units)) > 0).astype(float)
        for runs in level_of_runs
    ]


def random_scores(generator, units, *ks):
    weights = real_weights(units, 60, int(generator.integers(1 << 30)))
    found = [drawn(right, weights) for right in random_answers(generator, units, *ks)]
    for scores in found:  # undefined in some draws of some runs
        scores.draws[generator.random(scores.draws.shape) < 0.03] = np.nan
    return found


@pytest.mark.parametrize("seed", range(8))
def test_mean_and_difference_agree_with_a_second_implementation(seed):
    generator = np.random.default_rng(seed)
    units = int(generator.integers(5, 80))
    one, other = random_scores(generator, units, *generator.integers(2, 6, 2))
    own, noise = unit_terms([(1, one.draws), (-1, other.draws)], units)
    expected = concluded(one.mean - other.mean, [own], [seed_term(one.values, other.values)], noise)
    agree(one.mean - other.mean, of_difference(one, other, units), expected)

    own, noise = unit_terms([(1, one.draws)], units)
    expected = concluded(one.mean, [own], [seed_term(one.values)], noise)
    agree(one.mean, of_mean(one, units), expected, MACRO_F1)


@pytest.mark.parametrize("seed", range(8))
def test_gap_agrees_with_a_second_implementation(seed):
    generator = np.random.default_rng([seed, 1])
    units = tuple(int(count) for count in generator.integers(5, 80, 2))
    k = int(generator.integers(2, 6))
    (seen,), (unseen,) = (random_scores(generator, count, k) for count in units)
    own, noises = zip(
        *(unit_terms([(1, each.draws)], u) for each, u in zip((seen, unseen), units, strict=True)),
        strict=True,
    )
    gap = seen.mean - unseen.mean
    expected = concluded(gap, own, [seed_term(seen.values - unseen.values)], sum(noises))
    agree(gap, of_gap(seen, unseen, units), expected)


@pytest.mark.parametrize("seed", range(8))
def test_average_agrees_with_a_second_implementation(seed):
    generator = np.random.default_rng([seed, 2])
    count = int(generator.integers(2, 6))
    each, own, seeds, noise = [], [], [], 0.0
    for _ in range(count):
        units = int(generator.integers(5, 80))
        (scores,) = random_scores(generator, units, int(generator.integers(2, 6)))
        each.append(Estimate(scores.mean, variance=of_mean(scores, units)))
        (v, df), c = unit_terms([(1, scores.draws)], units)
        s, seed_df = seed_term(scores.values)
        own.append((v / count**2, df))
        seeds.append((s / count**2, seed_df))
        noise += c / count**2
    mean = np.mean([one.mean for one in each])
    found = average(each, MACRO_F1)
    assert found.mean == pytest.approx(mean, abs=1e-12)
    agree(found.mean, found.variance, concluded(mean, own, seeds, noise), MACRO_F1)
    assert found == inferred(found.mean, found.variance, MACRO_F1)


# Edge cases.


@pytest.mark.parametrize("ks", [(1, 1), (1, 3), (3, 1)])
def test_a_single_seed_has_no_p_and_an_interval_of_units_only(ks):
    one, other = exact(matrix(NEW)[: ks[0]]), exact(matrix(REFERENCE)[: ks[1]])
    variance = of_difference(one, other, 12)
    (own, _) = unit_terms([(1, one.draws), (-1, other.draws)], 12)
    assert variance.seeds == ()
    assert variance.noise == 0
    assert variance.total == pytest.approx(own[0])
    assert variance.df == 11
    assert variance.share_of_seeds is None
    found = inferred(one.mean - other.mean, variance)
    assert found.p is None
    half = student.ppf(0.975, 11) * own[0] ** 0.5
    assert found.high - found.low == pytest.approx(2 * half)


def test_the_gap_of_a_single_seed_has_no_p():
    seen, unseen = exact(matrix(NEW)[:1]), exact(matrix(REFERENCE)[:1])
    variance = of_gap(seen, unseen, (12, 12))
    assert variance.seeds == ()
    assert variance.total == pytest.approx(of_mean(seen, 12).total + of_mean(unseen, 12).total)
    assert inferred(seen.mean - unseen.mean, variance).p is None


@pytest.mark.parametrize("units", [0, 1])
def test_fewer_than_two_units_have_no_interval(units):
    scores = Scores(np.array([0.5, 0.6]), np.array([[0.5, 0.5], [0.6, 0.6]]))
    enough = exact(matrix(NEW)[:2])
    assert of_mean(scores, units) == NO_UNITS
    assert of_difference(scores, scores, units) == NO_UNITS
    assert of_gap(scores, enough, (units, 12)) == NO_UNITS
    assert of_gap(enough, scores, (12, units)) == NO_UNITS
    assert inferred(0.1, NO_UNITS) == Estimate(0.1, reason=NO_UNITS)


def test_no_variance_with_a_difference_has_no_interval_and_without_one_has_p_one():
    all_right, none_right = exact(np.ones((3, 20))), exact(np.zeros((3, 20)))
    apart = inferred(1.0, of_difference(all_right, none_right, 20))
    assert replace(apart, variance=None) == Estimate(1.0, reason=NO_SPREAD)
    same = inferred(0.0, of_difference(all_right, all_right, 20))
    assert (same.low, same.high, same.p, same.reason) == (None, None, 1.0, NO_DIFFERENCE)
    for mean in (all_right, none_right):  # a mean of zero is not "no difference"
        found = inferred(mean.mean, of_mean(mean, 20), ACCURACY)
        assert replace(found, variance=None) == Estimate(mean.mean, reason=NO_SPREAD)


def test_the_same_answers_from_seeds_that_spread_have_p_one():
    new = exact(matrix(NEW))
    found = inferred(0.0, of_difference(new, new, 12))
    assert found.p == 1.0


@pytest.mark.parametrize(("undefined", "there"), [(10, True), (11, False), (20, False)])
def test_more_than_half_of_the_draws_undefined_is_no_interval(undefined, there):
    generator = np.random.default_rng(0)
    draws = generator.random((2, 20))
    draws[1, :undefined] = np.nan  # in one run: left out of all
    scores = Scores(np.array([0.5, 0.6]), draws)
    other = Scores(np.array([0.4, 0.6]), generator.random((2, 20)))
    for variance in (of_mean(scores, 30), of_difference(other, scores, 30)):
        assert (variance == UNDEFINED_DRAWS) != there
    if there:
        kept = Scores(scores.values, draws[:, undefined:])
        assert of_mean(scores, 30) == of_mean(kept, 30)


def test_an_interval_excludes_zero_exactly_when_p_is_below_five_percent():
    generator = np.random.default_rng(0)
    sides = set()
    for _ in range(300):
        variance = Variance(
            (Source(generator.uniform(0.1, 1), int(generator.integers(1, 300))),),
            (Source(generator.uniform(0, 1), int(generator.integers(1, 9))),),
            generator.uniform(0, 0.5),
            3,
        )
        edge = student.ppf(0.975, variance.df) * variance.total**0.5
        for factor in (-2, -1 - 1e-6, -1 + 1e-6, 0.5, 1 - 1e-6, 1 + 1e-6):
            found = inferred(factor * edge, variance)
            excludes = found.low > 0 or found.high < 0
            assert excludes == (found.p < 0.05) == (abs(factor) > 1)
            sides.add(excludes)
    assert sides == {True, False}


def test_ends_are_cut_to_the_range_of_the_metric_but_not_those_of_a_difference():
    wide = Variance((Source(0.25, 11),), (Source(0.1, 2),))
    cut = inferred(0.9, wide, MACRO_F1)
    assert (cut.low, cut.high) == (0.0, 1.0)
    assert inferred(-0.2, wide, metric_facts("quadratic_kappa")).low == -1.0
    found = inferred(0.9, wide)
    assert found.low < 0
    assert found.high > 1


def test_share_of_seeds():
    new = of_mean(exact(matrix(NEW)), 12)
    assert new.share_of_seeds == 0
    assert new.total == new.units[0].variance
    dominated = exact(first(2000, 5000, 8000, items=10_000))
    assert of_mean(dominated, 10_000).share_of_seeds > 0.99
    assert of_mean(exact(np.ones((3, 20))), 20).share_of_seeds is None


def test_degrees_of_freedom_are_never_below_the_fewest_of_a_source():
    variance = Variance((Source(1e-4, 99),), (Source(1e-2, 2),), 1e-2)
    assert variance.total == pytest.approx(1e-4)
    assert variance.df == 2


def test_a_sum_is_of_networks_as_soon_as_one_part_is():
    whole = Variance((Source(0.1, 9),), (Source(0.2, 2),), 0.05)
    single = Variance((Source(0.3, 19),))
    both = whole + single
    assert both.units == (Source(0.1, 9), Source(0.3, 19))
    assert both.seeds == ()
    assert both.of_seeds == 0
    mean = average([Estimate(0.5, variance=whole), Estimate(0.6, variance=single)], ACCURACY)
    assert mean.variance.total == pytest.approx(0.4 / 4)


def test_an_average_needs_the_variance_of_every_set():
    known = Estimate(0.5, variance=Variance((Source(0.1, 9),)))
    assert average([known, Estimate(0.75)], ACCURACY) == Estimate(0.625)
    assert average([known, Estimate(reason="undefined")], ACCURACY) is None
    assert average([known, None], ACCURACY) is average([], ACCURACY) is None


def test_an_undefined_number_says_why():
    known = of_difference(exact(matrix(NEW)), exact(matrix(REFERENCE)), 12)
    assert inferred(np.nan, known, reason="one class only") == Estimate(reason="one class only")
    assert inferred(np.nan, known) == Estimate(reason="undefined")


def test_ends_of_a_difference_stay_within_what_a_difference_can_be():
    wide = Variance((Source(0.25, 3),), (Source(0.1, 2),))
    found = inferred(0.2, wide, span=ACCURACY.span)
    assert (found.low, found.high) == (-1.0, 1.0)
    assert found.p == inferred(0.2, wide).p
    assert metric_facts("quadratic_kappa").span == 2.0


# False positives.


def equal_methods(generator, k, items=2000, points=0.05):
    """Answers of two methods that are equally good, with seeds that spread."""
    difficulty = generator.normal(0, 1.5, items)
    found = []
    for _ in range(2):
        accuracy = np.clip(0.75 + points * generator.standard_normal((k, 1)), 0.001, 0.999)
        level = (1.5**2 + 0.3**2 + 0.7**2) ** 0.5 * ndtri(accuracy)
        own = generator.normal(0, 0.3, items)
        found.append((level + own - difficulty + generator.normal(0, 0.7, (k, items)) > 0) * 1.0)
    return found


def seeds_and_items_together(generator, one, other):
    """The negative control: p of a percentile bootstrap of seeds and items at once."""
    drawn = []
    for _, draws in (one, other):
        k, count = draws.shape
        picked = generator.integers(0, k, (k, count))
        drawn.append(np.take_along_axis(draws, picked, axis=0).mean(axis=0))
    difference = drawn[0] - drawn[1]
    tail = min((difference <= 1e-12).sum(), (difference >= -1e-12).sum())
    return min(1.0, 2 * (tail + 1) / (count + 1))


@pytest.mark.slow
def test_equal_methods_whose_seeds_spread_rarely_differ():
    k = 3
    generator = np.random.default_rng(k)
    weights = real_weights(2000, 200)
    new, old = [], []
    for _ in range(300):
        one, other = (drawn(right, weights) for right in equal_methods(generator, k))
        found = inferred(one.mean - other.mean, of_difference(one, other, 2000))
        new.append(found.p < 0.05)
        old.append(seeds_and_items_together(generator, one, other) < 0.05)
    assert np.mean(new) <= 0.10
    assert np.mean(old) > 0.12
