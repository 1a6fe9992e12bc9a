"""What is said of a run that is over before the weight of a penalty counts."""

import pytest


@pytest.fixture
def said(standins, run_config):
    """What a method says of a run of 300 steps."""

    def of(name, **keys):
        spec = standins.make_spec()
        algorithm = standins.make_algorithm(name, spec, standins.make_model(spec), **keys)
        return algorithm.check_run(run_config(), processes=1, steps=300)

    return of


@pytest.mark.parametrize(("name", "stays"), [("vrex", 1), ("irm", 1), ("fishr", 0)])
def test_a_run_that_is_over_before_the_switch_is_told_with_the_cure(name, stays, said):
    (note,) = said(name, weight=7.0, anneal_steps=300)
    assert note == (
        f"algorithm {name} uses its weight of 7 from step 301 on (algorithm.anneal_steps), but the "
        f"run has 300 steps: its penalty keeps the weight {stays}. Set algorithm.anneal_steps "
        "below 300"
    )
    assert said(name)  # the defaults are those of long runs


@pytest.mark.parametrize("name", ["vrex", "irm", "fishr"])
@pytest.mark.parametrize("keys", [{"anneal_steps": 299}, {"anneal_steps": 0}, {"weight": 0.0}])
def test_nothing_is_said_where_the_weight_counts_or_is_0(name, keys, said):
    assert said(name, **keys) == []
