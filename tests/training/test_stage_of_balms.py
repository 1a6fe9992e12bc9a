"""BALMS in a stage of its own: the classifier and the rates of classes, on frozen latents."""

import pytest
import torch

from medldr.errors import InputError
from medldr.folders.lifecycle import Interrupted

STAGE = {"name": "retrain_head", "steps": 6, "lr": 0.1, "algorithm": {"name": "balms"}}
CHANGES = {
    "training.epochs": 1,
    "training.select": ("last",),
    "algorithm": {"name": "erm", "loss": "balanced_softmax"},
}


def with_stage(**changes):
    return {**CHANGES, "training.stages": [{**STAGE, **changes}]}


def test_a_run_stopped_in_it_equals_an_unbroken_one(train, rows_of, stop_after):
    whole = train(with_stage(), "whole")
    stop = whole.fitted.steps - 3
    with stop_after(stop), pytest.raises(Interrupted):
        train(with_stage(), "stopped")
    torch.rand(3)
    resumed = train(with_stage(), "stopped")
    assert rows_of(resumed.folder) == rows_of(whole.folder)
    assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()


def test_a_whole_run_may_have_it(train):
    found = train({"training.steps": 4, "algorithm": {"name": "balms"}}, "run")
    assert found.fitted.facts["sampler"] == "weighted"
    assert found.fitted.steps == 4


def test_another_sampler_is_refused_before_the_first_stage(train, tmp_path):
    with pytest.raises(InputError, match="shuffle does not balance the classes"):
        train(with_stage(sampler="shuffle"), "refused")
    assert not list(tmp_path.glob("**/last.ckpt"))
