"""Temperature scaling: the minimum that another optimisation finds, and nothing else changes."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import auc, check, evaluate, predictions_of
from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.score import measures, values
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
    found = tempered(probabilities(logits, task), by, task)
    np.testing.assert_allclose(found, probabilities(logits / by, task), rtol=1e-9, atol=1e-15)


def test_a_probability_of_zero_counts_as_the_smallest_number_of_the_log_loss():
    tiny = np.finfo(np.float64).tiny
    exact, small = (np.array([[zero, 1 - zero]]) for zero in (0.0, tiny))
    np.testing.assert_array_equal(
        tempered(exact, 100.0, "binary"), tempered(small, 100.0, "binary")
    )
    np.testing.assert_allclose(
        tempered(exact, 100.0, "binary")[0, 0], tiny**0.01 / (1 + tiny**0.01), rtol=1e-12
    )
    several = tempered(np.array([[0.0, 1.0]]), 100.0, "multi-label")[0]
    np.testing.assert_allclose(several.sum(), 1, rtol=1e-12)
    assert several[0] == pytest.approx(tiny**0.01 / (1 + tiny**0.01), rel=1e-12)


def test_an_item_that_is_not_finite_stays_so_and_harms_no_other():
    prob = np.array([[np.nan, np.nan], [0.8, 0.2]])
    found = tempered(prob, 2.0, "binary")
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
        loss = [values(measures(t.label, t.prob, task))["nll"] for t in (table, new)]
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
    moved = tempered(np.array([[1 - threshold, threshold]]), made.temperature, "binary")[0, 1]
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
    assert find(tables).split == "id_val"
    assert find({"test": tables["test"]}).reason == "no validation split was scored"


def alone(label, prob, task="binary"):
    table = predictions_of(task, label, prob, split="val")
    found, made = recalibrated({"val": table}, SCALED)
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
