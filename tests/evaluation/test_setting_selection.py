"""Each rule chooses what a plain loop over all evaluations of all settings chooses."""

import itertools

import numpy as np
import pytest

from medldr.evaluation.setting_selection import (
    CROSS,
    ORACLE_ANY,
    ORACLE_LAST,
    RULES,
    VALIDATION,
    Evaluated,
    Missing,
    Trained,
    choose,
    choose_per_seed,
)

DOMAINS = ("art", "cartoon", "photo", "sketch")
SETTINGS = ("one", "two", "three")
STEPS = (1, 100, 200, 300)


def made(seeds=(0,), places=20, without=()):
    """Runs with numbers on a coarse grid, which makes ties occur; also some with two held out."""
    rng = np.random.default_rng(places)
    runs = []
    held = [(d,) for d in DOMAINS] + list(itertools.combinations(DOMAINS, 2))
    for setting, seed, domains in itertools.product(SETTINGS, seeds, held):
        points = []
        for step in STEPS:
            val, *numbers = rng.integers(0, places, 1 + 2 * len(domains)) / places
            parts = np.array(numbers).reshape(2, -1)
            inside, outside = (dict(zip(domains, part.tolist(), strict=True)) for part in parts)
            points.append(Evaluated(step, float(val), inside, outside))
        there = (setting, seed, domains) not in without
        runs.append(Trained(setting, seed, frozenset(domains), tuple(points) if there else ()))
    return runs


def named(runs, target):
    found = choose(runs, target, DOMAINS)
    assert [choice.rule for choice in found] == list(RULES)
    return {choice.rule: choice for choice in found}


def of(runs, setting, seed, *domains):
    return next(
        r for r in runs
        if (r.setting, r.seed, r.held_out) == (setting, seed, frozenset(domains))
    )  # fmt: skip


@pytest.mark.parametrize("target", DOMAINS)
@pytest.mark.parametrize("places", [4, 1000])
def test_one_seed_chooses_the_highest_record_of_all_and_the_first_of_equals(target, places):
    runs = made(places=places)
    best = dict.fromkeys((VALIDATION, ORACLE_LAST, ORACLE_ANY, CROSS), (-1.0, None, None, None))
    for setting in SETTINGS:
        run = of(runs, setting, 0, target)
        for number, point in enumerate(run.evaluated):
            others = [d for d in DOMAINS if d != target]
            cross = 0.0
            for other in others:
                pair = of(runs, setting, 0, target, other)
                cross += pair.evaluated[number].target_in[other] / len(others)
            scores = {VALIDATION: point.val, ORACLE_ANY: point.target_out[target], CROSS: cross}
            if number == len(STEPS) - 1:
                scores[ORACLE_LAST] = point.target_out[target]
            for rule, score in scores.items():
                if score > best[rule][0] + 1e-12:
                    best[rule] = (score, setting, point.step, point.target_in[target])
    for rule, choice in named(runs, target).items():
        _, setting, step, value = best[rule]
        assert (choice.setting, choice.steps[0], choice.values[0]) == (setting, step, value), rule
        assert choice.missing == ()


def test_of_several_seeds_the_mean_chooses_one_setting_and_each_seed_keeps_its_evaluation():
    runs = made(seeds=(0, 1, 2), places=1000)
    choice = named(runs, "photo")[VALIDATION]
    means = {
        setting: np.mean([max(p.val for p in of(runs, setting, s, "photo").evaluated)
                          for s in (0, 1, 2)])
        for setting in SETTINGS
    }  # fmt: skip
    assert choice.setting == max(means, key=means.get)
    for seed in (0, 1, 2):
        points = of(runs, choice.setting, seed, "photo").evaluated
        best = points[int(np.argmax([p.val for p in points]))]
        assert choice.steps[seed] == best.step
        assert choice.values[seed] == best.target_in["photo"]
    assert len(set(choice.steps.values())) > 1


def test_a_setting_that_lacks_a_seed_is_no_candidate_and_its_run_is_named():
    runs = made(seeds=(0, 1), places=1000)
    first = named(runs, "photo")[ORACLE_ANY].setting
    runs = made(seeds=(0, 1), places=1000, without={(first, 1, ("photo",))})
    choice = named(runs, "photo")[ORACLE_ANY]
    assert choice.setting not in (None, first)
    assert choice.missing == (Missing(frozenset(["photo"]), first, 1),)


def test_cross_validation_names_the_pairs_it_lacks_and_chooses_among_the_others():
    runs = made(without={("one", 0, ("art", "photo"))})
    choice = named(runs, "photo")[CROSS]
    assert choice.missing == (Missing(frozenset(["art", "photo"]), "one", 0),)
    assert choice.setting in ("two", "three")
    assert named(runs, "sketch")[CROSS].missing == ()


def test_without_any_pair_cross_validation_chooses_nothing_and_names_every_run():
    runs = [run for run in made() if len(run.held_out) == 1]
    choice = named(runs, "photo")[CROSS]
    assert choice.setting is None
    assert choice.numbers == []
    assert len(choice.missing) == 3 * len(SETTINGS)
    assert Missing(frozenset(["cartoon", "photo"]), "two", 0) in choice.missing


def test_the_two_oracles_differ_where_a_run_gets_worse():
    points = (Evaluated(1, 0.5, {"a": 0.7}, {"a": 0.9}), Evaluated(2, 0.6, {"a": 0.4}, {"a": 0.3}))
    other = (Evaluated(1, 0.1, {"a": 0.2}, {"a": 0.1}), Evaluated(2, 0.2, {"a": 0.5}, {"a": 0.4}))
    runs = [Trained(n, 0, frozenset("a"), p) for n, p in (("up", points), ("low", other))]
    choice = {c.rule: c for c in choose(runs, "a", ["a", "b"])}
    assert (choice[ORACLE_LAST].setting, choice[ORACLE_LAST].values) == ("low", {0: 0.5})
    assert (choice[ORACLE_ANY].setting, choice[ORACLE_ANY].values) == ("up", {0: 0.7})


def test_how_the_last_weights_were_scored_goes_before_the_curve():
    points = (Evaluated(1, 0.5, {"a": 0.7}, {"a": 0.9}),)
    last = Evaluated(5, None, {"a": 0.25}, {"a": 0.3})
    (choice,) = [
        c for c in choose([Trained("", 0, frozenset("a"), points, last)], "a", ["a", "b"])
        if c.rule == ORACLE_LAST
    ]  # fmt: skip
    assert (choice.steps, choice.numbers) == ({0: 5}, [0.25])


def sparse(best=None, last=None):
    """A run of four evaluations, two of which alone were scored on the target at the end."""
    seen = {20: {"a": 0.7}, 40: {"a": 0.6}}
    points = [Evaluated(s, 0.5, seen.get(s, {}), seen.get(s, {})) for s in (10, 20, 30, 40)]
    return Trained("", 0, frozenset("a"), (*points, Evaluated(50, None, {"a": 0.9}, {"a": 0.9})),
                   last, best)  # fmt: skip


def test_an_oracle_of_any_step_must_have_seen_every_step():
    choice = {c.rule: c for c in choose([sparse()], "a", ["a", "b"])}
    assert choice[ORACLE_ANY].setting is None
    assert choice[ORACLE_ANY].missing == (Missing(frozenset("a"), "", 0),)


def test_weights_that_the_target_s_part_chose_stand_for_the_oracle_of_any_step():
    best = Evaluated(30, None, {"a": 0.65}, {"a": 0.8})
    choice = {c.rule: c for c in choose([sparse(best)], "a", ["a", "b"])}
    assert (choice[ORACLE_ANY].steps, choice[ORACLE_ANY].numbers) == ({0: 30}, [0.65])


def test_without_last_weights_scored_the_last_evaluation_stands_for_them():
    choice = {c.rule: c for c in choose([sparse()], "a", ["a", "b"])}
    assert (choice[ORACLE_LAST].steps, choice[ORACLE_LAST].numbers) == ({0: 40}, [0.6])


def test_what_was_chosen_but_never_scored_on_the_target_has_no_number():
    run = Trained("", 0, frozenset("a"), (Evaluated(1, 0.5),))
    choice = choose([run], "a", ["a", "b"])[0]
    assert (choice.steps, choice.values, choice.numbers) == ({0: 1}, {0: None}, [])


@pytest.mark.parametrize("target", DOMAINS)
def test_where_each_seed_has_its_settings_each_chooses_as_if_it_were_alone(target):
    lost = ("two", 1, (target,))
    runs = made(seeds=(0, 1, 2), places=1000, without=[lost])
    together = choose_per_seed(runs, target, DOMAINS)
    for number, found in enumerate(together):
        each = {
            seed: choose([run for run in runs if run.seed == seed], target, DOMAINS)[number]
            for seed in (0, 1, 2)
        }
        assert found.rule == RULES[number]
        assert found.values == {seed: one.values[seed] for seed, one in each.items()}
        assert found.steps == {seed: one.steps[seed] for seed, one in each.items()}
        settings = [one.setting for one in each.values()]
        assert found.setting == " / ".join(settings if len(set(settings)) > 1 else settings[:1])
        assert Missing(frozenset([target]), "two", 1) in found.missing


def test_a_seed_without_any_result_leaves_no_choice():
    runs = made((0, 1), without=[(setting, 1, ("art",)) for setting in SETTINGS])
    found = choose_per_seed(runs, "art", DOMAINS)
    assert [choice.setting for choice in found] == [None] * len(RULES)
    assert all(len(choice.missing) >= 3 for choice in found)
