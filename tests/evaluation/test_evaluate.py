"""evaluation.json: complete, safe as JSON, honest about what is undefined."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import accuracy, auc, evaluate, join, predictions_of, score
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts

FAST = EvaluationConfig(draws=200)
TASKS = ["multi-class", "binary", "ordinal", "multi-label"]


def numbers_in(value, path=""):
    """Every ``{"value": ...}`` in an evaluation, by where it is."""
    if isinstance(value, dict):
        if {"value", "low", "high", "reason"} <= set(value):
            yield path, value
        for key, part in value.items():
            yield from numbers_in(part, f"{path}/{key}")


@pytest.mark.parametrize("task", TASKS)
def test_every_number_has_an_interval_around_it_or_noise_beside_it(make, task):
    domain = [f"hospital_{i % 3}" for i in range(90)]
    tables = {"val": make(task, 60, split="val", seed=1), "test": make(task, 90, domain=domain)}
    found = evaluate(tables, FAST, seen=["hospital_0"])
    json.dumps(found, allow_nan=False)
    every = dict(numbers_in(found["splits"]["test"]))
    assert len(every) > 30
    for path, number in every.items():
        if path.endswith("/lr_positive") and number["low"] is None:
            assert "infinite or undefined in" in number["reason"]
            continue
        assert number["reason"] is None, path
        if "/ece" in path:
            assert number["low"] is None, path
            assert 0 < number["noise"][0] < number["noise"][1], path
        elif "worst" in path:
            assert number["low"] is None, path
        else:
            assert number["low"] < number["high"], path
            assert number["low"] <= number["value"] <= number["high"], path


@pytest.mark.parametrize("task", TASKS)
def test_values_are_those_of_the_metrics(make, task):
    table = make(task, 80, domain=["a", "b"] * 40)
    scored = evaluate({"test": table}, FAST)["splits"]["test"]
    for name, value in score(table).items():
        named = "nll" if name == "loss" else name
        assert scored["metrics"][named]["value"] == pytest.approx(value, abs=1e-12), name
    half = table.select(table.domain == "b")
    for name, function in {"accuracy": accuracy, "auc": auc}.items():
        of_domain = scored["domains"]["b"]["metrics"][name]["value"]
        assert of_domain == pytest.approx(function(half.label, half.prob, task), abs=1e-12)


def test_every_named_metric_is_defined_in_words(make):
    for task in TASKS:
        found = evaluate({"test": make(task)}, FAST)
        assert set(found["splits"]["test"]["metrics"]) <= set(found["definitions"])


def test_domains_are_seen_or_not_and_the_worst_is_named(make):
    domain = ["good"] * 20 + ["bad"] * 10
    hit = [True] * 19 + [False] + [True] * 4 + [False] * 6
    prob = np.where(np.array(hit)[:, None], [0.1, 0.9], [0.9, 0.1])
    table = predictions_of("binary", [1] * 30, prob, domain=domain)
    scored = evaluate({"test": table}, FAST, seen=["good"])["splits"]["test"]
    assert list(scored["domains"]) == ["bad", "good"]
    assert [scored["domains"][d]["seen"] for d in ("good", "bad")] == [True, False]
    assert scored["domains"]["good"]["n"] == 20
    assert [scored["domains"][d]["few_groups"] for d in ("good", "bad")] == [False, True]
    assert scored["worst_domain"]["name"] == "bad"
    assert scored["worst_domain"]["accuracy"]["value"] == 0.4
    without = evaluate({"test": make()}, FAST)["splits"]["test"]
    assert without["domains"] == {}
    assert without["worst_domain"] is None


def test_a_split_with_one_class_is_scored_with_reasons_and_no_nan():
    table = predictions_of("binary", [1, 1, 1], [[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
    found = evaluate({"test": table}, FAST)
    scored = found["splits"]["test"]
    undefined = {"value": None, "low": None, "high": None}
    assert scored["metrics"]["auc"] == {**undefined, "reason": "only one class in the labels"}
    assert scored["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert scored["metrics"]["specificity"]["reason"] == "no other class in the labels"
    assert "validation" in scored["metrics"]["sensitivity_at_specificity"]["reason"]
    assert scored["absent_classes"] == ["0"]
    assert scored["roc"] == {}
    assert any("no items of 0" in note for note in found["notes"])
    assert "NaN" not in json.dumps(found, allow_nan=False)


def test_absent_classes_are_named_and_change_no_mean():
    table = predictions_of("multi-class", [0, 0, 1, 1], np.eye(5)[[0, 1, 1, 1]])
    scored = evaluate({"test": table}, FAST)["splits"]["test"]
    assert scored["metrics"]["macro_f1"]["value"] == pytest.approx(11 / 15)
    assert scored["metrics"]["balanced_accuracy"]["value"] == 0.75
    assert scored["absent_classes"] == ["2", "3", "4"]
    assert scored["classes"]["3"]["recall"]["reason"] == "no such class in the labels"
    assert scored["classes"]["3"]["precision"]["reason"] == "never predicted"


@pytest.mark.parametrize(
    ("column", "reason"),
    [([0, 0, 0], "only one class in the labels"), ([np.nan] * 3, "no label is known")],
)
def test_a_label_that_is_undefined_is_named_and_the_mean_is_over_the_others(column, reason):
    label = np.stack([[1, 0, 1], column], axis=1)
    prob = np.array([[0.9, 0.2], [0.1, 0.3], [0.4, 0.1]])
    table = predictions_of("multi-label", label, prob, class_names=["edema", "effusion"])
    scored = evaluate({"test": table}, FAST)["splits"]["test"]
    assert scored["classes"]["edema"]["auc"]["value"] == 1.0
    assert scored["classes"]["effusion"]["auc"]["value"] is None
    assert scored["classes"]["effusion"]["auc"]["reason"] == reason
    assert scored["metrics"]["auc"]["value"] == 1.0
    assert scored["absent_classes"] == ["effusion"]


def test_missing_labels_are_counted_and_left_out(make):
    table = make("multi-label", n=40, k=2, missing=0.25)
    found = evaluate({"test": table}, FAST)
    missing = int(np.isnan(table.label).sum())
    assert any(f"{missing} of 80 labels are missing" in note for note in found["notes"])
    scored = found["splits"]["test"]
    assert np.sum(scored["confusion"]) == 80 - missing
    assert sum(scored["reliability"]["count"]) == 80 - missing
    assert scored["classes"]["0"]["n"] == int(np.nansum(table.label[:, 0]))


def test_outputs_that_are_not_finite_end_no_run(make):
    table = make("binary", n=30, domain=["a", "b"] * 15)
    table.prob[0] = np.nan
    found = evaluate({"test": table}, FAST)
    json.dumps(found, allow_nan=False)
    scored = found["splits"]["test"]
    assert scored["metrics"]["accuracy"]["value"] is None
    assert "1 of 30 items are not finite" in scored["metrics"]["accuracy"]["reason"]
    assert scored["domains"]["a"]["metrics"]["accuracy"]["value"] is None
    assert scored["domains"]["b"]["metrics"]["accuracy"]["value"] is not None


def test_the_threshold_is_taken_from_validation_and_kept_in_the_file():
    label = [0] * 10 + [1] * 10
    positive = np.r_[np.arange(10) / 20, 0.5 + np.arange(10) / 20]
    columns = np.stack([1 - positive, positive], axis=1)
    val = predictions_of("binary", label, columns, split="val")
    lower = 0.6 * positive
    test = predictions_of("binary", label, np.stack([1 - lower, lower], axis=1))
    found = evaluate({"val": val, "test": test}, EvaluationConfig(draws=100, specificity=0.8))
    assert found["operating_point"]["threshold"] == pytest.approx(0.35)
    assert found["operating_point"]["split"] == "val"
    scored = found["splits"]["test"]["metrics"]
    assert scored["sensitivity_at_specificity"]["value"] == 0.8  # 0.6 * (0.5, 0.55) <= 0.35
    assert scored["specificity_at_threshold"]["value"] == 1.0


def test_decisions_at_several_thresholds_take_the_place_of_one(make):
    """Items that models with thresholds of their own predicted, such as the folds of one set."""
    table = make("binary", n=120)
    called = table.prob[:, 1] > np.where(np.arange(120) < 60, 0.3, 0.7)
    config = EvaluationConfig(draws=200, prevalence=0.1)
    plain = evaluate({"test": table}, config)["splits"]["test"]
    halves = np.split(np.arange(120), 2)
    parts = [replace(table.select(rows), decision=called[rows]) for rows in halves]
    decided = evaluate({"test": join(parts)}, config)["splits"]["test"]
    truth = table.label == 1
    of = {name: number["value"] for name, number in decided["metrics"].items()}
    assert of["sensitivity_at_specificity"] == pytest.approx(called[truth].mean())
    assert of["specificity_at_threshold"] == pytest.approx((~called[~truth]).mean())
    assert of["ppv"] == pytest.approx(truth[called].mean())
    assert decided["metrics"]["ppv"]["low"] < of["ppv"] < decided["metrics"]["ppv"]["high"]
    assert decided["decisions"]["false_positives"] == (called & ~truth).sum()
    assert decided["at_prevalence"]["ppv_at_prevalence"]["value"] < of["ppv"]
    same = {name for name in of if decided["metrics"][name] == plain["metrics"][name]}
    assert of.keys() - same == {name for name in of if metric_facts(name).threshold}
    assert join([parts[0], table]).decision is None


def test_the_positive_class_decides_what_sensitivity_is_about(make):
    table = make("binary", n=60)
    one = evaluate({"test": table}, FAST)
    other = evaluate({"test": table}, EvaluationConfig(draws=200, positive_class="0"))
    first, second = (e["splits"]["test"]["metrics"] for e in (one, other))
    assert (one["positive_class"], other["positive_class"]) == ("1", "0")
    assert first["sensitivity"] == second["specificity"]
    assert list(other["splits"]["test"]["roc"]) == ["0"]


def numbers(value):
    """Every number and undefined one below a value, in order."""
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in numbers(value[key])]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [] if isinstance(value, str) else [np.nan if value is None else float(value)]


@pytest.mark.parametrize("sure", [1, 60], ids=["unsure", "near 0 and 1"])
def test_a_positive_class_in_the_first_column_has_the_numbers_of_swapped_columns(sure):
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 90)
    logit = sure * (rng.normal(size=90) + 1.5 * (label == 0))
    # Of the first class; near 1, the other column is exactly 0 where this one still differs.
    prob = np.stack([1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))], axis=1)
    texts = {"domain": ["a", "b", "c"] * 30, "group": [f"p{i // 3}" for i in range(90)]}
    settings = {"draws": 200, "specificity": 0.8}

    def scored(names, label, prob, **more):
        tables = {
            split: predictions_of(
                "binary", label[rows], prob[rows], class_names=names, split=split,
                **{name: np.array(column)[rows] for name, column in texts.items()},
            )
            for split, rows in (("val", slice(0, 45)), ("test", slice(45, 90)))
        }  # fmt: skip
        return evaluate(tables, EvaluationConfig(**settings, **more))

    first = scored(("tumour", "normal"), label, prob, positive_class="tumour")
    second = scored(("normal", "tumour"), 1 - label, prob[:, ::-1])
    assert first["positive_class"] == second["positive_class"] == "tumour"
    assert first["operating_point"] == second["operating_point"]
    for split in ("val", "test"):
        one, other = first["splits"][split], second["splits"][split]
        assert list(one["roc"]) == list(other["roc"]) == ["tumour"]
        for key in ("metrics", "domains", "classes", "reliability_positive", "roc", "n"):
            np.testing.assert_allclose(
                numbers(one[key]), numbers(other[key]), rtol=0, atol=1e-12, err_msg=f"{split} {key}"
            )
        assert np.array_equal(np.array(one["confusion"])[::-1, ::-1], other["confusion"])


def test_the_auc_is_that_of_the_named_column():
    # Rounding makes the second column say less than the first, as for confident networks.
    prob = np.array([[1e-20, 1.0], [2e-20, 1.0], [0.6, 0.4], [0.7, 0.3]])
    label = np.array([1, 0, 0, 0])
    table = {"test": predictions_of("binary", label, prob)}
    found = [
        evaluate(table, EvaluationConfig(draws=100, positive_class=name))["splits"]["test"]
        for name in ("0", "1")
    ]
    expected = [roc_auc_score(label == k, prob[:, k]) for k in (0, 1)]
    assert expected == pytest.approx([1.0, 5 / 6])
    assert [one["metrics"]["auc"]["value"] for one in found] == pytest.approx(expected)


def test_a_wrong_positive_class_is_refused(make):
    with pytest.raises(InputError, match="there is no class 'malignat'"):
        evaluate({"test": make("binary")}, EvaluationConfig(positive_class="malignat"))
    with pytest.raises(InputError, match="the task is multi-class"):
        evaluate({"test": make()}, EvaluationConfig(positive_class="0"))


def test_nothing_to_score_is_an_error_that_names_what_there_is(make):
    with pytest.raises(InputError, match=r"none of id_val, val, id_test, test .* hold: train"):
        evaluate({"train": make(split="train")}, FAST)


def test_few_groups_are_flagged(make):
    table = make(n=60, group=[f"patient {i % 6}" for i in range(60)])
    found = evaluate({"test": table}, FAST)
    scored = found["splits"]["test"]
    assert (scored["unit"], scored["n_groups"], scored["few_groups"]) == ("group", 6, True)
    assert any("few groups (6)" in note for note in found["notes"])


def test_confusion_reliability_and_roc_describe_the_same_items(make):
    table = make(n=500)
    scored = evaluate({"test": table}, FAST)["splits"]["test"]
    confusion = np.array(scored["confusion"])
    assert confusion.sum() == 500
    assert confusion.trace() / 500 == scored["metrics"]["accuracy"]["value"]
    assert confusion.sum(axis=1).tolist() == np.bincount(table.label).tolist()
    bins = scored["reliability"]
    assert sum(bins["count"]) == 500
    gaps = [
        n * abs(c - a)
        for n, c, a in zip(bins["count"], bins["confidence"], bins["accuracy"], strict=True)
        if n
    ]
    assert sum(gaps) / 500 == pytest.approx(scored["metrics"]["ece"]["value"], abs=1e-12)
    curve = scored["roc"]["0"]
    assert len(curve["fpr"]) <= 200
    area = np.trapezoid(curve["tpr"], curve["fpr"])
    assert area == pytest.approx(scored["classes"]["0"]["auc"]["value"], abs=0.01)
    assert (curve["fpr"][0], curve["tpr"][-1]) == (0, 1)


@pytest.mark.parametrize("task", TASKS)
def test_the_frame_has_a_row_for_every_number(make, task):
    more = {
        "domain": ["hospital_2", "hospital_3"] * 30,
        "group": [f"p{n % 30}" for n in range(60)],
        "part": ["target_in", "target_in", "target_out"] * 20,
        "columns": {"sex": ["F", "F", "M/x"] * 20},
    }
    settings = {"prevalence": 0.2} if task == "binary" else {}
    config = EvaluationConfig(draws=100, per_group=True, **settings)
    tables = {"val": make(task, split="val", seed=1), "test": make(task, **more)}
    scored = evaluate(tables, config)["splits"]
    content = json.loads(json.dumps({"task": task, "splits": scored}, allow_nan=False))
    frame = EvaluationRecord.model_validate(content).scores
    for split, of in content["splits"].items():
        rows = [row for row in frame.rows if row.split == split and not row.group]
        numbers = [number["value"] for _, number in numbers_in(of)]
        assert sorted(map(str, numbers)) == sorted(str(row.value) for row in rows)
    test, flat = scored["test"], frame.flat()
    assert len(flat) == len(frame.rows)
    assert flat["test/group/p3/accuracy"] == test["groups"]["p3"]["accuracy"]
    assert flat["test/worst_group/accuracy"] == test["worst_group"]["accuracy"]["value"]
    of_men = test["subgroups"]["sex"]["values"]["M/x"]["metrics"]["auc"]
    assert flat["test/subgroup/sex/M/x/auc"] == of_men["value"]
    of_part = test["parts"]["target_out"]["metrics"]["auc"]
    assert frame.row("test", "auc", part="target_out").high == of_part["high"]
    of_domain = test["domains"]["hospital_2"]["metrics"]["accuracy"]
    assert frame.value("test", "accuracy", domain="hospital_2") == of_domain["value"]
    assert flat["test/class/1/recall"] == test["classes"]["1"]["recall"]["value"]
    if task != "multi-label":
        assert flat["test/coverage/100/error"] == pytest.approx(1 - flat["test/accuracy"])
