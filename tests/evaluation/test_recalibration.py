"""Temperature scaling: the minimum that another optimisation finds, and nothing else changes."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import auc, check, evaluate, predictions_of
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.score import measures, values
from medldr.evaluation.predictions.log_odds import log_odds
from medldr.evaluation.recalibration import (
    before,
    find,
    recalibrated,
    temperature,
    tempered,
    written,
)
from medldr.types import DataSpec

TASKS = ("multi-class", "binary", "ordinal", "multi-label")
SCALED = EvaluationConfig(draws=100, recalibrate="temperature")
FORCED = SCALED.model_copy(update={"temperature_forced": True})


def logits_and_labels(task, n=400, k=4, seed=0, missing=0.1):
    """Logits whose softmax (sigmoid) is true, and labels drawn from it."""
    rng = np.random.default_rng(seed)
    k = 2 if task == "binary" else k
    logits = 1.5 * rng.normal(size=(n, k)) - 0.5
    if task != "multi-label":
        return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    label = (rng.random((n, k)) < 1 / (1 + np.exp(-logits))).astype(float)
    label[rng.random((n, k)) < missing] = np.nan
    return logits, label


def probabilities(logits, task):
    z = torch.as_tensor(logits, dtype=torch.float64)
    return (torch.sigmoid(z) if task == "multi-label" else torch.softmax(z, dim=1)).numpy()


def at(prob, temperature, task, odds=None):
    """Probabilities at another temperature, in a table."""
    label = np.zeros(prob.shape if task == "multi-label" else len(prob), int)
    return tempered(predictions_of(task, label, prob, log_odds=odds), temperature)


def loss_at(temperature, logits, label, task):
    """The log loss by scikit-learn; with several labels, the mean over labels."""
    prob = probabilities(logits / temperature, task)
    if task != "multi-label":
        return log_loss(label, prob, labels=range(prob.shape[1]))
    known = ~np.isnan(label)
    return np.mean(
        [
            log_loss(label[known[:, j], j], prob[known[:, j], j], labels=[0, 1])
            for j in range(label.shape[1])
        ]
    )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sharpened", [0.4, 1.0, 3.0])
def test_the_temperature_is_that_of_an_independent_optimisation(task, sharpened):
    logits, label = logits_and_labels(task)
    logits = sharpened * logits
    best = minimize_scalar(
        lambda log: loss_at(np.exp(log), logits, label, task),
        bounds=(np.log(0.1), np.log(100)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    found = temperature(label, probabilities(logits, task), task)
    assert found == pytest.approx(np.exp(best.x), rel=1e-5)
    assert loss_at(found, logits, label, task) <= best.fun + 1e-12


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("by", [0.7, 2.5])
def test_probabilities_are_those_of_divided_logits(task, by):
    logits, _ = logits_and_labels(task, seed=1)
    expected = probabilities(logits / by, task)
    for odds in (None, log_odds(logits, task)):
        found = at(probabilities(logits, task), by, task, odds)
        np.testing.assert_allclose(found.prob, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.log_odds, log_odds(logits / by, task), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_what_is_rounded_to_one_comes_back_apart(task):
    """Gaps of 40 and 60 are both a probability of 1; of several labels both became 708 / T."""
    logits = np.array([[-40.0, 0.0], [-60.0, 0.0]]) if task != "multi-label" else [[9, 40], [9, 60]]
    logits = np.asarray(logits, dtype=np.float64)
    prob = probabilities(logits, task)
    assert prob[0, 1] == prob[1, 1] == 1
    found = at(prob, 10.0, task, log_odds(logits, task))
    assert found.log_odds[:, 1] == pytest.approx([4, 6])
    assert found.prob[:, 1] == pytest.approx([1 / (1 + np.exp(-4)), 1 / (1 + np.exp(-6))])


def test_the_temperature_of_what_is_rounded_to_one_is_that_of_its_logits():
    """One wrong label of ten at a logit of 40: 40 / ln 9. From probabilities it was 708 / ln 9."""
    label, logits = np.array([[0.0]] + [[1.0]] * 9), np.full((10, 1), 40.0)
    odds, task = log_odds(logits, "multi-label"), "multi-label"
    found = temperature(label, probabilities(logits, task), task, odds)
    assert found == pytest.approx(40 / np.log(9), rel=1e-9)


def test_a_probability_of_zero_counts_as_the_smallest_number_of_the_log_loss():
    tiny = np.finfo(np.float64).tiny
    exact, small = (np.array([[zero, 1 - zero]]) for zero in (0.0, tiny))
    found = at(exact, 100.0, "binary").prob
    np.testing.assert_array_equal(found, at(small, 100.0, "binary").prob)
    np.testing.assert_allclose(found[0, 0], tiny**0.01 / (1 + tiny**0.01), rtol=1e-12)
    several = at(np.array([[0.0, 1.0]]), 100.0, "multi-label").prob[0]
    np.testing.assert_allclose(several.sum(), 1, rtol=1e-12)
    assert several[0] == pytest.approx(tiny**0.01 / (1 + tiny**0.01), rel=1e-12)


def test_an_item_that_is_not_finite_stays_so_and_harms_no_other():
    prob = np.array([[np.nan, np.nan], [0.8, 0.2]])
    found = at(prob, 2.0, "binary").prob
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == pytest.approx([2 / 3, 1 / 3])


def tables_of(task, sharpened=3.0, **texts):
    """Overconfident predictions on three splits."""
    found = {}
    for seed, split in enumerate(("id_val", "val", "test")):
        logits, label = logits_and_labels(task, n=200 + seed, seed=seed)
        prob = probabilities(sharpened * logits, task)
        found[split] = predictions_of(task, label, prob, split=split, **texts)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_decisions_stay_and_the_loss_on_validation_falls(task):
    tables = tables_of(task)
    found, made = recalibrated(tables, SCALED)
    assert (made.split, made.n, made.reason) == ("val", 201, None)
    assert made.temperature == pytest.approx(3, rel=0.3)
    for split, table in tables.items():
        new = found[split]
        np.testing.assert_array_equal(decide(new.prob, task), decide(table.prob, task))
        assert (new.id == table.id).all()
        loss = [values(measures(Items(t.label, t.prob, task)))["nll"] for t in (table, new)]
        assert loss[1] < loss[0]
    binary = task == "binary"
    for split, table in tables.items() if binary else ():
        assert auc(table.label, found[split].prob, task) == auc(table.label, table.prob, task)


def test_the_threshold_follows_and_calls_the_same_images_positive():
    tables = tables_of("binary")
    found, made = recalibrated(tables, SCALED)
    old = evaluate(tables, EvaluationConfig(draws=100))
    new = evaluate(found, SCALED, recalibrated=written(made, tables, SCALED))
    threshold = old["operating_point"]["threshold"]
    moved = at(np.array([[1 - threshold, threshold]]), made.temperature, "binary").prob[0, 1]
    assert new["operating_point"]["threshold"] == pytest.approx(moved, rel=1e-9)
    assert new["operating_point"]["threshold"] != pytest.approx(threshold, rel=1e-3)
    for split in tables:
        one, two = (scored["splits"][split]["metrics"] for scored in (old, new))
        for name in ("accuracy", "auc", "sensitivity_at_specificity", "specificity_at_threshold"):
            assert two[name] == one[name]
        assert two["nll"]["value"] < one["nll"]["value"]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_what_was_measured_before_is_kept(task):
    tables = tables_of(task)
    found, made = recalibrated(tables, SCALED)
    said = evaluate(found, SCALED, recalibrated=written(made, tables, SCALED))["recalibration"]
    assert said["temperature"] == made.temperature
    plain = evaluate(tables, EvaluationConfig(draws=100))
    assert plain["recalibration"] is None
    assert list(said["before"]) == ["id_val", "val", "test"]
    for split, old in said["before"].items():
        assert {"ece", "nll", "brier"} <= set(old)
        for name, value in old.items():
            found = plain["splits"][split]["metrics"][name]["value"]
            assert value == pytest.approx(found, abs=1e-12)


def test_by_default_nothing_is_touched():
    tables = tables_of("binary")
    found, made = recalibrated(tables, EvaluationConfig())
    assert made is None
    assert all(found[split] is tables[split] for split in tables)


def test_id_val_serves_where_there_is_no_val():
    tables = tables_of("multi-class")
    del tables["val"]
    assert find(tables, SCALED).split == "id_val"
    assert find({"test": tables["test"]}, SCALED).reason == "no validation split was scored"


def alone(label, prob, task="binary"):
    table = predictions_of(task, label, prob, split="val")
    found, made = recalibrated({"val": table}, FORCED)
    assert found["val"] is table  # without a temperature the probabilities stay
    assert made.temperature is None
    assert made.reason in made.note
    return made.reason


def test_without_a_minimum_the_probabilities_stay_as_they_are():
    sure = np.array([[0.8, 0.2], [0.7, 0.3], [0.1, 0.9]])
    assert "falls towards temperature 0" in alone([0, 0, 1], sure)
    assert "say nothing about its labels" in alone([1, 1, 0], sure)
    assert "all one class" in alone([0, 0, 0], sure)
    assert "not finite" in alone([0, 0, 1], np.where(sure == 0.7, np.nan, sure))
    one = np.array([[1.0, np.nan], [1.0, 0.0]])
    assert "all one class" in alone(one, sure[:2], "multi-label")


def test_a_label_of_one_kind_does_not_hinder_the_others():
    logits, label = logits_and_labels("multi-label", missing=0.0)
    label[:, 0] = 0
    assert isinstance(
        temperature(label, probabilities(logits, "multi-label"), "multi-label"), float
    )


def test_a_split_that_cannot_be_measured_has_nothing_before():
    tables = tables_of("binary")
    tables["test"].prob[0] = np.nan
    assert list(before(tables, SCALED)) == ["id_val", "val"]


def six():
    """Six validation images that a temperature of many sizes would fit."""
    logits, label = logits_and_labels("binary", n=6, seed=3)
    return predictions_of("binary", label, probabilities(2 * logits, "binary"), split="val")


def test_few_validation_images_give_no_temperature_unless_it_is_forced():
    table = six()
    found, made = recalibrated({"val": table}, SCALED)
    assert found["val"] is table
    assert (made.temperature, made.n) == (None, 6)
    assert "6 images, fewer than the 50" in made.note
    assert "evaluation.temperature_forced=true" in made.note
    _, forced = recalibrated({"val": table}, FORCED)
    assert forced.low < 0.6 * forced.temperature
    assert forced.high > 1.4 * forced.temperature
    assert f"(95% CI {forced.low:.3g} to {forced.high:.3g}), fitted on val (6 im" in forced.note


def test_what_counts_is_groups_where_there_are_any():
    logits, label = logits_and_labels("binary", n=490)
    prob = probabilities(3 * logits, "binary")
    table = predictions_of(
        "binary", label, prob, split="val", group=[f"p{i % 49}" for i in range(490)]
    )
    made = find({"val": table}, SCALED)
    assert (made.temperature, made.n, made.n_groups) == (None, 490, 49)
    assert "490 images of 49 groups, fewer than the 50 groups" in made.reason
    one = predictions_of("binary", label, prob, split="val", group=["p"] * 490)
    alone = find({"val": one}, FORCED)
    assert (alone.low, alone.high) == (None, None)
    assert "a single group" in alone.note


@pytest.mark.parametrize("task", ["binary", "multi-label"])
def test_the_interval_is_of_the_temperature_in_each_bootstrap_draw(task):
    logits, label = logits_and_labels(task, n=150, missing=0.3)
    table = predictions_of(task, label, probabilities(3 * logits, task), split="val")
    units = bootstrap.units(table)
    (weights,) = bootstrap.group_weights(units.count, 100, bootstrap.stream(0, "val"))
    drawn = [np.repeat(np.arange(150), of[units.number].astype(int)) for of in weights.T]
    each = [temperature(table.label[rows], table.prob[rows], task) for rows in drawn]
    made = find({"val": table}, SCALED)
    assert [made.low, made.high] == pytest.approx(np.quantile(each, [0.025, 0.975]), rel=0.01)


def test_the_interval_counts_patients_not_images():
    logits, label = logits_and_labels("binary", n=60)
    rows = np.repeat(np.arange(60), 10)  # ten pictures of each patient, all alike
    prob = probabilities(3 * logits, "binary")
    once = find({"val": predictions_of("binary", label, prob, split="val")}, SCALED)
    groups = [f"p{i:03}" for i in rows]
    tables = [
        predictions_of("binary", label[rows], prob[rows], split="val", **more)
        for more in ({"group": groups}, {})
    ]
    grouped, loose = (find({"val": table}, SCALED) for table in tables)
    width, per_group, per_image = (np.log(m.high / m.low) for m in (once, grouped, loose))
    assert grouped.temperature == pytest.approx(once.temperature)
    assert per_group == pytest.approx(width, rel=0.15)
    assert per_image < 0.5 * width


def test_where_it_did_harm_is_said_domain_by_domain():
    logits, label = logits_and_labels("binary", n=300)
    sure, timid = (probabilities(by * logits, "binary") for by in (3.0, 0.4))
    domains = ["h1"] * 150 + ["h2"] * 150
    prob = np.where(np.array(domains)[:, None] == "h1", sure, timid)
    tables = {
        "val": predictions_of("binary", label, sure, split="val"),
        "test": predictions_of("binary", label, prob, split="test", domain=domains),
    }
    found, made = recalibrated(tables, SCALED)
    said = written(made, tables, SCALED)
    assert [(one["domain"], one["metric"]) for one in said["worsened"]] == [
        ("h2", "nll"), ("h2", "ece"),
    ]  # fmt: skip
    after = found["test"].select(found["test"].domain == "h2")
    before_, after_ = (log_loss(label[150:], p[:, 1]) for p in (timid[150:], after.prob))
    assert said["worsened"][0]["before"] == pytest.approx(before_)
    assert said["worsened"][0]["after"] == pytest.approx(after_)
    notes = evaluate(found, SCALED, recalibrated=said)["notes"]
    assert sum("Recalibration made" in note and "test, h2" in note for note in notes) == 2
    assert any("recalibrated with temperature" in note for note in notes)


SPEC = DataSpec("binary", ("a", "b"), (5, 5), 1, (8, 8))


@pytest.mark.parametrize(
    ("splits", "there", "cure"),
    [
        (("test",), ("train", "val", "test"), "Add val to evaluation.splits"),
        (("test",), ("train", "id_val", "val", "test"), "Add val or id_val"),
        (("val", "test"), ("train", "test"), "The data has neither"),
    ],
)
def test_nothing_to_fit_on_is_said_before_training(splits, there, cure):
    config = EvaluationConfig(splits=splits, recalibrate="temperature")
    with pytest.raises(InputError, match=r"evaluation\.recalibrate is temperature") as error:
        check(config, SPEC, there)
    assert cure in str(error.value)
    assert "evaluation.recalibrate=none" in str(error.value)
    check(EvaluationConfig(splits=splits), SPEC, there)
