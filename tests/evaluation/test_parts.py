"""The parts of held-out domains are scored like a split of their own."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, roc_auc_score

from medldr.config import EvaluationConfig
from medldr.evaluation import evaluate
from medldr.evaluation.split_scores import headline_metrics

CONFIG = EvaluationConfig(draws=300, bootstrap_seed=5)
PARTS = ["target_in"] * 4 + ["target_out"]


@pytest.fixture
def test_table(make):
    """Sixty items of two held-out domains, 80 % of which are in."""
    return make(n=60, domain=["x", "y"] * 30, part=PARTS * 12)


def test_each_part_has_its_own_numbers(test_table):
    parts = evaluate({"test": test_table}, CONFIG)["splits"]["test"]["parts"]
    assert list(parts) == ["target_in", "target_out"]
    for name, items in (("target_in", 48), ("target_out", 12)):
        rows = np.array(PARTS * 12) == name
        label, prob = test_table.label[rows], test_table.prob[rows]
        decided = prob.argmax(axis=1)
        expected = {
            "accuracy": accuracy_score(label, decided),
            "balanced_accuracy": balanced_accuracy_score(label, decided),
            "macro_f1": f1_score(label, decided, average="macro"),
            "auc": roc_auc_score(label, prob, multi_class="ovr"),
        }
        assert parts[name]["items"] == items
        assert set(parts[name]["metrics"]) == set(headline_metrics("multi-class"))
        for metric, value in expected.items():
            assert parts[name]["metrics"][metric]["value"] == pytest.approx(value, abs=1e-12)


def test_intervals_come_from_draws_of_the_items_of_the_part(test_table):
    parts = evaluate({"test": test_table}, CONFIG)["splits"]["test"]["parts"]
    for name in ("target_in", "target_out"):
        rows = np.flatnonzero(np.array(PARTS * 12) == name)
        # Items are drawn in the order of their names.
        rows = rows[np.argsort(test_table.id[rows])]
        right = test_table.prob[rows].argmax(axis=1) == test_table.label[rows]
        generator = np.random.default_rng([5, zlib.crc32(f"test/{name}".encode())])
        drawn = right[generator.integers(0, len(rows), (300, len(rows)))].mean(axis=1)
        low, high = np.percentile(drawn, [2.5, 97.5])
        if min(right.sum(), (~right).sum()) < 10:
            low, high = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
        found = parts[name]["metrics"]["accuracy"]
        assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-12)


def test_whole_groups_are_drawn(make):
    groups = [f"p{n // 5}" for n in range(60)]
    table = make(
        n=60, domain=["x"] * 60, group=groups, part=(["target_in"] * 45 + ["target_out"] * 15)
    )
    found = evaluate({"test": table}, CONFIG)["splits"]["test"]["parts"]["target_in"]
    right = (table.prob.argmax(axis=1) == table.label)[:45].reshape(9, 5).sum(axis=1)
    generator = np.random.default_rng([5, zlib.crc32(b"test/target_in")])
    drawn = right[generator.integers(0, 9, (300, 9))].sum(axis=1) / 45
    error = (drawn.var() * 9 / 8) ** 0.5
    low, high = right.sum() / 45 + student.ppf([0.025, 0.975], 8) * error
    accuracy = found["metrics"]["accuracy"]
    assert (accuracy["low"], accuracy["high"]) == pytest.approx((low, min(high, 1)), abs=1e-12)


def test_the_numbers_of_the_whole_split_do_not_change_by_its_parts(test_table):
    plain = replace(test_table, part=np.full(60, ""))
    one, other = (evaluate({"test": t}, CONFIG) for t in (test_table, plain))
    assert "parts" not in other["splits"]["test"]
    del one["splits"]["test"]["parts"]
    assert one == other


def test_an_undefined_number_of_a_part_says_why(make):
    table = make("binary", n=10, part=["target_in"] * 9 + ["target_out"])
    parts = evaluate({"test": table}, CONFIG)["splits"]["test"]["parts"]
    auc = parts["target_out"]["metrics"]["auc"]
    assert (auc["value"], auc["reason"]) == (None, "only one class in the labels")
