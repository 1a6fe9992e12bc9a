"""Means over domains give every domain the same weight, as scikit-learn per domain does."""

import numpy as np
import pytest

from medldr.evaluation import domain_means, held_out_curves, score

DOMAINS = ["a"] * 40 + ["b"] * 15 + ["c"] * 5


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
