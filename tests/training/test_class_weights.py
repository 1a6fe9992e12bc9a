"""Class weights that come in late, as a function of the step alone."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from medldr.config.schema import TrainingConfig
from medldr.folders.lifecycle import Interrupted
from medldr.training.optim import WeightsInTime

LATE = {"kind": "effective_number", "beta": 0.9, "start": 2}
DEFERRED = {"training.class_weights": LATE, "training.epochs": 4, "data.train": 22}


@pytest.fixture
def used(monkeypatch):
    """The class weights at each step of the runs of a test."""
    from medldr.algorithms.erm import ERM

    seen, loss = [], ERM.loss

    def record(self, model, batch):
        seen.append(None if self.class_weights is None else self.class_weights.tolist())
        return loss(self, model, batch)

    monkeypatch.setattr(ERM, "loss", record)
    return seen


def test_ldam_s_weights_come_after_160_epochs():
    weights = torch.ones(3)
    training = TrainingConfig(epochs=200, class_weights={**LATE, "start": 160})
    at = WeightsInTime(weights, training, steps_per_epoch=84)
    assert at(0) is at(160 * 84 - 1) is None
    assert at(160 * 84) is at(200 * 84 - 1) is weights
    by_step = TrainingConfig(steps=200, class_weights={**LATE, "start": 160})
    at = WeightsInTime(weights, by_step, steps_per_epoch=84)
    assert (at(159), at(160)) == (None, weights)


@pytest.mark.parametrize("setting", ["balanced", (1.0, 2.0, 3.0), {"kind": "balanced"}])
def test_without_a_start_they_count_from_the_first_step(setting):
    at = WeightsInTime(torch.ones(3), TrainingConfig(class_weights=setting), 5)
    assert at(0) is not None


def test_they_reach_the_loss_at_that_step(train, used):
    run = train(DEFERRED)
    per_epoch = run.fitted.steps // 4
    counts = np.bincount(np.arange(22) % 3)
    w = 0.1 / (1 - 0.9**counts)
    assert used[: 2 * per_epoch] == [None] * (2 * per_epoch)
    assert len(used) == 4 * per_epoch
    for found in used[2 * per_epoch :]:
        np.testing.assert_allclose(found, w * 3 / w.sum(), rtol=1e-6)
    unweighted = train(DEFERRED | {"training.class_weights": None}, "unweighted")
    rows, plain = run.fitted.history, unweighted.fitted.history
    assert [row["train/loss"] for row in rows[:2]] == [row["train/loss"] for row in plain[:2]]
    assert rows[2]["train/loss"] != plain[2]["train/loss"]


@pytest.mark.parametrize("stop", [10, 11])  # at and after their first step
def test_a_resumed_run_equals_an_unbroken_one(stop, train, used, stop_after, rows_of):
    whole = train(DEFERRED, "whole")
    expected = list(used)
    used.clear()
    with stop_after(stop), pytest.raises(Interrupted):
        train(DEFERRED, "broken")
    resumed = train(DEFERRED, "broken")
    assert used == expected
    assert rows_of(resumed.folder) == rows_of(whole.folder)
    assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()


def test_the_weighted_mean_is_that_of_torch(train):
    run = train(DEFERRED)
    algorithm = run.algorithm
    weights = algorithm.class_weights
    logits, label = torch.randn(8, 3), torch.arange(8) % 3
    expected = functional.cross_entropy(logits, label, weights)
    torch.testing.assert_close(algorithm.classification_loss(logits, label), expected)
