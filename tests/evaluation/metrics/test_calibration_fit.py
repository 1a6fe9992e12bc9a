"""Calibration intercept, slope and curve, against other programs and against what is true."""

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr
from sklearn.linear_model import LogisticRegression

from medldr.evaluation.metrics import calibration_fit
from medldr.evaluation.metrics.logistic import fit

P = np.array([.05, .1, .2, .3, .35, .4, .5, .55, .6, .7, .8, .9, .95, .15, .25, .65, .75, .85, .45,
              .5])  # fmt: skip
Y = np.array([0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1.0])
PAIRS, ALONE = np.arange(20) // 2, np.arange(20)


# From statsmodels 0.15.0: GLM(binomial, offset).fit(cov_type="cluster", use_correction=False).
@pytest.mark.parametrize(
    ("groups", "count", "intercept", "line"),
    [
        (
            PAIRS,
            10,
            ([0.5661113178], [0.5045832656]),
            ([0.4336207980, 0.3757530035], [0.3106704902, 0.2212528441]),
        ),
        (
            ALONE,
            20,
            ([0.5661113178], [0.6413149034]),
            ([0.4336207980, 0.3757530035], [0.4767328494, 0.3311474645]),
        ),
    ],
)
def test_values_and_standard_errors_are_those_of_statsmodels(groups, count, intercept, line):
    score, moved = calibration_fit.logits(P)
    assert moved == 0
    factor = (count / (count - 1)) ** 0.5
    for found, (values, errors) in (
        (calibration_fit.intercept(Y, score, groups), intercept),
        (calibration_fit.line(Y, score, groups), line),
    ):
        assert found.groups == count
        assert found.coefficients == pytest.approx(values, abs=1e-9)
        assert np.sqrt(np.diag(found.covariance)) / factor == pytest.approx(errors, abs=1e-9)


def test_the_interval_is_of_student_t_with_one_degree_less_than_groups():
    score, _ = calibration_fit.logits(P)
    found = calibration_fit.line(Y, score, PAIRS)
    middle, low, high = found.interval(np.array([[0.0, 1.0]]), 0.95)
    half = 2.2621571628 * found.covariance[1, 1] ** 0.5  # t of 9 degrees of freedom
    assert (middle - low, high - middle) == (pytest.approx(half), pytest.approx(half))
    assert calibration_fit.line(Y, score, np.zeros(20, int)).interval(np.eye(2), 0.95) is None


@pytest.mark.parametrize(
    ("truth", "prob", "said"),
    [
        ([1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], "only one class"),
        ([0, 1, 0, 1], [0.3, 0.3, 0.3, 0.3], "equal"),
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], "separate"),
        ([0, 0, 1, 1], [0.9, 0.8, 0.2, 0.1], "separate"),
        ([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.25, 0.25], "separate"),
    ],
)
def test_a_slope_that_does_not_exist_has_a_reason(truth, prob, said):
    truth, (score, _) = np.array(truth, float), calibration_fit.logits(np.array(prob))
    assert said in calibration_fit.line(truth, score, np.arange(len(truth)))
    assert said in calibration_fit.curve(truth, score, np.arange(len(truth)), 0.95)["reason"]


def test_the_intercept_exists_even_where_the_classes_are_separated():
    score, _ = calibration_fit.logits(np.array([0.1, 0.2, 0.3, 0.4]))
    found = calibration_fit.intercept(np.array([0, 0, 1.0, 1.0]), score, np.arange(4))
    assert expit(found.coefficients[0] + score).sum() == pytest.approx(2)


def test_zero_and_one_are_moved_by_a_millionth_and_counted():
    score, moved = calibration_fit.logits(np.array([0.0, 1e-9, 0.5, 1.0]))
    assert moved == 3
    assert expit(score) == pytest.approx([1e-6, 1e-6, 0.5, 1 - 1e-6], abs=1e-12)


def sample(n, intercept, slope, seed=0, bend=0.0):
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1.5, n)
    truth = (rng.random(n) < expit(intercept + slope * score + bend * score**2)).astype(float)
    return truth, score


def test_the_curve_is_the_spline_regression_of_scikit_learn():
    truth, score = sample(400, 0.3, 0.7, bend=0.2)
    found = calibration_fit.curve(truth, score, np.arange(400), 0.95)
    assert found["knots"] == 4
    # Another basis of the same functions: cubes that are made linear by solving for the last two.
    knots = np.quantile(score, [0.05, 0.35, 0.65, 0.95])

    def columns(x):
        cubes = np.maximum(x[:, None] - knots, 0) ** 3
        free = []
        for j in (0, 1):
            # c3, c4 such that the quadratic and cubic terms vanish beyond the last knot
            left = np.array([[1, 1], [knots[2], knots[3]]])
            c = np.linalg.solve(left, -np.array([1, knots[j]]))
            free.append(cubes[:, j] + cubes[:, 2:] @ c)
        return np.stack([x, *free], axis=1)

    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(columns(score), truth)
    expected = model.predict_proba(columns(logit(np.array(found["predicted"]))))[:, 1]
    assert found["observed"] == pytest.approx(expected, abs=1e-6)
    assert found["predicted"] == sorted(found["predicted"])
    ends = np.quantile(score, [0.01, 0.99])
    assert logit(found["predicted"][0]) == pytest.approx(ends[0])
    assert logit(found["predicted"][-1]) == pytest.approx(ends[1])


@pytest.mark.parametrize(
    ("positives", "knots"), [(9, None), (10, 0), (19, 0), (20, 3), (29, 3), (30, 4)]
)
def test_the_rarer_outcome_decides_how_far_the_curve_may_bend(positives, knots):
    rng = np.random.default_rng(1)
    truth = np.r_[np.ones(positives), np.zeros(200)]
    found = calibration_fit.curve(
        truth, rng.normal(size=200 + positives), np.arange(len(truth)), 0.95
    )
    if knots is None:
        assert found["predicted"] == []
        assert "fewer than 10" in found["reason"]
    else:
        assert (found["knots"], found["reason"]) == (knots, None)


def test_dependent_columns_and_separated_outcomes_have_no_fit():
    x = np.linspace(-1, 1, 10)
    outcome = (np.arange(10) % 2).astype(float)
    assert fit(outcome, np.stack([x, 2 * x], axis=1), np.arange(10)) is None
    design = np.stack([np.ones(10), x], axis=1)
    assert fit((x > 0).astype(float), design, np.arange(10)) is None
    touching = np.r_[x, 0.0, 0.0], np.r_[x > 0, True, False].astype(float)
    design = np.stack([np.ones(12), touching[0]], axis=1)
    assert fit(touching[1], design, np.arange(12)) is None


def test_an_offset_far_from_the_outcomes_is_no_obstacle():
    outcome, offset = np.r_[1.0, np.zeros(99)], np.full(100, 13.8)
    found = fit(outcome, np.ones((100, 1)), np.arange(100), offset)
    assert found.coefficients == pytest.approx([logit(0.01) - 13.8], abs=1e-9)


def test_many_items_converge_too():
    truth, score = sample(100_000, 0.3, 0.7)
    found = calibration_fit.line(truth, score, np.arange(100_000))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(score[:, None], truth)
    expected = [model.intercept_[0], model.coef_[0, 0]]
    assert found.coefficients == pytest.approx(expected, abs=1e-9)


def covered(times, groups, each):
    """How often intervals of the slope and the curve's band hold, for calibrated probabilities.

    The images of a group share their probability, and a normal copula makes their outcomes alike.

    Returns:
        The share of slopes with groups, of slopes with every image by itself, of bands at 0.5.
    """
    slope, alone, band = 0, 0, 0
    for seed in range(times):
        rng = np.random.default_rng([7, seed])
        score = np.repeat(rng.normal(0, 1.5, groups), each)
        group = np.arange(groups * each) // each
        shared = np.repeat(rng.normal(size=groups), each)
        latent = (shared + rng.normal(size=groups * each)) / 2**0.5
        truth = (ndtr(latent) < expit(score)).astype(float)
        which = np.array([[0.0, 1.0]])
        _, low, high = calibration_fit.line(truth, score, group).interval(which, 0.95)
        slope += low[0] <= 1 <= high[0]
        by_image = calibration_fit.line(truth, score, np.arange(groups * each))
        _, low, high = by_image.interval(which, 0.95)
        alone += low[0] <= 1 <= high[0]
        curve = calibration_fit.curve(truth, score, group, 0.95)
        at = int(np.argmin(np.abs(np.array(curve["predicted"]) - 0.5)))
        band += curve["low"][at] <= curve["predicted"][at] <= curve["high"][at]
    return slope / times, alone / times, band / times


@pytest.mark.slow
def test_intervals_and_bands_hold_about_as_often_as_they_say_where_images_share_patients():
    slope, alone, band = covered(300, 60, 6)
    assert 0.91 <= slope <= 0.985
    assert 0.91 <= band <= 0.985
    assert alone < 0.85
