"""Intervals of one run: Wilson, logit, Student's t, drawn thresholds, and errors without any."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from medldr.config import EvaluationConfig
from medldr.evaluation import evaluate, predictions_of
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.single_run import (
    NO_SPREAD,
    NO_UNITS,
    PERFECT,
    UNDEFINED_DRAWS,
    Sample,
    number,
    wilson,
)
from medldr.evaluation.metrics import calibration, operating_point
from medldr.evaluation.split_scores import SplitScores, thresholds_of
from medldr.folders.evaluation_parts import OperatingPoint
from medldr.metrics import METRICS, metric_facts

FAST = EvaluationConfig(draws=200)
RECALL, ACCURACY, AUC = (metric_facts(name) for name in ("recall", "accuracy", "auc"))
SPREAD = 0.8 + 0.05 * norm.ppf((np.arange(1000) + 0.5) / 1000)
"""Draws around 0.8 with a standard deviation of 0.05."""


def images(count):
    return Sample(count, False, count)


def patients(count, trials=200):
    return Sample(count, True, trials)


def ends(found):
    return found["low"], found["high"]


@pytest.mark.parametrize("right", [0, 1, 7, 19, 20])
def test_a_recall_has_wilsons_interval(right):
    found = number(RECALL, right / 20, np.full(100, right / 20), images(20), None)
    expected = binomtest(right, 20).proportion_ci(method="wilson")
    assert ends(found) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_thirty_of_thirty_is_not_certainty():
    found = number(RECALL, 1.0, np.ones(100), images(30), None)
    assert ends(found) == pytest.approx((0.8865, 1.0), abs=5e-5)


@pytest.mark.parametrize(("right", "rare"), [(9, True), (10, False), (30, False), (31, True)])
def test_an_accuracy_has_it_only_where_few_are_right_or_wrong(right, rare):
    draws = np.linspace(0, 1, 101)
    found = ends(number(ACCURACY, right / 40, draws, images(40), None))
    expected = binomtest(right, 40).proportion_ci(method="wilson") if rare else (0.025, 0.975)
    assert found == pytest.approx(tuple(expected), abs=1e-12)


def test_patients_make_students_t_with_a_factor():
    found = ends(number(ACCURACY, 0.8, SPREAD, patients(5), None))
    half = student.ppf(0.975, 4) * SPREAD.std() * (5 / 4) ** 0.5
    assert found == pytest.approx((0.8 - half, 0.8 + half), abs=1e-9)


def test_images_keep_the_percentiles():
    found = ends(number(METRICS["macro_f1"], 0.8, SPREAD, images(200), None))
    assert found == pytest.approx(tuple(np.quantile(SPREAD, [0.025, 0.975])), abs=1e-12)


def test_the_recall_of_few_patients_counts_their_likeness():
    """As many independent images as have the variance of the draws, and t in place of z."""
    found = ends(number(RECALL, 0.8, SPREAD, patients(10), None))
    inside = (0.8 * 200 + 2) / 204
    trials = inside * (1 - inside) / (SPREAD.var() * 10 / 9)
    assert 50 < trials < 60
    assert found == pytest.approx(wilson(0.8, trials, student.ppf(0.975, 9)), abs=1e-9)


def test_all_right_in_ten_patients_is_as_sure_as_ten_images():
    found = ends(number(RECALL, 1.0, np.ones(100), patients(10), None))
    assert found == pytest.approx(wilson(1.0, 10, student.ppf(0.975, 9)), abs=1e-9)


def test_an_area_is_treated_on_the_logit_scale():
    draws = 0.97 + 0.02 * norm.ppf((np.arange(1000) + 0.5) / 1000)
    low, high = ends(number(AUC, 0.97, draws, images(100), None))
    half = 1.959964 * draws.std() / (0.97 * 0.03)
    expected = 1 / (1 + np.exp(-(np.log(0.97 / 0.03) + np.array([-half, half]))))
    assert (low, high) == pytest.approx(tuple(expected), abs=1e-6)
    assert high < 1


@pytest.mark.parametrize(
    ("metric", "value", "draws", "sample", "reason"),
    [
        (AUC, 1.0, np.ones(50), images(40), PERFECT),
        (METRICS["macro_f1"], 1.0, np.ones(50), images(40), NO_SPREAD),
        (METRICS["macro_f1"], 0.5, np.full(50, 0.5), patients(4), NO_SPREAD),
        (ACCURACY, 0.5, SPREAD, patients(1), NO_UNITS),
        (AUC, 0.8, np.r_[SPREAD[:9], np.full(10, np.nan)], images(40), UNDEFINED_DRAWS),
    ],
)
def test_no_interval_says_why(metric, value, draws, sample, reason):
    found = number(metric, value, draws, sample, None)
    assert (*ends(found), found["reason"], found["value"]) == (None, None, reason, value)


def test_undefined_draws_are_left_out_and_counted():
    found = number(METRICS["macro_f1"], 0.8, np.r_[SPREAD, np.full(20, np.nan)], images(9), None)
    assert found["undefined_draws"] == 20
    assert ends(found) == pytest.approx(tuple(np.quantile(SPREAD, [0.025, 0.975])))


@pytest.mark.parametrize("groups", [None, 7])
def test_every_draw_has_the_threshold_of_its_own_validation_draw(make, groups):
    """Against a loop that repeats the items of each draw."""

    def grouped(n):
        return None if groups is None else [f"p{i % groups}" for i in range(n)]

    val = make("binary", 40, split="val", seed=1, group=grouped(40))
    test = make("binary", 60, seed=2, group=grouped(60))
    tables = {"val": val, "test": test}
    point, drawn, _ = thresholds_of(tables, 1, 0.8, draws=50, seed=3)
    for name, table in tables.items():
        scores = SplitScores(table, 15, 1, point, drawn=drawn)
        found = scores.draws(50, 3, name)
        rows, of_val = (repeated(tables[split], split, 50, 3) for split in (name, "val"))
        for b in range(50):
            threshold = operating_point.threshold_at(
                val.label[of_val[b]], val.prob[of_val[b]], positive=1, specificity=0.8
            )
            assert drawn[b] == threshold
            label, called = table.label[rows[b]], table.prob[rows[b], 1] > threshold
            expected = called[label == 1].mean(), (~called[label == 0]).mean()
            ours = [found["sensitivity_at_specificity"][b], found["specificity_at_threshold"][b]]
            assert ours == pytest.approx(expected, abs=1e-12)
        called = table.prob[:, 1] > point.threshold
        assert scores.values["sensitivity_at_specificity"] == called[table.label == 1].mean()
    assert found["specificity_at_threshold"].min() >= 0  # the last of the loop is the test split


def repeated(table, split, draws, seed):
    units = bootstrap.units(table)
    chunks = bootstrap.group_weights(units.count, draws, bootstrap.stream(seed, split))
    weights = np.concatenate(list(chunks), axis=1)[units.number].astype(int)
    return [np.repeat(np.arange(len(table)), weights[:, b]) for b in range(draws)]


def test_on_the_validation_split_itself_the_requested_specificity_is_always_reached(make):
    val = make("binary", 80, split="val")
    point, drawn, _ = thresholds_of({"val": val}, 1, 0.9, draws=100)
    found = SplitScores(val, 15, 1, point, drawn=drawn).draws(100, 0, "val")
    assert found["specificity_at_threshold"].min() >= 0.9


def test_a_validation_draw_without_negatives_has_no_threshold():
    prob = np.array([[0.4, 0.6], [0.2, 0.8], [0.9, 0.1]])
    val = predictions_of("binary", [1, 1, 0], prob, split="val")
    point, drawn, _ = thresholds_of({"val": val}, 1, 0.9, draws=300)
    assert 0.2 < np.isnan(drawn).mean() < 0.4  # (2/3)^3
    found = SplitScores(val, 15, 1, point, drawn=drawn).draws(300, 0, "val")
    assert np.isnan(found["sensitivity_at_specificity"][np.isnan(drawn)]).all()


def test_the_interval_at_a_threshold_counts_where_the_threshold_comes_from(make):
    """A threshold from 20 negatives is less sure than one from 2,000."""
    test = make("binary", 400, seed=2)
    widths = []
    for n in (30, 3000):
        tables = {"val": make("binary", n, split="val", seed=1), "test": test}
        found = evaluate(tables, FAST)["splits"]["test"]["metrics"]["sensitivity_at_specificity"]
        widths.append(found["high"] - found["low"])
    assert widths[0] > 1.3 * widths[1]


@pytest.mark.parametrize("bins", [5, 15])
def test_the_noise_of_a_calibration_error_equals_a_plain_loop(bins):
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 200)
    mean, most = calibration.noise_floor(confidence, bins, 4000, np.random.default_rng(1))
    errors = []
    for _ in range(1500):
        hit = rng.random(200) < confidence
        edges = np.clip(np.ceil(confidence * bins) - 1, 0, bins - 1)
        gaps = [abs((confidence - hit)[edges == b].sum()) for b in range(bins)]
        errors.append(sum(gaps) / 200)
    assert mean == pytest.approx(np.mean(errors), rel=0.03)
    assert most == pytest.approx(np.quantile(errors, 0.95), rel=0.05)


@pytest.mark.slow
def test_a_calibrated_model_shows_an_error_as_large_as_its_noise():
    rng = np.random.default_rng(3)
    inside, errors, noises = 0, [], []
    for _ in range(40):
        p = rng.uniform(0.05, 0.95, 240)
        table = predictions_of("binary", rng.random(240) < p, np.stack([1 - p, p], 1))
        found = evaluate({"test": table}, FAST)["splits"]["test"]["metrics"]["ece"]
        errors.append(found["value"])
        noises.append(found["noise"][0])
        inside += found["value"] <= found["noise"][1]
    assert np.mean(errors) == pytest.approx(np.mean(noises), rel=0.1)
    assert inside >= 35  # 95% of 40 is 38


def test_noise_of_several_labels_leaves_missing_ones_out(make):
    table = make("multi-label", n=60, k=3, missing=0.3)
    found = evaluate({"test": table}, FAST)["splits"]["test"]["metrics"]["ece"]
    prob = np.where(np.isnan(table.label), np.nan, table.prob)
    means = [
        calibration.noise_floor(prob[:, [k]], 15, 2000, np.random.default_rng(0))[0]
        for k in range(3)
    ]
    assert found["noise"][0] == pytest.approx(np.mean(means), rel=0.05)


@pytest.mark.parametrize("task", ["multi-class", "binary", "multi-label"])
def test_trials_of_a_share_are_its_denominator(make, task):
    table = make(task, 80, domain=["a", "b"] * 40)
    scores = SplitScores(table, 15, 1, OperatingPoint(specificity=0.9, threshold=0.5))
    inside = table.domain == "b"
    truth, decided = scores.truth == 1, table.prob > 0.5
    if task == "multi-class":
        decided = table.prob.argmax(1)[:, None] == np.arange(table.prob.shape[1])
    assert scores.sample("class/1/recall").trials == truth[:, 1].sum()
    assert scores.sample("class/1/precision").trials == decided[:, 1].sum()
    assert scores.sample("domain/b/accuracy").trials == (
        0 if task == "multi-label" else inside.sum()
    )
    if task == "binary":
        assert scores.sample("specificity").trials == truth[:, 0].sum()
        assert scores.sample("domain/b/sensitivity_at_specificity").trials == (
            truth[inside, 1].sum()
        )


def test_no_interval_of_a_finite_sample_has_zero_width():
    prob = np.tile([[0.9, 0.1], [0.2, 0.8]], (15, 1))
    for group in (None, [f"p{i // 5}" for i in range(30)]):
        table = predictions_of("binary", [0, 1] * 15, prob, domain=["x", "y"] * 15, group=group)
        scored = evaluate({"val": table, "test": table}, FAST)["splits"]["test"]
        places = [scored["metrics"], *scored["classes"].values()]
        places += [domain["metrics"] for domain in scored["domains"].values()]
        for place in places:
            for name, found in place.items():
                if name != "n" and found["low"] is not None:
                    assert found["low"] < found["high"], name
        recall = scored["classes"]["1"]["recall"]
        assert recall["high"] == 1
        assert recall["low"] == pytest.approx(0.7961, abs=5e-5) if group is None else True


def test_few_patients_are_covered_by_t_and_not_by_percentiles():
    """5 patients of 20 images: percentiles hold the truth in about 82% of studies, t in 93%."""
    old, new = [], []
    rng = np.random.default_rng(0)
    for _ in range(300):
        level = norm.ppf(0.75) * 2**0.5 + np.repeat(rng.standard_normal(5), 20)
        right = (level + rng.standard_normal(100) > 0).reshape(5, 20).mean(axis=1)
        draws = right[rng.integers(0, 5, (200, 5))].mean(axis=1)
        low, high = ends(number(ACCURACY, right.mean(), draws, Sample(5, True, 100), None))
        new.append(low <= 0.75 <= high)
        low, high = bootstrap.percentiles(draws)
        old.append(low <= 0.75 <= high)
    assert np.mean(new) >= 0.9
    assert np.mean(old) < 0.88
