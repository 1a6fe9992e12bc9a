"""Schedules equal torch's, optimizers equal their formulas, groups keep their own options."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.training.optim import Schedule, build_optimizers, set_lr


def torch_rates(training, units):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    warm = training.warmup
    if training.schedule == "cosine":
        main = lr_scheduler.CosineAnnealingLR(optimizer, units - warm)
    elif training.schedule == "multistep":
        shifted = [m - warm for m in training.milestones]
        main = lr_scheduler.MultiStepLR(optimizer, shifted, training.gamma)
    else:
        main = lr_scheduler.ConstantLR(optimizer, 1.0)
    if warm:
        ramp = lr_scheduler.LinearLR(optimizer, 1 / warm, 1.0, total_iters=max(warm - 1, 1))
        main = lr_scheduler.SequentialLR(optimizer, [ramp, main], [warm])
    rates = []
    for _ in range(units):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        main.step()
    return rates


@pytest.mark.parametrize("schedule", ["constant", "multistep", "cosine"])
@pytest.mark.parametrize("warmup", [0, 4])
@pytest.mark.filterwarnings("ignore:The epoch parameter in:UserWarning")  # inside SequentialLR
def test_schedules_equal_those_of_torch_per_epoch_and_per_step(schedule, warmup):
    keys = {"schedule": schedule, "warmup": warmup, "milestones": (6, 9), "gamma": 0.3}
    by_epoch = TrainingConfig(epochs=12, **keys)
    expected = torch_rates(by_epoch, 12)
    factor = Schedule(by_epoch, steps_per_epoch=5)
    ours = [factor(step) for step in range(60)]
    np.testing.assert_allclose(ours, np.repeat(expected, 5), rtol=0, atol=1e-12)
    by_step = Schedule(TrainingConfig(steps=12, **keys), steps_per_epoch=5)
    np.testing.assert_allclose([by_step(s) for s in range(12)], expected, rtol=0, atol=1e-12)


def test_warmup_that_leaves_nothing_is_refused():
    with pytest.raises(InputError, match=r"training\.warmup: 3 takes up the whole run of 3"):
        Schedule(TrainingConfig(epochs=3, warmup=3), 2)


def reference(training, weights, gradients):
    """The optimizers' formulas in float64, from their papers."""
    w, m, v = weights.astype(float), np.zeros_like(weights), np.zeros_like(weights)
    lr, decay = training.lr, training.weight_decay
    for t, gradient in enumerate(gradients, start=1):
        g = gradient.astype(float)
        if training.optimizer == "adamw":
            w = w - lr * decay * w
        else:
            g = g + decay * w
        if training.optimizer == "sgd":
            m = g if t == 1 else training.momentum * m + g
            w = w - lr * (g + training.momentum * m if training.nesterov else m)
        else:
            b1, b2 = training.betas
            m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
            w = w - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + training.eps)
    return w


@pytest.mark.parametrize(
    "keys",
    [
        {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01},
        {"optimizer": "sgd", "momentum": 0.8, "nesterov": True},
        {"optimizer": "adam", "betas": (0.8, 0.95), "weight_decay": 0.1, "eps": 1e-3},
        {"optimizer": "adamw", "weight_decay": 0.1},
    ],
)
@pytest.mark.parametrize("fused", [True, False])
def test_optimizers_equal_their_formulas_on_channels_last_kernels(keys, fused):
    training = TrainingConfig(epochs=1, lr=0.05, **keys)
    conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    before = conv.weight.detach().numpy().copy()
    [optimizer] = build_optimizers(
        {"main": [{"params": conv.parameters()}]}, training, fused=fused
    ).values()
    images = torch.randn(6, 2, 3, 5, 5, generator=torch.Generator().manual_seed(0))
    gradients = []
    for image in images:
        conv(image.contiguous(memory_format=torch.channels_last)).square().mean().backward()
        gradients.append(conv.weight.grad.numpy().copy())
        optimizer.step()
        conv.zero_grad()
    expected = reference(training, before, gradients)
    np.testing.assert_allclose(conv.weight.detach().numpy(), expected, atol=2e-6)


def test_an_optimizer_without_parameters_is_refused():
    with pytest.raises(InputError, match=r"'critic'.*no trainable parameters"):
        build_optimizers({"critic": [{"params": []}]}, TrainingConfig(epochs=1))


def test_a_group_may_scale_its_rate_further():
    a, b, c = (nn.Parameter(torch.zeros(2)) for _ in range(3))
    groups = {
        "main": [
            {"params": [a]},
            {"params": [b], "lr_scale": 0.1},
            {"params": [c], "lr": 0.3, "lr_scale": 2.0},
        ]
    }
    optimizers = build_optimizers(groups, TrainingConfig(epochs=1, lr=0.1), lr_scale=0.5)
    rates = [group["lr"] for group in optimizers["main"].param_groups]
    assert rates == pytest.approx([0.05, 0.005, 0.6])
    assert "lr_scale" in groups["main"][1]  # the algorithm's own groups stay as they were
    set_lr(optimizers, 0.1)
    rates = [group["lr"] for group in optimizers["main"].param_groups]
    assert rates == pytest.approx([0.005, 0.0005, 0.06])


def test_a_name_may_have_an_optimizer_of_its_own_that_follows_no_schedule():
    a, b = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
    groups = {
        "main": [{"params": [a]}],
        "meta": [{"params": [b], "optimizer": "adam", "lr": 0.01, "scheduled": False}],
    }
    training = TrainingConfig(epochs=1, lr=0.1, optimizer="sgd", momentum=0.9)
    optimizers = build_optimizers(groups, training, lr_scale=0.5)
    assert [type(o) for o in optimizers.values()] == [torch.optim.SGD, torch.optim.Adam]
    assert groups["meta"][0]["optimizer"] == "adam"
    for factor in (0.1, 0.0, 1.0):
        assert set_lr(optimizers, factor) == pytest.approx(0.05 * factor)
        assert optimizers["meta"].param_groups[0]["lr"] == 0.01


def test_one_optimizer_cannot_be_of_two_kinds():
    a, b = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
    groups = {"main": [{"params": [a], "optimizer": "adam"}, {"params": [b]}]}
    with pytest.raises(ValueError, match="too many values"):
        build_optimizers(groups, TrainingConfig(epochs=1, optimizer="sgd"))
