"""A run that was stopped anywhere ends as one that was left alone, bit for bit."""

import pytest
import torch

from medldr.folders.files import load_checkpoint
from medldr.folders.lifecycle import Interrupted

EVERYTHING = {
    "training.optimizer": "adam",
    "training.lr": 0.01,
    "training.schedule": "cosine",
    "training.warmup": 1,
    "training.averaging": {"name": "ema", "decay": 0.8},
    "training.clip_norm": 0.5,
    "training.select": ("val_auc", "val_loss", "last"),
    "algorithm": {"name": "latentdr", "degrade": "pool", "lr_scale": 0.7},
}
PLANS = {
    "epochs": {"training.epochs": 3, **EVERYTHING},
    "steps": {"training.steps": 11, "training.evaluate_every": 4, **EVERYTHING},
    "sgd": {
        "training.epochs": 3,
        "training.momentum": 0.9,
        "training.sampler": "weighted",
        "training.precision": "bfloat16",
        "training.milestones": (1, 2),
        "training.accumulate": 2,
        "training.evaluate_every": 2,
        "model.batch_norm": "frozen",
    },
    "warm-up of the head, mean of the weights": {
        "training.steps": 11,
        "training.evaluate_every": 4,
        **EVERYTHING,
        "training.warmup": 0,
        "training.warmup_head": 5,
        "training.averaging": {"name": "mean", "start": 4},
    },
}


def state_of(folder):
    """Every tensor and number of the last checkpoint, except the wall clock."""
    saved = load_checkpoint(folder.last)
    saved["position"].pop("seconds")
    for row in saved["shared"]["history"]["rows"]:
        row.pop("time_s")
    return saved


def assert_equal(one, other, where="state"):
    assert type(one) is type(other), where
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, where
        assert torch.equal(one, other), where
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_equal(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_equal(a, b, f"{where}/{number}")
    else:
        assert one == other, where


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(
    "stops",
    [pytest.param((4, 7), id="two steps"), pytest.param(None, id="all", marks=pytest.mark.slow)],
)
def test_stopped_at_any_step_and_resumed_equals_an_unbroken_run(
    plan, stops, train, rows_of, stop_after
):
    changes = PLANS[plan]
    whole = train(changes, "whole")
    total = whole.fitted.steps
    assert total == PLANS[plan].get("training.steps", 15)
    for stop in stops or range(1, total):
        with stop_after(stop), pytest.raises(Interrupted) as caught:
            train(changes, f"stop{stop}")
        assert caught.value.signum == 15
        assert caught.value.resumable
        torch.rand(3)  # what happens in between must not matter
        resumed = train(changes, f"stop{stop}")
        assert rows_of(resumed.folder) == rows_of(whole.folder), stop
        assert_equal(state_of(resumed.folder), state_of(whole.folder), f"stop {stop}")
        for rule in whole.fitted.selections:
            ours = resumed.folder.selected(rule).read_bytes()
            assert ours == whole.folder.selected(rule).read_bytes(), (stop, rule)
        assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes(), stop
