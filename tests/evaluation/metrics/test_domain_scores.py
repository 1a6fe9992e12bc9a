"""Means over domains give every domain the same weight, as scikit-learn per domain does."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from medldr.evaluation import domain_means, held_out_curves, score

DOMAINS = ["a"] * 40 + ["b"] * 15 + ["c"] * 5


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal"])
def test_every_domain_weighs_the_same(make, task):
    table = make(task, n=60, domain=DOMAINS)
    accuracies, losses = [], []
    for name in "abc":
        rows = np.array(DOMAINS) == name
        label, prob = table.label[rows], table.prob[rows]
        accuracies.append(accuracy_score(label, prob.argmax(axis=1)))
        losses.append(log_loss(label, prob, labels=range(prob.shape[1])))
    found = domain_means(table)
    assert found["domain_accuracy"] == pytest.approx(np.mean(accuracies), abs=1e-12)
    assert found["domain_loss"] == pytest.approx(np.mean(losses), abs=1e-12)
    assert abs(found["domain_accuracy"] - score(table)["accuracy"]) > 1e-3


def test_several_labels_are_averaged_within_a_domain_first(make):
    table = make("multi-label", n=60, missing=0.3, domain=DOMAINS)
    accuracies, losses = [], []
    for name in "abc":
        per_label = []
        for k in range(3):
            label = table.label[np.array(DOMAINS) == name, k]
            prob = table.prob[np.array(DOMAINS) == name, k]
            known = ~np.isnan(label)
            right = accuracy_score(label[known], prob[known] > 0.5)
            per_label.append((right, log_loss(label[known], prob[known], labels=[0, 1])))
        accuracy, loss = np.mean(per_label, axis=0)
        accuracies.append(accuracy)
        losses.append(loss)
    found = domain_means(table)
    assert found["domain_accuracy"] == pytest.approx(np.mean(accuracies), abs=1e-12)
    assert found["domain_loss"] == pytest.approx(np.mean(losses), abs=1e-12)


def test_one_domain_has_the_scores_of_the_split(make):
    table = make(n=30, domain=["a"] * 30)
    found, whole = domain_means(table), score(table)
    assert found["domain_accuracy"] == pytest.approx(whole["accuracy"], abs=1e-12)
    assert found["domain_loss"] == pytest.approx(whole["loss"], abs=1e-12)


def test_without_domains_there_is_no_mean_and_rows_without_one_do_not_count(make):
    assert domain_means(make(n=10)) == {}
    table = make(n=60, domain=[*DOMAINS[:55], *[""] * 5])
    named = table.select(np.arange(60) < 55)
    assert domain_means(table) == domain_means(named)


def test_outputs_that_are_not_finite_leave_the_means_undefined(make):
    table = make(n=60, domain=DOMAINS)
    table.prob[59] = np.nan
    assert domain_means(table) == {"domain_accuracy": None, "domain_loss": None}


def test_each_held_out_domain_and_each_part_has_a_curve(make):
    parts = ["target_in", "target_in", "target_out", "target_in", "target_in"] * 8
    table = make(n=40, domain=["x", "y"] * 20, part=parts)
    found = held_out_curves(table)
    expected = {}
    right = table.prob.argmax(axis=1) == table.label
    for name in "xy":
        of_domain = np.array(["x", "y"] * 20) == name
        expected[f"held_out/{name}/accuracy"] = right[of_domain].mean()
        for part in ("target_in", "target_out"):
            rows = of_domain & (np.array(parts) == part)
            expected[f"held_out/{name}/{part}/accuracy"] = right[rows].mean()
    assert found == pytest.approx(expected, abs=1e-12)
