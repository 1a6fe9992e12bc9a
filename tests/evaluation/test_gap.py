"""Seen minus unseen: from id_test, else from id_val, and never from a split that says nothing."""

import numpy as np
import pytest
import scipy.stats

from medldr.config import EvaluationConfig
from medldr.evaluation import compare, evaluate, predictions_of
from medldr.evaluation.intervals import bootstrap

FAST = EvaluationConfig(draws=200)
VAL = {"rule": "val_accuracy", "split": "val", "oracle": False}


def table_of(split, domain, share, seed=0, n=60):
    """A binary table of 15 slides with about this share of right decisions."""
    right = np.random.default_rng([seed, len(split)]).random(n) < share
    prob = np.where(right[:, None], [0.2, 0.8], [0.8, 0.2])
    names = [f"{split}{i}" for i in range(n)]
    slides = [f"{domain}s{i // 4}" for i in range(n)]
    return predictions_of(
        "binary", [1] * n, prob, ids=names, split=split, group=slides, domain=[domain] * n
    )


def tables_of(*splits, seed=0, test="hospital_2"):
    shares = {"id_val": 0.9, "id_test": 0.95, "val": 0.8, "test": 0.6}
    domains = {"val": "hospital_1", "test": test}
    return {s: table_of(s, domains.get(s, "hospital_0"), shares[s], seed) for s in splits}


def accuracy(table):
    return ((table.prob[:, 1] > 0.5) == table.label).mean()


def scored(*splits, seen=("hospital_0",), selection=VAL, shared=(), **more):
    tables = tables_of(*splits, **more)
    found = evaluate(tables, FAST, seen=seen, selection=selection, shared=shared)
    return tables, found["gap"]


def test_without_id_test_it_is_id_val_minus_test_with_an_interval_of_two_separate_draws():
    tables, gap = scored("id_val", "val", "test")
    assert (gap["seen"], gap["unseen"], gap["note"]) == ("id_val", "test", None)
    expected = accuracy(tables["id_val"]) - accuracy(tables["test"])
    number = gap["metrics"]["accuracy"]
    assert number["value"] == pytest.approx(expected, abs=1e-12)
    means = []
    for split in ("id_val", "test"):
        right = ((tables[split].prob[:, 1] > 0.5) == 1).reshape(15, 4)
        slides = np.argsort([f"s{i}" for i in range(15)])
        (weights,) = bootstrap.group_weights(15, 200, bootstrap.stream(0, split))
        means.append(right[slides].sum(axis=1) @ weights / 60)
    parts = [15 / 14 * found.var() for found in means]  # each split has 15 slides
    df = sum(parts) ** 2 / sum(part**2 / 14 for part in parts)
    half = scipy.stats.t(df).ppf(0.975) * sum(parts) ** 0.5
    ends = (number["value"] - half, number["value"] + half)
    assert (number["low"], number["high"]) == pytest.approx(ends)


def test_a_seen_split_that_shares_slides_with_training_says_so():
    chosen = {"rule": "id_val_auc", "split": "id_val"}
    shares = "shares groups with training: the gap is biased upwards."
    for selection, said in [(VAL, ""), (chosen, "chose the weights and ")]:
        _, gap = scored("id_val", "test", selection=selection, shared=["id_val"])
        assert gap["note"] == f"Validation, seen domains, {said}{shares}"
        assert gap["shared_groups"]


def test_a_comparison_says_so_of_the_methods_whose_split_shares_slides(run_folder):
    tables = tables_of("id_val", "test")
    a = run_folder("a", tables, seen=["hospital_0"], shared=["id_val"], selection=VAL)
    b = run_folder("b", tables, label="b", identity="2", seen=["hospital_0"], selection=VAL)
    notes = {gap["method"]: gap["note"] for gap in compare([a, b])["gaps"]}
    assert notes["erm"].startswith("Validation, seen domains, shares groups")
    assert notes["b"] is None


def test_there_is_none_where_the_test_split_is_of_seen_domains_or_of_none():
    assert scored("id_val", "test", seen=("hospital_0", "hospital_2"))[1] is None
    assert scored("id_val", "test", test="")[1] is None
    assert scored("val", "test")[1] is None
    assert scored("id_val")[1] is None


def test_an_undefined_number_has_an_undefined_gap_with_its_reason():
    _, gap = scored("id_val", "test")
    assert gap["metrics"]["auc"]["value"] is None
    assert gap["metrics"]["auc"]["reason"] == "only one class in the labels"


def test_a_comparison_takes_id_val_for_the_gap_alone(run_folder):
    folders, expected = [], []
    for seed in range(2):
        tables = tables_of("id_val", "val", "test", seed=seed)
        expected.append(accuracy(tables["id_val"]) - accuracy(tables["test"]))
        folders.append(
            run_folder(f"r{seed}", tables, seed=seed, seen=["hospital_0"], selection=VAL)
        )
    found = compare(folders)
    assert list(found["splits"]) == ["test"]
    assert {r["split"] for r in found["rows"]} == {"test"}
    (gap,) = [g for g in found["gaps"] if g["metric"] == "accuracy"]
    assert (gap["seen"], gap["note"]) == ("id_val", None)
    assert gap["value"] == pytest.approx(np.mean(expected), abs=1e-12)
    assert gap["low"] < gap["value"] < gap["high"]
