"""The bootstrap: what is drawn, how sure the interval is, p and Holm's correction."""

import numpy as np
import pytest

from medldr.evaluation import predictions_of
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.inference import holm
from medldr.evaluation.metrics.counts import class_counts
from medldr.evaluation.split_scores import SplitScores
from medldr.folders.evaluation_parts import OperatingPoint


def accuracy_draws(hits, group=None):
    """Draws of the accuracy of a binary table whose item ``i`` is right where ``hits[i]``."""
    prob = np.where(np.asarray(hits)[:, None], [0.2, 0.8], [0.8, 0.2])
    table = predictions_of("binary", np.ones(len(hits), dtype=int), prob, group=group)
    unit = bootstrap.units(table)
    counts = class_counts(table.label, table.prob, "binary", 1).by_group(unit.number, unit.count)
    generator = bootstrap.stream(0, "test")
    return bootstrap.resample([("", counts)], unit, draws=300, generator=generator)["accuracy"]


def coverage(truth, simulate, repeats=250):
    rng, inside = np.random.default_rng(0), 0
    for _ in range(repeats):
        low, high = bootstrap.percentiles(simulate(rng))
        inside += low <= truth <= high
    return inside / repeats


@pytest.mark.slow
def test_the_interval_of_an_accuracy_holds_the_truth_as_often_as_it_says():
    found = coverage(0.7, lambda rng: accuracy_draws(rng.random(100) < 0.7))
    assert 0.91 <= found <= 0.98


@pytest.mark.slow
def test_groups_widen_the_interval_where_their_items_agree():
    def patients(rng, grouped):
        hits = np.repeat(rng.random(40) < 0.7, 5)
        return accuracy_draws(hits, [f"p{i // 5}" for i in range(200)] if grouped else None)

    assert coverage(0.7, lambda rng: patients(rng, True)) >= 0.9
    assert coverage(0.7, lambda rng: patients(rng, False)) < 0.75


def test_draws_depend_on_neither_memory_chunks_nor_the_order_of_rows(make, monkeypatch):
    table = make("multi-class", n=30, group=[f"p{i % 11}" for i in range(30)])
    first = SplitScores(table, 15, 1, OperatingPoint(specificity=0.9)).draws(50, 0, "test")
    monkeypatch.setattr(bootstrap, "CHUNK", 100)
    rows = np.random.default_rng(1).permutation(30)
    again = SplitScores(table.select(rows), 15, 1, OperatingPoint(specificity=0.9)).draws(
        50, 0, "test"
    )
    for name in first:
        np.testing.assert_allclose(again[name], first[name], atol=1e-12)


def test_each_draw_takes_as_many_groups_as_there_are():
    chunks = bootstrap.group_weights(7, 300, bootstrap.stream(0, "test"))
    weights = np.concatenate(list(chunks), axis=1)
    assert weights.shape == (7, 300)
    assert (weights.sum(axis=0) == 7).all()
    assert abs(weights.mean() - 1) < 1e-12
    assert 0.75 < weights.var() < 0.97  # multinomial: 1 - 1/7 = 0.857


def test_splits_and_seeds_have_draws_of_their_own():
    def first(*key):
        return next(bootstrap.group_weights(50, 5, bootstrap.stream(*key)))

    assert (first(0, "test") == first(0, "test")).all()
    assert (first(0, "test") != first(0, "id_test")).any()
    assert (first(0, "test") != first(1, "test")).any()


def test_items_without_a_group_are_groups_of_their_own():
    table = predictions_of("binary", [0, 1, 1, 0], np.full((4, 2), 0.5), group=["a", "", "a", ""])
    unit = bootstrap.units(table)
    assert (unit.kind, unit.count) == ("group", 3)
    assert unit.number[0] == unit.number[2]
    assert unit.number[1] != unit.number[3]


def test_an_item_named_like_a_group_does_not_join_it():
    texts = {"ids": ["a", "b"], "group": ["b", ""]}
    table = predictions_of("binary", [0, 1], np.full((2, 2), 0.5), **texts)
    assert bootstrap.units(table).count == 2


@pytest.mark.parametrize(("groups", "few"), [(19, True), (20, False)])
def test_fewer_than_twenty_groups_are_few(groups, few):
    table = predictions_of("binary", [0] * groups, np.full((groups, 2), 0.5))
    assert bootstrap.units(table).few is few


def test_holm_equals_an_example_worked_by_hand():
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1, each at least the one before it.
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005, "e": None})
    assert found == {
        "a": pytest.approx(0.03),
        "b": pytest.approx(0.06),
        "c": pytest.approx(0.06),
        "d": pytest.approx(0.02),
        "e": None,
    }
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
