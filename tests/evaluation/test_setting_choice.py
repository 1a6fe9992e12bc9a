"""One setting is chosen by validation alone; ties are broken by rule, and a gap is no candidate."""

import pytest

from medldr.evaluation.setting_choice import Trial, choose, choose_setting


def log(value, key="val/accuracy"):
    return [{"step": 1, key: value - 0.1}, {"step": 2, key: value}]


def test_the_highest_mean_over_seeds_is_chosen_and_a_setting_without_a_seed_cannot_win():
    values = {"a": {0: 0.7, 1: 0.8}, "b": {0: 0.99, 1: None}, "c": {0: 0.6, 1: 0.95}}
    assert choose_setting(values) == ("c", ())
    assert choose_setting({"a": {0: None}, "b": {0: None}}) == (None, ())


def test_of_equal_means_the_fewest_changes_win_then_the_lower_number():
    values = {n: {0: 0.7, 1: 0.9} for n in range(3)} | {3: {0: 0.8, 1: 0.8}}
    assert choose_setting(values, {0: 0, 1: 3, 2: 1, 3: 1}) == (0, (1, 2, 3))
    del values[0]
    assert choose_setting(values, {1: 3, 2: 1, 3: 1}) == (2, (1, 3))
    assert choose_setting(values) == (1, (2, 3))


def test_changes_are_counted_in_keys_of_the_first_draw():
    keys = {"d00": {"lr": 1, "wd": 1, "p": 1}, "d01": {"lr": 2, "wd": 2, "p": 1},
            "d02": {"lr": 1, "wd": 3, "p": 1}}  # fmt: skip
    trials = [
        Trial(f"{name}-s{seed}", (name,), seed, keys[name], log(0.5 if name == "d00" else 0.8))
        for seed in (0, 1)
        for name in keys
    ]
    choice = choose("erm", "derma", trials)
    assert (choice.setting, choice.tied, choice.by) == (
        ("d02",), (("d01",),), "accuracy on the validation split",
    )  # fmt: skip
    assert choice.tried[1].runs == ("d01-s0", "d01-s1")
    assert choice.tried[1].values == {0: 0.8, 1: 0.8}


def test_where_each_seed_draws_every_draw_of_every_seed_is_a_candidate():
    drawn = {("d00", 0): 1, ("d00", 1): 1, ("d01", 0): 2, ("d01", 1): 3}
    reached = {("d00", 0): 0.9, ("d00", 1): 0.6, ("d01", 0): 0.7, ("d01", 1): 0.8}
    trials = [
        Trial(f"{name}-s{seed}", (name,), seed, {"lr": value}, log(reached[name, seed]))
        for (name, seed), value in drawn.items()
    ]
    choice = choose("erm", "derma", trials)
    assert (choice.setting, choice.seed) == (("d01",), 1)
    assert [(each.setting, dict(each.values)) for each in choice.tried] == [
        (("d00",), {0: 0.9, 1: 0.6}), (("d01",), {0: 0.7}), (("d01",), {1: 0.8}),
    ]  # fmt: skip


def test_a_seed_of_several_folds_counts_by_their_mean_and_a_lost_fold_excludes_the_setting():
    def folds(name, *values):
        logs = [None if value is None else log(value) for value in values]
        return [Trial(f"{name}-{n}", (name,), 0, {"lr": name}, of) for n, of in enumerate(logs)]

    choice = choose(
        "erm", "x", [*folds("a", 0.6, 0.7), *folds("b", 0.5, 0.9), *folds("c", 1, None)]
    )
    assert choice.setting == ("b",)
    assert choice.tried[1].values[0] == pytest.approx(0.7)
    assert choice.incomplete == (("c",),)


def test_the_domains_mean_is_read_where_every_run_logged_it():
    key = "val/domain_accuracy"
    trials = [
        Trial("a", ("a",), 0, {}, [{key: 0.6, "val/accuracy": 0.9}]),
        Trial("b", ("b",), 0, {}, [{key: 0.7, "val/accuracy": 0.8}]),
    ]
    assert choose("erm", "x", trials).setting == ("b",)
    assert choose(
        "erm", "x", [trials[0], trials[1]._replace(log=[{"val/accuracy": 0.8}])]
    ).setting == ("a",)
    assert choose("erm", "x", [trial._replace(log=[]) for trial in trials]).setting is None
