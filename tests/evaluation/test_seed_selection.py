"""Where each seed has settings of its own, each chooses as if it were alone."""

import itertools

import numpy as np
import pytest

from medldr.evaluation.setting_selection import (
    RULES,
    Evaluated,
    Missing,
    Trained,
    choose,
    choose_per_seed,
)

DOMAINS = ("art", "cartoon", "photo", "sketch")
SETTINGS = ("one", "two", "three")


def evaluated(seeds, without):
    """Runs with random numbers, of each domain and each pair of them held out."""
    rng = np.random.default_rng(7)
    held = [*itertools.combinations(DOMAINS, 1), *itertools.combinations(DOMAINS, 2)]
    runs = []
    for setting, seed, domains in itertools.product(SETTINGS, seeds, held):
        points = []
        for step in (1, 100, 200):
            val, *numbers = rng.random(1 + 2 * len(domains)).tolist()
            inside, outside = numbers[: len(domains)], numbers[len(domains) :]
            points.append(Evaluated(step, val, dict(zip(domains, inside, strict=True)),
                                    dict(zip(domains, outside, strict=True))))  # fmt: skip
        there = (setting, seed, domains) not in without
        runs.append(Trained(setting, seed, frozenset(domains), tuple(points) if there else ()))
    return runs


@pytest.mark.parametrize("target", DOMAINS)
def test_where_each_seed_has_its_settings_each_chooses_as_if_it_were_alone(target):
    lost = ("two", 1, (target,))
    runs = evaluated(seeds=(0, 1, 2), without=[lost])
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
    runs = evaluated(seeds=(0, 1), without=[(setting, 1, ("art",)) for setting in SETTINGS])
    found = choose_per_seed(runs, "art", DOMAINS)
    assert [choice.setting for choice in found] == [None] * len(RULES)
    assert all(len(choice.missing) >= 3 for choice in found)
