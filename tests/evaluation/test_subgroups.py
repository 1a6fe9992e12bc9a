"""Subgroups of the metadata: how columns are divided, and numbers equal to scikit-learn's."""

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, recall_score, roc_auc_score

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import evaluate, predictions_of
from medldr.evaluation.intervals.bootstrap import stream
from medldr.evaluation.split_entry import SplitEntry
from medldr.evaluation.split_scores import SplitScores
from medldr.evaluation.subgroups import OTHER, check_subgroups, divide, tertiles
from medldr.folders.evaluation_parts import OperatingPoint

FAST = EvaluationConfig(draws=200)


def text(values):
    return np.array(values, dtype=np.str_)


def scored(table, config=FAST):
    return evaluate({"test": table}, config)["splits"]["test"]["subgroups"]


def test_numbers_of_a_subgroup_are_those_of_its_rows(make):
    sex = np.array(["F", "M", "F", ""] * 30)
    group = [f"p{n // 2}" for n in range(120)]
    table = make("binary", 120, group=group, columns={"sex": sex})
    found = scored(table)["sex"]
    assert (found["how"], found["edges"], found["missing"]) == ("values", [], 30)
    assert list(found["values"]) == ["F", "M"]
    for name, entry in found["values"].items():
        rows = sex == name
        label, prob = table.label[rows], table.prob[rows, 1]
        decided = (prob > 0.5).astype(int)
        expected = {
            "accuracy": accuracy_score(label, decided),
            "auc": roc_auc_score(label, prob),
            "sensitivity": recall_score(label, decided),
            "specificity": recall_score(label, decided, pos_label=0),
        }
        assert {m: n["value"] for m, n in entry["metrics"].items()} == pytest.approx(expected)
        assert entry["n"] == rows.sum()
        assert entry["n_groups"] == len(set(np.array(group)[rows]))
        assert list(entry["classes"].values()) == [(label == 0).sum(), (label == 1).sum()]
        for number in entry["metrics"].values():
            assert number["low"] <= number["value"] <= number["high"]
    values = {n: e["metrics"]["auc"]["value"] for n, e in found["values"].items()}
    gap = found["gaps"]["auc"]
    assert gap["value"] == pytest.approx(max(values.values()) - min(values.values()))
    assert values[gap["lowest"]] == min(values.values())
    assert values[gap["highest"]] == max(values.values())
    assert gap["of"] == 2


def test_draws_are_those_of_the_whole_split(make):
    """A loop over the same draws of patients, in float64."""
    device = np.array(["a", "b", "a"] * 20)
    group = text([f"p{n % 25:02d}" for n in range(60)])
    table = make("multi-class", 60, group=group, columns={"device": device})
    divisions, _ = divide(table.columns, FAST)
    scores = SplitScores(table, 15, 1, OperatingPoint(specificity=0.9), divisions=tuple(divisions))
    entry = SplitEntry(scores, "test", FAST)
    right = (table.prob.argmax(axis=1) == table.label).astype(float)
    generator = stream(FAST.bootstrap_seed, "test")
    picked = generator.integers(0, 25, size=(FAST.draws, 25))
    for number, name in enumerate("ab"):
        rows = device == name
        expected = []
        for draw in picked:
            weight = np.bincount(draw, minlength=25)[np.unique(group, return_inverse=True)[1]]
            expected.append((weight * right)[rows].sum() / weight[rows].sum())
        np.testing.assert_allclose(entry.draws[f"subgroup/{number}/accuracy"], expected, atol=1e-12)


@pytest.mark.parametrize("task", ["multi-class", "ordinal", "multi-label"])
def test_every_task_has_accuracy_and_auc(make, task):
    table = make(task, 90, columns={"site": ["x", "y", "z"] * 30})
    found = scored(table)["site"]
    for name, entry in found["values"].items():
        assert list(entry["metrics"]) == ["accuracy", "auc"]
        part = table.select(table.columns["site"] == name)
        alone = evaluate({"test": part}, FAST)["splits"]["test"]["metrics"]
        for metric, number in entry["metrics"].items():
            assert number["value"] == pytest.approx(alone[metric]["value"])
        if task == "multi-label":
            assert list(entry["classes"].values()) == part.label.sum(axis=0).tolist()


def test_fewer_than_ten_images_or_patients_are_one_row_without_name_and_exact_size(make):
    one = ["a"] * 50 + ["b"] * 9
    group = [f"p{n}" for n in range(50)] + [f"q{n}" for n in range(9)]
    found = scored(make("binary", 59, group=group, columns={"c": one}))["c"]
    assert list(found["values"]) == ["a", OTHER]
    assert found["values"][OTHER] == {
        "n": None, "n_groups": None, "few_groups": True, "classes": {}, "metrics": {},
        "reason": "fewer than 10 images or patients in each",
    }  # fmt: skip
    assert found["gaps"] == {}  # there is nothing to compare with
    group = [f"p{n}" for n in range(50)] + ["q"] * 20
    found = scored(make("binary", 70, group=group, columns={"c": ["a"] * 50 + ["b"] * 20}))["c"]
    assert list(found["values"]) == ["a", OTHER]
    assert found["values"][OTHER]["metrics"] == {}
    assert [found["values"][OTHER][key] for key in ("n", "n_groups")] == [20, None]
    found = scored(make("binary", 60, columns={"c": ["a"] * 50 + ["b"] * 10}))["c"]
    assert list(found["values"]) == ["a", "b"]
    assert found["values"]["b"]["reason"] is None


def test_small_subgroups_share_a_row_and_the_others_keep_their_numbers(make):
    values = ["b"] * 4 + ["c"] * 40 + ["a"] * 9 + ["d"] * 30 + [""] * 2
    table = make("binary", 85, columns={"c": values, "sex": ["F", "M"] * 42 + ["F"]})
    found = scored(table)
    assert list(found["c"]["values"]) == ["c", "d", OTHER]
    assert found["c"]["values"][OTHER]["n"] == found["c"]["values"][OTHER]["n_groups"] == 13
    alone = scored(table.select(np.isin(values, ["c", "d"])))["c"]["values"]
    for name in "cd":
        for metric, number in found["c"]["values"][name]["metrics"].items():
            assert number["value"] == alone[name]["metrics"][metric]["value"]
    assert list(found["sex"]["values"]) == ["F", "M"]
    assert '"b"' not in json.dumps(found)


def test_a_value_that_only_other_splits_have_is_no_row(make):
    tables = {
        "val": make("binary", 60, split="val", columns={"c": ["a", "b"] * 30}),
        "test": make("binary", 60, columns={"c": ["a"] * 60}),
    }
    found = evaluate(tables, FAST)["splits"]["test"]["subgroups"]["c"]["values"]
    assert list(found) == ["a"]


def test_a_metric_that_is_undefined_in_a_subgroup_says_why(make):
    table = predictions_of(
        "binary", [0, 1] * 10 + [0] * 12, np.tile([[0.7, 0.3], [0.4, 0.6]], (16, 1)),
        columns={"c": ["a"] * 20 + ["b"] * 12},
    )  # fmt: skip
    of_b = scored(table)["c"]["values"]["b"]["metrics"]
    assert of_b["auc"]["value"] is None
    assert of_b["auc"]["reason"] == "only one class in the labels"
    assert of_b["sensitivity"]["value"] is None
    assert of_b["specificity"]["value"] == 0.5
    assert "auc" not in scored(table)["c"]["gaps"]


def test_a_split_in_which_nothing_can_be_measured_still_counts(make):
    table = make("binary", 40, columns={"c": ["a", "b"] * 20})
    table.prob[3] = np.nan
    found = scored(table)["c"]["values"]["a"]
    assert found["n"] == 20
    assert found["metrics"]["accuracy"]["value"] is None
    assert "not finite" in found["metrics"]["accuracy"]["reason"]


def test_bands_are_cut_at_the_stated_edges_each_in_the_band_above_it(make):
    age = ["39.9", "40", "59", "60", "", "90"] * 20
    config = EvaluationConfig(draws=100, bands={"age": [40, 60]})
    found = scored(make("binary", 120, columns={"age": age}), config)["age"]
    assert {n: e["n"] for n, e in found["values"].items()} == {
        "below 40": 20, "40 to below 60": 40, "60 and above": 40,
    }  # fmt: skip
    assert (found["how"], found["edges"], found["missing"]) == ("bands", [40.0, 60.0], 20)


def test_many_numbers_without_edges_are_cut_in_thirds(make):
    age = [f"{20 + n % 60}" for n in range(120)]
    found = scored(make("binary", 120, columns={"age": age}))["age"]
    assert (found["how"], found["edges"]) == ("tertiles", [40.0, 60.0])
    assert [e["n"] for e in found["values"].values()] == [40, 40, 40]


def test_tertiles_are_values_that_occur_even_where_most_are_equal():
    generator = np.random.default_rng(0)
    for count in (13, 14, 15, 100):
        numbers = generator.normal(size=count).round(3)
        low, high = tertiles(numbers)
        assert {low, high} <= set(numbers)
        sizes = np.bincount(np.digitize(numbers, (low, high)))
        assert max(sizes) - min(sizes) <= 1
    assert tertiles(np.array([0.0] * 90 + list(range(1, 14)))) == (1.0,)
    assert tertiles(np.array([0.0] * 40 + [5.0] * 60)) == (5.0,)


def test_which_columns_are_divided_unless_some_are_named(make):
    columns = {
        "sex": ["F", "M"] * 30,
        "one": ["x"] * 60,
        "serial": [f"{n:04d}" for n in range(60)],  # digits after a zero are an id
        "name": [f"n{n}" for n in range(60)],
        "few": [f"{10 - n % 3 * 9}" for n in range(60)],
        "empty": [""] * 60,
    }
    table = make("binary", 60, columns=columns)
    result = evaluate({"test": table}, FAST)
    found = result["splits"]["test"]["subgroups"]
    assert list(found) == ["sex", "few"]
    assert list(found["few"]["values"]) == ["-8", "1", "10"]  # numbers are in their own order
    said = "not divided into subgroups: one (1 value), serial (60 values), name (60 values), empty"
    assert result["notes"] == [f"{said} (0 values)"]
    named = EvaluationConfig(draws=100, subgroups=["one", "few"], bands={"few": [2, 5]})
    found = evaluate({"test": table}, named)
    assert list(found["splits"]["test"]["subgroups"]) == ["one", "few"]
    assert found["notes"] == []
    nothing = EvaluationConfig(draws=100, subgroups=[])
    assert "subgroups" not in evaluate({"test": table}, nothing)["splits"]["test"]


def test_bands_divide_their_column_whether_or_not_subgroups_are_named(make):
    columns = {"sex": ["F", "M"] * 30, "age": [f"{n}" for n in range(60)]}
    for subgroups in ([], ["sex"]):
        config = EvaluationConfig(draws=100, subgroups=subgroups, bands={"age": [20]})
        found = scored(make("binary", 60, columns=columns), config)
        assert list(found) == [*subgroups, "age"]
        assert list(found["age"]["values"]) == ["below 20", "20 and above"]


@pytest.mark.parametrize("asked", [{"subgroups": ["sex"]}, {"bands": {"sex": [1]}}])
def test_a_table_without_the_column_is_refused(make, asked):
    config = EvaluationConfig(draws=100, **asked)
    with pytest.raises(InputError, match=r"'sex'.*data\.metadata"):
        evaluate({"test": make("binary", 60)}, config)
    with pytest.raises(InputError, match=r"no column 'sex'.*Columns: site"):
        evaluate({"test": make("binary", 60, columns={"site": ["x", "y"] * 30})}, config)


def test_only_the_split_that_leads_a_page_is_divided_and_by_edges_of_all(make):
    columns = {"age": [f"{n % 50}" for n in range(60)]}
    tables = {
        "val": make("binary", 60, split="val", columns={"age": [f"{n + 50}" for n in range(60)]}),
        "test": make("binary", 60, columns=columns),
    }
    result = evaluate(tables, FAST)
    assert "subgroups" not in result["splits"]["val"]
    every = np.array([*map(float, columns["age"]), *range(50, 110)])
    assert result["splits"]["test"]["subgroups"]["age"]["edges"] == list(tertiles(every))


@pytest.mark.parametrize(
    ("config", "columns", "said"),
    [
        ({"subgroups": ["sexx"]}, {"sex": ["F"], "age": ["1"]}, "'sexx'.*Did you mean 'sex'.*age"),
        ({"subgroups": ["sex"]}, {}, "no further columns.*data.metadata"),
        ({"bands": {"agee": [40]}}, {"age": ["1"]}, "evaluation.bands.*'agee'.*'age'"),
        ({"bands": {"age": [40]}}, {"age": ["1", "n/a"]}, "'age'.*holds 'n/a'.*not a number"),
        ({"subgroups": ["name"]}, {"name": [f"Ms {n}" for n in range(13)]},
         "'name'.*13 values.*at most 12.*'Ms 0' is none"),
    ],
)  # fmt: skip
def test_what_cannot_be_divided_is_refused_before_training(config, columns, said):
    with pytest.raises(InputError, match=said):
        check_subgroups(EvaluationConfig(**config), {k: text(v) for k, v in columns.items()})


def test_what_can_be_divided_is_not_refused():
    columns = {"age": text(["", "1.5"]), "sex": text(["F", ""])}
    check_subgroups(EvaluationConfig(subgroups=["sex"], bands={"age": [1]}), columns)
    many = {"age": text([f"{n}" for n in range(99)]), "site": text([f"s{n}" for n in range(12)])}
    check_subgroups(EvaluationConfig(subgroups=["age", "site"]), many)
    check_subgroups(EvaluationConfig(), {})


@pytest.mark.parametrize("edges", [[], [60, 40], [40, 40]])
def test_edges_ascend(edges):
    with pytest.raises(ValueError, match="ascending order"):
        EvaluationConfig(bands={"age": edges})
