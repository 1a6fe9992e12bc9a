"""Precision-recall, decision and risk-coverage curves, image by image and by scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from medldr.evaluation.metrics import decision_curve, precision_recall, selective
from medldr.evaluation.metrics.items import Items


def weighted(sums, weights):
    return {name: float(value[0]) for name, value in sums.draw(weights[:, None]).items()}


@pytest.mark.parametrize("decimals", [1, 8])
def test_average_precision_of_a_draw_is_that_of_the_items_it_repeats(decimals):
    rng = np.random.default_rng(decimals)
    label = rng.integers(0, 3, 80)
    prob = rng.dirichlet(np.ones(3), 80).round(decimals)
    weights = rng.multinomial(80, np.full(80, 1 / 80)).astype(float)
    found = weighted(precision_recall.areas(Items(label, prob, "multi-class")), weights)
    many = np.repeat(np.arange(80), weights.astype(int))
    each = [average_precision_score(label[many] == k, prob[many, k]) for k in range(3)]
    assert [found[f"class/{k}/auprc"] for k in range(3)] == pytest.approx(each, abs=1e-12)
    assert found["auprc"] == pytest.approx(np.mean(each), abs=1e-12)


def test_without_negatives_or_positives_average_precision_is_undefined():
    prob = np.array([[0.4, 0.6], [0.2, 0.8]])
    for label in ([1, 1], [0, 0]):
        found = precision_recall.areas(Items(np.array(label), prob, "binary")).value()
        assert all(np.isnan(value) for value in found.values())


def test_the_precision_recall_curve_has_few_points_and_its_area():
    rng = np.random.default_rng(0)
    truth = (rng.random(3000) < 0.2).astype(float)
    score = truth + rng.normal(size=3000)
    found = precision_recall.curve(np.r_[truth, np.nan], np.r_[score, 0.0])
    assert len(found["recall"]) <= 200
    assert (found["recall"][-1], found["precision"][-1]) == (0.0, 1.0)
    assert found["prevalence"] == pytest.approx(truth.mean())
    area = -np.sum(np.diff(found["recall"]) * np.array(found["precision"])[:-1])
    assert area == pytest.approx(average_precision_score(truth, score), abs=0.02)
    assert precision_recall.curve(np.ones(3), np.arange(3.0)) is None


def test_net_benefit_counts_each_image():
    rng = np.random.default_rng(0)
    truth = (rng.random(60) < 0.4).astype(float)
    prob = rng.random(60).round(2)  # many lie exactly on a threshold
    found = decision_curve.curve(truth, prob)
    assert found["threshold"] == [k / 100 for k in range(1, 100)]
    for t, model, treat_all in zip(*found.values(), strict=True):
        acted = prob >= t
        expected = np.mean(acted & (truth == 1)) - np.mean(acted & (truth == 0)) * t / (1 - t)
        assert model == pytest.approx(expected, abs=1e-12)
        assert treat_all == pytest.approx(truth.mean() - (1 - truth.mean()) * t / (1 - t))


def kept_error(confidence, wrong, share):
    """The error among the most confident, ties kept together, until the share is reached."""
    for c in sorted(set(confidence), reverse=True):
        kept = confidence >= c
        if kept.sum() >= share * len(confidence) - 1e-9:
            return wrong[kept].mean()
    raise AssertionError


@pytest.mark.parametrize("decimals", [1, 8])
def test_errors_of_a_draw_are_those_of_the_items_it_repeats(decimals):
    rng = np.random.default_rng(decimals)
    label, prob = rng.integers(0, 3, 70), rng.dirichlet(np.ones(3), 70).round(decimals)
    weights = rng.multinomial(70, np.full(70, 1 / 70)).astype(float)
    found = weighted(selective.risks(Items(label, prob, "multi-class")), weights)
    many = np.repeat(np.arange(70), weights.astype(int))
    confidence, wrong = prob.max(1)[many], (prob.argmax(1) != label)[many]
    for percent in (100, 90, 80, 70):
        expected = kept_error(confidence, wrong, percent / 100)
        assert found[f"coverage/{percent}/error"] == pytest.approx(expected, abs=1e-12)
    expected = np.mean([wrong[confidence >= c].mean() for c in confidence])
    assert found["aurc"] == pytest.approx(expected, abs=1e-12)


def test_the_risk_coverage_curve_ends_at_the_error_of_all():
    rng = np.random.default_rng(0)
    label, prob = rng.integers(0, 2, 1000), rng.dirichlet(np.ones(2), 1000)
    found = selective.curve(label, prob, "binary")
    assert len(found["coverage"]) <= 200
    assert found["coverage"][-1] == 1.0
    assert found["error"][-1] == pytest.approx((prob.argmax(1) != label).mean())
    for coverage, error in zip(found["coverage"], found["error"], strict=True):
        kept = np.argsort(-prob.max(1))[: round(coverage * 1000)]
        assert error == pytest.approx((prob.argmax(1) != label)[kept].mean())
