"""Gains by domain: in order, with the paired numbers of the comparison."""

from dataclasses import replace

import pytest

from medldr.reporting.results.gains import gains

PLACES = {("test", "d"): False, ("id_test", "a"): True, ("id_test", "b"): True}
HELPS = {("test", "d"): 0.1, ("id_test", "a"): -0.05, ("id_test", "b"): 0.02}


def value(row, _column, place, seed):
    return 0.5 + 0.01 * seed + (HELPS.get(place, 0.0) if row == "latentdr" else 0.0)


def of_set(column, held):
    return {"data": {"name": "domain_folders", "set": column, "held_out": held}}


def test_unseen_domains_come_first_and_the_largest_gain_of_each(in_memory):
    study, columns = in_memory(
        ["erm", "latentdr"], ["one", "two"],
        lambda row, column, place, seed: value(row, column, place, seed) * (1 + (column == "two")),
        config=lambda _, column, __: of_set(column, ["d"]), places=lambda _: PLACES,
    )  # fmt: skip
    found = gains(study, columns, "accuracy")
    assert list(found) == ["latentdr"]
    places = [(g.data, g.domain, g.split, g.unseen) for g in found["latentdr"]]
    assert places == [
        ("two", "d", "test", True), ("one", "d", "test", True), ("two", "b", "id_test", False),
        ("one", "b", "id_test", False), ("one", "a", "id_test", False),
        ("two", "a", "id_test", False),
    ]  # fmt: skip
    first = found["latentdr"][1]
    paired = columns[0].comparison.difference("test", "accuracy", "latentdr", "d")
    assert first.difference is paired
    assert first.difference.estimate.mean == pytest.approx(0.1)
    assert first.difference.seeds == 3


def test_seen_domains_are_together_where_each_domain_is_held_out_once(in_memory):
    """Each domain would be there once as unseen and many times as seen."""
    held = {"p": "photo", "s": "sketch"}
    study, columns = in_memory(
        ["erm", "latentdr"], ["p", "s"], value,
        config=lambda _, column, __: of_set("pacs", [held[column]]),
        places=lambda column: {("test", held[column]): False, ("id_test", "x"): True},
    )  # fmt: skip
    found = [
        (g.domain, g.held_out, g.unseen) for g in gains(study, columns, "accuracy")["latentdr"]
    ]
    assert found[:2] == [("photo", "", True), ("sketch", "", True)]
    assert found[2:] == [(None, "photo", False), (None, "sketch", False)]


def test_data_without_domains_are_one_place(in_memory):
    study, columns = in_memory(["erm", "latentdr"], ["octmnist"], value)
    (gain,) = gains(study, columns, "accuracy")["latentdr"]
    assert (gain.domain, gain.unseen, gain.split) == (None, None, "test")


def test_a_single_seed_has_no_p(in_memory):
    study, columns = in_memory(
        ["erm", "latentdr"], ["one"], value, seeds=(0,), places=lambda _: PLACES
    )
    found = gains(study, columns, "accuracy")["latentdr"]
    assert {(gain.difference.p, gain.difference.seeds) for gain in found} == {(None, 1)}


def test_methods_without_results_or_without_a_reference_have_no_gain(in_memory):
    gone = [("latentdr", "one", seed) for seed in range(3)]
    study, columns = in_memory(["erm", "latentdr"], ["one"], value, without=gone)
    assert gains(study, columns, "accuracy") == {}
    gone = [("erm", "one", seed) for seed in range(3)]
    study, columns = in_memory(["erm", "latentdr"], ["one"], value, without=gone)
    assert gains(study, columns, "accuracy") == {}


def test_of_an_error_less_is_a_larger_gain(in_memory):
    made = in_memory(["erm", "latentdr"], ["one"], value, places=lambda _: PLACES)
    study, (column,) = made
    errors = {
        name: tuple(entry._replace(metric="ece") for entry in getattr(column.comparison, name))
        for name in ("scores", "differences")
    }
    column = replace(column, comparison=replace(column.comparison, **errors))
    found = gains(study, [column], "ece")["latentdr"]
    assert [gain.domain for gain in found] == ["d", "a", "b"]
