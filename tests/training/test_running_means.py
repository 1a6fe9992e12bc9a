"""Logged means weigh batches by their rows; undefined ones are None."""

import numpy as np
import pytest
import torch

from medldr.training.state.history import RunningMeans
from medldr.types import Batch, StepOutput


def step(rows, loss, logs, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, 3, generator=generator)
    label = torch.arange(rows) % 3
    number = torch.arange(rows)
    batch = Batch(torch.zeros(rows, 1, 2, 2), label, number, number, number)
    values = {name: torch.tensor(value) for name, value in logs.items()}
    return batch, StepOutput(torch.tensor(loss, requires_grad=True), logits, logits, values)


def test_means_are_weighted_by_rows_and_terms_may_come_and_go():
    means = RunningMeans(torch.device("cpu"))
    steps = [step(4, 1.0, {"loss/a": 2.0}), step(2, 4.0, {"loss/a": 5.0, "loss/b": 7.0}, 1)]
    for batch, output in steps:
        means.add(batch, output)
    found = means.means()
    assert found["loss"] == pytest.approx((4 * 1 + 2 * 4) / 6)
    assert found["loss/a"] == pytest.approx((4 * 2 + 2 * 5) / 6)
    assert found["loss/b"] == 7.0
    right = [(o.logits.argmax(1) == b.label).numpy() for b, o in steps]
    assert found["accuracy"] == pytest.approx(np.concatenate(right).mean())
    other = RunningMeans(torch.device("cpu"))
    other.load_state_dict(means.state_dict())
    assert other.means() == found
    means.reset()
    assert means.means() == {}
    assert other.means() == found


def test_a_term_that_is_not_finite_becomes_none_and_leaves_the_others():
    means = RunningMeans(torch.device("cpu"))
    means.add(*step(4, 1.0, {"accuracy/degraded": float("nan")}))
    assert means.means()["accuracy/degraded"] is None
    assert means.means()["loss"] == 1.0


def test_logits_of_mixed_images_are_not_scored_by_the_true_labels():
    means = RunningMeans(torch.device("cpu"), scored=False)
    for rows, value in ((4, 0.5), (2, 1.0)):
        means.add(*step(rows, 1.0, {"accuracy/mixed": value}))
    assert means.means() == {"loss": 1.0, "accuracy/mixed": pytest.approx(4 / 6)}


def test_a_long_sum_of_small_numbers_stays_exact():
    means = RunningMeans(torch.device("cpu"))
    for _ in range(3000):
        means.add(*step(1, 0.1, {}))
    assert means.means()["loss"] == pytest.approx(0.1, rel=1e-7)
