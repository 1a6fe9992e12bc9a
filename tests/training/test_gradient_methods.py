"""Whole runs of MLDG, Fishr and MIRO: their first weights, resuming, and what weight 0 is."""

import pytest
import torch

from medldr.errors import InputError
from medldr.folders.files import load_tensors
from medldr.folders.lifecycle import Interrupted

PLAN = {
    "model": {"name": "resnet18", "width": 0.125},
    "training.momentum": 0.9,
    "training.epochs": 2,
    "training.lr": 0.05,
}
METHODS = {
    "mldg": {"name": "mldg"},
    "mldg, second order": {"name": "mldg", "order": "second", "inner": "sgd"},
    "fishr": {"name": "fishr", "anneal_steps": 3, "weight": 100.0},
    "miro": {"name": "miro"},
    "latentdr on miro": {"name": "latentdr", "base": {"name": "miro"}},
}


@pytest.fixture
def first(train):
    """A run of ERM to start from."""
    return train({**PLAN, "training.epochs": 1, "seed": 5}, "first")


@pytest.mark.parametrize("name", ["miro", "latentdr on miro"])
def test_the_frozen_copy_is_of_the_weights_that_training_starts_from(name, train, first):
    start = {"training.init_from": str(first.folder.path)}
    run = train({**PLAN, **start, "algorithm": METHODS[name]}, "second")
    own = getattr(run.algorithm, "base", run.algorithm)
    given = load_tensors(first.folder.model)
    for key, value in own.frozen.state_dict().items():
        assert torch.equal(value, given[key]), key
    assert not torch.equal(run.model.head.weight, given["head.weight"])
    assert not any("miro keeps feature maps" in note for note in run.fitted.notes)


@pytest.mark.parametrize("name", ["miro", "latentdr on miro"])
def test_random_first_weights_are_copied_and_warned_of(name, train, parts_of, make_config):
    changes = {**PLAN, "training.epochs": 1, "algorithm": METHODS[name]}
    given = parts_of(make_config(changes)).model.state_dict()
    run = train(changes, "run")
    own = getattr(run.algorithm, "base", run.algorithm)
    assert all(torch.equal(v, given[k]) for k, v in own.frozen.state_dict().items())
    assert any("miro keeps feature maps" in note for note in run.fitted.notes)


@pytest.mark.slow  # five runs for each method
@pytest.mark.parametrize("name", METHODS)
def test_stopped_and_resumed_equals_an_unbroken_run(name, train, first, rows_of, stop_after):
    changes = {**PLAN, "algorithm": METHODS[name]}
    if "miro" in name:
        changes["training.init_from"] = str(first.folder.path)
    whole = train(changes, "whole")
    for stop in (1, 3):
        with stop_after(stop), pytest.raises(Interrupted):
            train(changes, f"stop{stop}")
        resumed = train(changes, f"stop{stop}")
        assert rows_of(resumed.folder) == rows_of(whole.folder)
        assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()
        state = whole.algorithm.state_dict()
        for key, value in resumed.algorithm.state_dict().items():
            assert torch.equal(value, state[key]), key


def test_with_weight_0_the_weights_are_those_of_erm_bit_for_bit(train):
    plan = {**PLAN, "training.precision": "float32", "training.epochs": 1}
    erm = train(plan, "erm").folder.model.read_bytes()
    own = train({**plan, "algorithm": {"name": "miro", "weight": 0}}, "miro")
    assert own.folder.model.read_bytes() == erm
    blocks = train({**plan, "training.sampler": "domains"}, "blocks").folder.model.read_bytes()
    nothing = {"name": "fishr", "weight": 0, "anneal_steps": 2}
    assert train({**plan, "algorithm": nothing}, "fishr").folder.model.read_bytes() == blocks
    assert blocks != erm


def test_what_second_order_cannot_work_in_is_refused_before_the_first_step(train):
    changes = {**PLAN, "algorithm": METHODS["mldg, second order"]}
    with pytest.raises(InputError, match=r"cannot be compiled.*machine\.compile: false"):
        train({**changes, "machine.compile": True}, "compiled")


def test_the_last_step_of_a_run_may_be_the_first_with_the_whole_weight(train):
    plan = {**PLAN, "training.sampler": "domains", "training.steps": 4, "training.epochs": None}
    notes, weights = {}, {}
    for anneal in (3, 4):
        keys = {"name": "fishr", "weight": 1e4, "anneal_steps": anneal, "reset_optimizer": False}
        run = train({**plan, "algorithm": keys}, f"fishr{anneal}")
        notes[anneal] = [note for note in run.fitted.notes if "anneal_steps" in note]
        weights[anneal] = run.model.head.weight
    erm = train(plan, "erm").model.head.weight
    assert (torch.equal(weights[4], erm), len(notes[4])) == (True, 1)
    assert (torch.equal(weights[3], erm), len(notes[3])) == (False, 0)
