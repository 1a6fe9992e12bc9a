"""Gains pooled over data sets: what goes in, and what must not."""

from dataclasses import replace

import pytest

from medldr.evaluation.intervals.random_effects import random_effects
from medldr.reporting.results.averages import average_differences
from medldr.reporting.results.gains import Compared, pooled

HELPS = {"dermamnist": 0.1, "octmnist": 0.02, "bloodmnist": -0.03}


def value(row, column, _place, seed):
    return 0.5 + 0.01 * seed + (HELPS.get(column, 0.04) if row == "latentdr" else 0.0)


def of_set(data=None, held=()):
    return lambda _, column, __: {"data": {"flag": data or column, "held_out": list(held)}}


def pool(*made):
    return pooled([Compared(*each) for each in made], "accuracy", "test")


def test_each_data_set_is_one_effect_with_its_standard_error(in_memory):
    made = in_memory(["erm", "latentdr", "mixup"], list(HELPS), value, config=of_set(),
                     controls=("mixup",))  # fmt: skip
    latentdr, mixup = pool(made)
    assert (latentdr.method, latentdr.reference, latentdr.over) == ("latentdr", "erm", "data sets")
    assert [effect.name for effect in latentdr.effects] == list(HELPS)
    assert [e.estimate.mean for e in latentdr.effects] == pytest.approx(list(HELPS.values()))
    wanted = 0.0004 + 2 * 0.0001 / 3  # of test images, and of three seeds of both methods
    assert [e.error**2 for e in latentdr.effects] == pytest.approx([wanted] * 3)
    summary = random_effects(list(HELPS.values()), [wanted**0.5] * 3)
    assert latentdr.summary.mean == pytest.approx(summary.mean)
    assert (latentdr.summary.low, latentdr.summary.high) == pytest.approx(
        (summary.low, summary.high)
    )
    assert latentdr.estimate.mean == latentdr.summary.mean
    assert (latentdr.control, mixup.control) == (False, True)
    assert not any(effect.few_seeds for effect in latentdr.effects)


def test_held_out_domains_are_one_data_set_among_others(in_memory):
    held = {"p": ("pacs", ["photo"]), "s": ("pacs", ["sketch"]), "v": ("vlcs", ["VOC"])}
    made = in_memory(["erm", "latentdr"], list(held), value,
                     config=lambda _, c, __: of_set(*held[c])(_, c, __))  # fmt: skip
    (found,) = pool(made)
    assert found.over == "data sets"
    assert [effect.name for effect in found.effects] == ["pacs", "v"]
    (average,) = [average_differences(made[0], made[1][:2], "accuracy", "test")["latentdr"]]
    assert found.effects[0].estimate == average.estimate
    assert found.summary.few
    assert found.summary.predicted is None


def test_domains_are_pooled_where_there_is_one_data_set(in_memory):
    held = {"p": "photo", "s": "sketch", "c": "cartoon"}
    made = in_memory(["erm", "latentdr"], list(held), value,
                     config=lambda _, c, __: of_set("pacs", [held[c]])(_, c, __))  # fmt: skip
    (found,) = pool(made)
    assert found.over == "domains"
    assert [effect.name for effect in found.effects] == list(held.values())
    assert len(found.summary.weights) == 3


def test_the_same_test_images_are_never_pooled(in_memory):
    """Several sizes of a batch are one data set, and so are two sweeps of it."""
    sizes = in_memory(["erm", "latentdr"], ["4", "8", "16"], value, config=of_set("octmnist"))
    assert pool(sizes) == []
    others = in_memory(["erm", "latentdr"], ["dermamnist", "bloodmnist", "octmnist"], value,
                       config=of_set())  # fmt: skip
    (found,) = pool(others, sizes)
    assert [effect.name for effect in found.effects] == ["dermamnist", "bloodmnist"]
    assert found.left_out == ("octmnist", "4", "8", "16")


def test_a_method_that_lacks_runs_of_a_data_set_is_not_pooled_there(in_memory):
    made = in_memory(["erm", "latentdr"], list(HELPS), value, config=of_set(),
                     without=[("latentdr", "octmnist", 1)])  # fmt: skip
    (found,) = pool(made)
    assert [effect.name for effect in found.effects] == ["dermamnist", "bloodmnist"]


def test_single_seeds_are_pooled_and_marked(in_memory):
    made = in_memory(["erm", "latentdr"], list(HELPS), value, config=of_set(), seeds=(0,))
    (found,) = pool(made)
    assert all(effect.few_seeds for effect in found.effects)
    assert [effect.error for effect in found.effects] == pytest.approx([0.02] * 3)


def test_no_end_is_beyond_the_largest_difference(in_memory):
    """With two gains the interval is wide, but no accuracy can change by more than 1."""
    made = in_memory(["erm", "latentdr"], ["dermamnist", "bloodmnist"],
                     lambda r, c, _, s: 0.5 + (0.4 if c[0] == "d" else -0.4) * (r == "latentdr"),
                     config=of_set())  # fmt: skip
    (found,) = pool(made)
    assert found.summary.high > 1
    assert (found.estimate.low, found.estimate.high, found.predicted) == (-1, 1, None)


def test_gains_of_runs_that_no_p_would_describe_are_not_pooled(in_memory):
    study, columns = in_memory(["erm", "latentdr"], list(HELPS), value, config=of_set())
    barred = [replace(c, comparison=c.comparison.without_tests("pooled folds")) for c in columns]
    assert pool((study, columns))
    assert pool((study, barred)) == []
