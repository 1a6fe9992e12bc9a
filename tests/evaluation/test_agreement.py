"""Numbers of an evaluation that its predictions do not give are found, and no others."""

import copy
import json
import time

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import evaluate, join, predictions_of
from medldr.evaluation.agreement import differences
from medldr.folders.evaluation_record import EvaluationRecord

TASKS = ("multi-class", "binary", "ordinal", "multi-label")


def found(content, table):
    """What differs, by key: (recorded, computed)."""
    content = json.loads(json.dumps(content))
    unlike = differences(EvaluationRecord.model_validate(content), table)
    return {each.key: (each.recorded, each.computed) for each in unlike}


def texts(n, domains=(), groups=0, parts=()):
    """Domains, groups and parts of some items, by turns."""
    out = {"ids": [f"i{i}" for i in range(n)]}
    if domains:
        out["domain"] = [domains[i % len(domains)] for i in range(n)]
    if groups:
        out["group"] = [f"p{i % groups}" for i in range(n)]
    if parts:
        out["part"] = [parts[i // 2 % len(parts)] for i in range(n)]
    return out


@pytest.fixture
def scored(make):
    """A run with everything: its evaluation and its predictions."""

    def build(task="binary", **config):
        seen = {"split": "id_val", **texts(60, ("a", "b"), groups=12)}
        unseen = {"split": "test", **texts(80, ("c", "d"), 16, ("target_in", "target_out"))}
        tables = {
            "id_val": make(task, seed=1, **seen),
            "test": make(task, 80, seed=2, **unseen),
        }
        settings = EvaluationConfig(draws=100, per_group=True, **config)
        return evaluate(tables, settings, seen=["a", "b"]), join(list(tables.values()))

    return build


@pytest.mark.parametrize("task", TASKS)
def test_an_evaluation_follows_from_its_predictions(scored, task):
    assert found(*scored(task)) == {}


def numbers(content):
    """Places of all point values and counts of an evaluation, with their keys in words."""

    def walk(value, place):
        if isinstance(value, dict):
            for key, item in value.items():
                yield from walk(item, (*place, key))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield place

    kept = ("value", "n", "n_groups", "items", "correct")
    for place in walk({k: content[k] for k in ("splits", "gap")}, ()):
        if place[-1] in kept or place[-3:-2] == ("groups",):
            yield place


@pytest.mark.parametrize("task", ["binary", "multi-label"])
def test_each_wrong_number_is_found_alone(scored, task):
    content, table = scored(task)
    places = [
        place
        for place in numbers(content)
        if (place[-1], place[-3]) != ("n_groups", "domains")
        and place[-1] not in ("low", "high")
        and not {"class_counts", "calibration_fit", "calibration_curves"} & set(place)
    ]  # the rest is for `medldr verify`, which scores again
    assert len(places) > 100
    places = places[:: len(places) // 15]
    for place in places:
        wrong = copy.deepcopy(content)
        at = wrong
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] += 1e-6 if isinstance(at[place[-1]], float) else 1
        ((key, (said, right)),) = found(wrong, table).items()
        assert said - right == pytest.approx(1e-6 if isinstance(right, float) else 1)
        assert place[-2] in key or place[-1] in key


@pytest.mark.parametrize(
    ("place", "value", "key"),
    [
        (("splits", "test", "confusion", 0, 1), 99, "test/confusion/0/1"),
        (("splits", "test", "worst_domain", "name"), "x", "test/worst_domain/name"),
        (("splits", "test", "worst_group", "name"), "x", "test/worst_group/name"),
        (("operating_point", "threshold"), 0.123, "operating_point/threshold"),
        (("class_names",), ["healthy", "ill"], "class_names"),
        (("task",), "multi-label", "task"),
        (("positive_class",), "ill", "positive_class"),
    ],
)
def test_other_entries_are_checked_too(scored, place, value, key):
    content, table = scored()
    at = content
    for part in place[:-1]:
        at = at[part]
    at[place[-1]] = value
    assert key in found(content, table)


def test_a_split_or_domain_without_predictions_is_found(scored):
    content, table = scored()
    content["splits"]["id_test"] = content["splits"]["test"]
    assert found(content, table)["id_test/n"] == (80, 0)
    del content["splits"]["id_test"]
    content["splits"]["test"]["domains"]["e"] = content["splits"]["test"]["domains"]["c"]
    assert found(content, table)["test/domains"] == (["c", "d", "e"], ["c", "d"])


def test_changed_predictions_are_found(scored):
    content, table = scored()
    row = int(np.flatnonzero(table.split == "test")[0])
    table.prob[row] = table.prob[row, ::-1]
    unlike = found(content, table)
    assert {"test/accuracy", "test/nll", "test/domain/c/accuracy", "gap/accuracy"} <= unlike.keys()
    assert not any(key.startswith("id_val") for key in unlike)


def test_undefined_equals_undefined_and_nothing_else():
    table = predictions_of("binary", [0, 0, 0], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    content = evaluate({"test": table}, EvaluationConfig(draws=100))
    assert content["splits"]["test"]["metrics"]["auc"]["value"] is None
    assert found(content, table) == {}
    content["splits"]["test"]["metrics"]["auc"]["value"] = 0.9
    assert found(content, table) == {"test/auc": (0.9, None)}
    content["splits"]["test"]["metrics"]["auc"]["value"] = None
    content["splits"]["test"]["metrics"]["accuracy"]["value"] = None
    assert found(content, table) == {"test/accuracy": (None, pytest.approx(2 / 3))}


def test_where_nothing_can_be_measured_no_number_is_believed():
    table = predictions_of("binary", [0, 1], [[np.nan, np.nan], [0.8, 0.2]], domain=["a", "a"])
    content = evaluate({"test": table}, EvaluationConfig(draws=100))
    assert found(content, table) == {}
    content["splits"]["test"]["metrics"]["accuracy"]["value"] = 0.9
    content["splits"]["test"]["domains"]["a"]["metrics"]["auc"]["value"] = 0.9
    assert found(content, table) == {"test/accuracy": (0.9, None), "test/domain/a/auc": (0.9, None)}


def test_keys_that_only_one_side_has_are_left_alone(scored):
    content, table = scored()
    test = content["splits"]["test"]
    for key in ("worst_domain", "worst_group", "groups", "confusion", "parts", "n_groups"):
        del test[key]
    del test["metrics"]["auc"], content["class_names"]
    test["metrics"]["a_metric_of_tomorrow"] = {"value": 0.5}
    test["tomorrow"] = {"value": 1.0}
    assert found(content, table) == {}


@pytest.mark.slow
def test_it_takes_a_small_part_of_an_evaluation(make):
    table = make("multi-class", 2000, 7, seed=3, **texts(2000, ("a", "b", "c")))
    start = time.process_time()
    content = evaluate({"test": table}, EvaluationConfig())
    whole = time.process_time() - start
    record = EvaluationRecord.model_validate(content)
    start = time.process_time()
    assert differences(record, table) == []
    assert time.process_time() - start < whole / 4
