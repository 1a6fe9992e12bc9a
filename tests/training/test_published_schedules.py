"""The learning rates of published long-tail trainings, and where their epochs come from."""

import math

import numpy as np
import pytest

from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.training.optim import Schedule

IF100, IF200 = 10_847, 9_502
"""Training images of CIFAR-100-LT with an imbalance of 100 and of 200."""


def rates(steps_per_epoch=1, **keys):
    """Rate of each epoch of a training, from epoch 1."""
    training = TrainingConfig(**keys)
    schedule = Schedule(training, steps_per_epoch)
    by_epoch = [
        {training.lr * schedule(epoch * steps_per_epoch + step) for step in range(steps_per_epoch)}
        for epoch in range(training.epochs)
    ]
    assert {len(found) for found in by_epoch} == {1}  # a rate lasts a whole epoch
    return {number: found.pop() for number, found in enumerate(by_epoch, start=1)}


BALANCED_SOFTMAX = {
    "lr": 0.1,
    "schedule": "cosine",
    "warmup_from": 0.5,
    "cosine_top": "one_before",
    "cosine_zero": "last",
}


def test_balanced_softmax_on_cifar_100_lt():
    found = rates(steps_per_epoch=3, epochs=591, warmup=37, **BALANCED_SOFTMAX)
    worked = {1: 0.05, 36: 0.098611, 37: 0.1, 314: 0.05}
    assert {epoch: found[epoch] for epoch in worked} == pytest.approx(worked, abs=5e-7)
    assert found[591] == 0
    assert found[37] == max(found.values())
    # Independently: numbers of epochs, from 1, with the peak in the last epoch of warm-up.
    for epoch in range(38, 592):
        done = (epoch - 37) / (591 - 37)
        assert found[epoch] == pytest.approx(0.05 * (1 + math.cos(math.pi * done)), abs=1e-12)
    steps = np.diff([found[epoch] for epoch in range(1, 38)])
    np.testing.assert_allclose(steps, 0.05 / 36, rtol=1e-9)


@pytest.mark.parametrize(("images", "epochs", "warmup"), [(IF100, 591, 37), (IF200, 685, 43)])
def test_iterations_of_balanced_softmax_become_these_epochs(images, epochs, warmup):
    # Its code counts the short last batch here, although training leaves it out.
    batches = math.ceil(images / 512)
    assert math.ceil(13_000 / batches) == epochs
    assert math.ceil(800 / batches) == warmup
    assert images // 512 == batches - 1 == {IF100: 21, IF200: 18}[images]
    found = rates(epochs=epochs, warmup=warmup, **BALANCED_SOFTMAX)
    assert (found[1], found[warmup], found[epochs]) == (0.05, 0.1, 0)


def test_ldam_on_cifar():
    keys = {"lr": 0.1, "epochs": 200, "warmup": 5, "milestones": (160, 180), "gamma": 0.01}
    found = rates(steps_per_epoch=2, **keys)
    worked = {1: 0.02, 2: 0.04, 3: 0.06, 4: 0.08, 5: 0.1, 6: 0.1}
    worked |= {160: 0.1, 161: 0.001, 180: 0.001, 181: 1e-5, 200: 1e-5}
    assert {epoch: found[epoch] for epoch in worked} == pytest.approx(worked, rel=1e-9)


def test_balanced_contrastive_learning_on_imagenet():
    keys = {"lr": 0.1, "epochs": 90, "schedule": "cosine", "cosine_top": "one_before"}
    found = rates(**keys)
    worked = {0: 0.099970, 44: 0.050863, 89: 2.98e-5}  # these count from 0
    assert found[1] == pytest.approx(worked[0], abs=5e-7)
    assert found[45] == pytest.approx(worked[44], abs=5e-7)
    assert found[90] == pytest.approx(worked[89], abs=5e-8)
    warm = rates(**keys, warmup=5)
    for e in range(5, 90):
        expected = 0.05 * (1 + math.cos(math.pi * (e - 5 + 1) / (90 - 5 + 1)))
        assert warm[e + 1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("epochs", "first", "second"), [(200, 160, 180), (400, 360, 380)])
def test_balanced_contrastive_learning_on_cifar(epochs, first, second):
    keys = {"epochs": epochs, "warmup": 5, "milestones": (first, second), "gamma": 0.01}
    found = rates(lr=0.1, **keys)
    worked = {1: 0.02, 5: 0.1, first: 0.1, first + 1: 0.001, second: 0.001, second + 1: 1e-5}
    assert {epoch: found[epoch] for epoch in worked} == pytest.approx(worked, rel=1e-9)


def test_a_single_unit_keeps_a_rate():
    one = {"epochs": 1, "schedule": "cosine", "cosine_zero": "last"}
    assert Schedule(TrainingConfig(**one), 3)(2) == 1
    assert Schedule(TrainingConfig(epochs=3, warmup=1, warmup_from=0.3), 1)(0) == 0.3
    with pytest.raises(InputError, match=r"training\.cosine_zero: last makes the rate .* 0"):
        Schedule(TrainingConfig(**one, cosine_top="one_before"), 3)
