"""Groups are scored as WILDS scores slides: means within groups, and the worst of them."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest

from medldr.config import EvaluationConfig
from medldr.evaluation import compare, evaluate, predictions_of
from medldr.evaluation.groups import group_counts
from medldr.evaluation.intervals.single_run import wilson

BY_GROUP = EvaluationConfig(draws=200, per_group=True)


def table_of(correct, group, **more):
    """A binary table with these right and wrong decisions."""
    prob = np.where(np.array(correct, bool)[:, None], [0.2, 0.8], [0.8, 0.2])
    return predictions_of("binary", np.ones(len(correct), int), prob, group=list(group), **more)


def by_wilds(decision, label, number, count):
    """Average, accuracy of each group, and the worst one, as WILDS' metrics define them."""
    right = (decision == label).astype(float)
    held = [right[number == g] for g in range(count)]
    accuracy = [found.mean() if len(found) else 0.0 for found in held]
    worst = min(a for a, found in zip(accuracy, held, strict=True) if len(found))
    return right.mean(), accuracy, [len(found) for found in held], worst


def test_the_worked_value_of_three_groups_of_which_one_is_empty():
    found = evaluate({"test": table_of([1, 0, 1, 1], "0022")}, BY_GROUP)["splits"]["test"]
    assert found["metrics"]["accuracy"]["value"] == 0.75
    assert {name: (e["n"], e["accuracy"]) for name, e in found["groups"].items()} == {
        "0": (2, 0.5),
        "2": (2, 1.0),
    }
    assert (found["worst_group"]["name"], found["worst_group"]["n"]) == ("0", 2)
    assert found["worst_group"]["accuracy"]["value"] == 0.5


@pytest.mark.parametrize("seed", range(2))
def test_random_predictions_are_scored_by_the_formula_of_wilds(seed):
    rng = np.random.default_rng(seed)
    number, label = rng.integers(0, 12, 300), rng.integers(0, 2, 300)
    number[number == 5] = 6  # no item of slide 5
    prob = rng.dirichlet(np.ones(2), 300)
    slides = [f"slide_{g:02d}" for g in number]
    hospitals = [f"hospital_{g // 4}" for g in number]
    table = predictions_of("binary", label, prob, group=slides, domain=hospitals)
    average, accuracy, counts, worst = by_wilds(prob.argmax(1), label, number, 12)
    found = evaluate({"test": table}, BY_GROUP)["splits"]["test"]
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(average, abs=1e-12)
    there = [g for g in range(12) if counts[g]]
    assert list(found["groups"]) == [f"slide_{g:02d}" for g in there]
    for g in there:
        entry = found["groups"][f"slide_{g:02d}"]
        assert entry["n"] == counts[g]
        assert entry["accuracy"] == pytest.approx(accuracy[g], abs=1e-12)
        assert entry["correct"] == round(accuracy[g] * counts[g])
        assert entry["domain"] == f"hospital_{g // 4}"
    lowest = found["worst_group"]["accuracy"]  # of many is low by chance: it has no interval
    assert (lowest["low"], lowest["high"], lowest["reason"]) == (None, None, None)
    assert lowest["value"] == pytest.approx(worst, abs=1e-12)
    named = found["groups"][found["worst_group"]["name"]]
    assert named["accuracy"] == found["worst_group"]["accuracy"]["value"]


def test_no_group_is_named_unless_it_is_asked_for():
    table = table_of([1, 0, 1, 1], ["anna", "anna", "bert", "bert"])
    found = evaluate({"test": table}, EvaluationConfig(draws=100))
    assert not {"groups", "worst_group"} & set(found["splits"]["test"])
    assert "anna" not in json.dumps(found)


def test_items_without_a_group_count_in_the_average_alone():
    table = table_of([0, 0, 1, 1, 0], ["", "", "a", "a", "a"])
    assert group_counts(table).names == ("a",)
    found = evaluate({"test": table}, BY_GROUP)["splits"]["test"]
    assert found["metrics"]["accuracy"]["value"] == 0.4
    assert found["worst_group"]["accuracy"]["value"] == pytest.approx(2 / 3)


def test_a_split_without_groups_says_so_and_goes_on():
    found = evaluate({"test": table_of([1, 0, 1], ["", "", ""])}, BY_GROUP)
    assert found["splits"]["test"]["worst_group"] is None
    assert "test: not scored by group, because no item has a group." in found["notes"]


def test_the_known_labels_of_a_group_are_pooled():
    label = np.array([[1, np.nan], [0, 1], [np.nan, np.nan]])
    prob = np.array([[0.9, 0.9], [0.9, 0.9], [0.1, 0.1]])
    table = predictions_of("multi-label", label, prob, group=["a", "a", "b"])
    found = evaluate({"test": table}, BY_GROUP)["splits"]["test"]
    assert found["groups"]["a"] == {
        "n": 2,
        "correct": 2,
        "accuracy": pytest.approx(2 / 3),
        "low": pytest.approx(wilson(2 / 3, 2, 1.96)[0], abs=1e-4),
        "high": pytest.approx(wilson(2 / 3, 2, 1.96)[1], abs=1e-4),
        "domain": "",
    }
    assert found["groups"]["b"]["accuracy"] is None
    assert found["worst_group"]["name"] == "a"


def test_outputs_that_are_not_finite_are_scored_in_no_group():
    table = table_of([1, 0, 1, 1], "aabb")
    table.prob[0] = np.nan
    found = evaluate({"test": table}, BY_GROUP)
    json.dumps(found, allow_nan=False)
    assert found["splits"]["test"]["groups"] == {}
    assert found["splits"]["test"]["worst_group"] is None


def test_a_group_in_two_domains_names_both():
    table = table_of([1, 0, 1], "aab", domain=["y", "x", ""])
    assert group_counts(table).domains == ("x, y", "")


def test_the_worst_group_of_a_method_is_the_mean_of_its_runs(run_folder):
    rng = np.random.default_rng(3)
    groups = [f"p{g}" for g in np.repeat(range(5), 8)]
    config = {"config": {"per_group": True}}
    tables = [table_of(rng.random(40) < 0.7, groups) for _ in range(3)]
    folders = [
        run_folder(f"r{seed}", {"test": table}, seed=seed, **config)
        for seed, table in enumerate(tables)
    ]
    found = compare(folders)
    (row,) = [r for r in found["rows"] if r["metric"] == "worst_group"]
    lowest = [np.bincount(np.repeat(range(5), 8), t.prob[:, 1] > 0.5).min() / 8 for t in tables]
    assert row["values"] == pytest.approx(lowest)
    assert row["mean"] == pytest.approx(np.mean(lowest))
    assert row["domain"] is None
    other = run_folder("plain", {"test": tables[0]}, label="other", identity="2")
    mixed = compare([*folders, other])
    assert not [r for r in mixed["rows"] if r["metric"] == "worst_group"]
    assert any("the worst group is left out" in note for note in mixed["notes"])


def test_each_group_has_wilsons_interval():
    table = table_of([True] * 7 + [False] * 3 + [True] * 5, ["a"] * 10 + ["b"] * 5)
    found = evaluate({"test": table}, BY_GROUP)["splits"]["test"]["groups"]
    for name, right, n in (("a", 7, 10), ("b", 5, 5)):
        ends = binomtest(right, n).proportion_ci(method="wilson")
        assert (found[name]["low"], found[name]["high"]) == pytest.approx((ends.low, ends.high))
