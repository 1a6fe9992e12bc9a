"""Planned widths and power: worked values, known limits, and simulated studies that agree."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from medldr.evaluation.intervals.estimate import Source, Variance
from medldr.evaluation.intervals.inference import Scores, inferred, of_difference, of_mean
from medldr.evaluation.intervals.planning import (
    SAME_METHOD,
    Design,
    detectable,
    hanley_mcneil,
    network_variance,
    power,
    precision,
    what_limits,
)
from medldr.evaluation.intervals.planning import of_difference as planned_difference
from medldr.evaluation.intervals.planning import of_mean as planned_mean
from medldr.metric import Metric

UNCUT = Metric("mean", "Mean", "", range=(-9.0, 9.0))
STUDY = Design(240, 1, 0.5, 3, "accuracy", 0.75, 0.5, 0.02, 0.5)


def test_one_network_is_a_binomial_proportion_with_students_t():
    half = stats.t(239).ppf(0.975) * math.sqrt(0.75 * 0.25 / 240)
    assert precision(STUDY).network == pytest.approx(half, rel=1e-12)


def test_images_of_a_patient_count_by_the_design_effect():
    assert replace(STUDY, images=5, icc=1.0).effective == 240
    assert replace(STUDY, images=5, icc=0.0).effective == 1200
    assert replace(STUDY, images=5, icc=0.25).effective == 1200 / 2
    # Kish: the variance of a mean over clusters of equal size.
    covariance = np.where(np.eye(5), 1, 0.25) * 0.75 * 0.25
    exact = covariance.sum() / 25 / 240
    assert network_variance(replace(STUDY, images=5, icc=0.25)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("area", "positives", "negatives"), [(0.8, 50, 100), (0.93, 12, 40)])
def test_the_variance_of_an_auc_is_that_of_exponential_scores(area, positives, negatives):
    """Their formula is exact where scores are exponential, which can be simulated."""
    rng = np.random.default_rng(0)
    one = rng.exponential(area / (1 - area), (10_000, positives))
    other = rng.exponential(1, (10_000, negatives))
    ranks = stats.rankdata(np.hstack([one, other]), axis=1)[:, :positives].sum(axis=1)
    found = (ranks - positives * (positives + 1) / 2) / (positives * negatives)
    assert found.mean() == pytest.approx(area, abs=0.003)
    assert hanley_mcneil(area, positives, negatives) == pytest.approx(found.var(), rel=0.06)


def test_an_auc_is_planned_from_its_positives_and_negatives():
    study = replace(STUDY, metric="auc", value=0.8, prevalence=0.25)
    assert network_variance(study) == hanley_mcneil(0.8, 60, 180)
    grouped = replace(study, images=3, icc=0.5)
    assert network_variance(grouped) == hanley_mcneil(0.8, 90, 270)


def test_the_variances_are_those_of_the_analysis_written_out():
    within = 0.5 + SAME_METHOD * 0.5
    one = 0.75 * 0.25 / 240
    # Covariance of the six networks' accuracies, over test sets and seeds.
    same = np.kron(np.eye(2), np.ones((3, 3)))
    units = one * (0.5 + (within - 0.5) * same + (1 - within) * np.eye(6))
    whole = units + 0.02**2 * np.eye(6)
    difference, mean = np.r_[np.ones(3), -np.ones(3)] / 3, np.r_[np.ones(3), np.zeros(3)] / 3
    for planned, weights in ((planned_difference(STUDY), difference), (planned_mean(STUDY), mean)):
        assert planned.units[0].variance == pytest.approx(weights @ units @ weights, rel=1e-12)
        assert planned.total == pytest.approx(weights @ whole @ weights, rel=1e-12)
        assert planned.units[0].df == 239
    assert planned_mean(STUDY).seeds[0].df == pytest.approx(2)
    assert planned_difference(STUDY).seeds[0].df == pytest.approx(2 * 2**0.5)


def test_a_variance_that_is_known_needs_the_usual_2_8_standard_errors():
    known = Variance((Source(1e-4, 1e9),), (Source(1e-14, 4),), fewest=5)
    exact = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert detectable(known) == pytest.approx(0.01 * exact, rel=1e-4)


def test_seeds_alone_make_it_a_t_test_with_the_degrees_of_freedom_of_the_analysis():
    k, spread = 5, 0.02
    seeds = Source(2 * spread**2 / k, 1.0)  # its own degrees of freedom are those of each study
    planned = power(0.05, Variance((Source(1e-16, 1e9),), (seeds,), fewest=k))
    rng = np.random.default_rng(2)
    one, other = rng.normal(0.05, spread, (40_000, k)), rng.normal(0, spread, (40_000, k))
    s1, s0 = one.var(axis=1, ddof=1) / k, other.var(axis=1, ddof=1) / k
    df = (k - 1) * np.sqrt((s1 + s0) ** 2 / (s1**2 + s0**2))
    t = (one.mean(axis=1) - other.mean(axis=1)) / np.sqrt(s1 + s0)
    found = 2 * stats.t.sf(np.abs(t), df) < 0.05
    assert planned == pytest.approx(found.mean(), abs=0.01)


def test_more_patients_seeds_or_agreement_never_hurt():
    for better in (
        replace(STUDY, patients=480),
        replace(STUDY, seeds=5),
        replace(STUDY, correlation=0.8),
        replace(STUDY, seed_sd=0.01),
        replace(STUDY, images=4),
    ):
        assert precision(better).detectable < precision(STUDY).detectable
    assert precision(replace(STUDY, seeds=1))[1:] == (None, None, None)
    assert precision(replace(STUDY, seeds=2)).detectable is None


def test_what_limits_is_what_would_help_when_doubled():
    limit, patients, seeds = what_limits(STUDY)
    assert limit == "seeds"
    assert patients == precision(replace(STUDY, patients=480)).detectable
    assert seeds == precision(replace(STUDY, seeds=6)).detectable
    assert seeds < patients
    many = replace(STUDY, seeds=20, seed_sd=0.0, correlation=0.1)
    assert what_limits(many)[0] == "patients"


def simulated(study, true, replicates, seed):
    """Studies of two methods whose networks answer images with these correlations.

    The metric is a mean of normal numbers per patient, with the variance of an accuracy; the draws
    of test patients have exactly the covariance that infinitely many have.

    Returns:
        Half-widths of the CI of the first method's mean, and whether p < 0.05.
    """
    rng = np.random.default_rng(seed)
    n, k = study.patients, study.seeds
    within = study.correlation + SAME_METHOD * (1 - study.correlation)
    of_item = (network_variance(study) * n) ** 0.5
    halves, found = [], []
    for _ in range(replicates):
        item = study.correlation**0.5 * rng.standard_normal(n)
        methods = []
        for value in (study.value + true, study.value):
            own = (within - study.correlation) ** 0.5 * rng.standard_normal(n)
            noise = (1 - within) ** 0.5 * rng.standard_normal((k, n))
            level = value + study.seed_sd * rng.standard_normal(k)
            answers = level[:, None] + of_item * (item + own + noise)
            mean = answers.mean(axis=1, keepdims=True)
            methods.append(Scores(mean[:, 0], mean + (answers - mean) / n**0.5))
        one, other = methods
        whole = inferred(one.mean, of_mean(one, n), UNCUT)
        halves.append((whole.high - whole.low) / 2)
        p = inferred(one.mean - other.mean, of_difference(one, other, n)).p
        found.append(p is not None and p < 0.05)
    return np.array(halves), np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "study",
    [
        replace(STUDY, patients=100, images=4, seeds=5, seed_sd=0.01),
        pytest.param(STUDY, marks=pytest.mark.slow),
        pytest.param(replace(STUDY, patients=500, seeds=2, seed_sd=0.005), marks=pytest.mark.slow),
        pytest.param(
            replace(STUDY, patients=150, seeds=4, metric="auc", value=0.85, prevalence=0.3),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["several images", "seeds matter", "two seeds", "auc"],
)
def test_simulated_studies_have_the_planned_width_and_power(study):
    plan, replicates = precision(study), 1200
    halves, found = simulated(study, plan.detectable or 0.0, replicates, seed=study.patients)
    error = halves.std() / replicates**0.5
    assert halves.mean() == pytest.approx(plan.mean, abs=4 * error + 0.01 * plan.mean)
    if study.seeds < 3:  # no test
        assert not found.any()
        return
    assert found.mean() == pytest.approx(0.8, abs=4 * (0.8 * 0.2 / replicates) ** 0.5)
    _, false = simulated(study, 0.0, replicates, seed=study.patients + 1)
    expected = power(0.0, planned_difference(study))
    assert false.mean() == pytest.approx(expected, abs=4 * (0.05 / replicates) ** 0.5)
