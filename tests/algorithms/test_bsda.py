"""BSDA beside its update, which `tests/fidelity` derives."""

import numpy as np
import pytest
import torch

from medldr.algorithms.bsda import divergence


@pytest.fixture
def build(standins):
    def make(task="multi-class", rows=12, **keys):
        spec = standins.make_spec(task)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("bsda", spec, model, **{"ramp": 0, **keys}).train()
        return model, algorithm, standins.make_batch(spec, rows)

    return make


def test_the_divergence_is_that_of_normal_distributions_in_numpy():
    log_variance = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator())
    v = np.exp(log_variance.numpy())
    x = np.linspace(-40, 40, 400001)
    density = np.exp(-(x**2) / 2 / v[..., None]) / np.sqrt(2 * np.pi * v)[..., None]
    ratio = -(x**2) / 2 / v[..., None] + x**2 / 2 - np.log(v)[..., None] / 2
    each = (density * ratio).sum(-1) * (x[1] - x[0])
    assert divergence(log_variance).item() == pytest.approx(each.sum(1).mean(), rel=1e-9)


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
def test_moves_of_no_size_leave_the_plain_loss_twice(task, build):
    model, algorithm, batch = build(task, strength=1.0, kl_weight=0, rebuilt_weight=0)
    with torch.no_grad():
        algorithm.log_variance.weight.zero_()
        algorithm.log_variance.bias.fill_(-200)
    out = algorithm.loss(model, batch)
    torch.testing.assert_close(out.loss, 2 * out.logs["loss/original"])


def test_entries_that_are_0_stay_and_a_share_of_the_others_moves(build):
    model, algorithm, batch = build(rows=50, dropout=0.8)
    seen = []
    classify, features = model.classify, model.features
    model.features = lambda image: features(image) * torch.arange(8).clamp_max(1)
    model.classify = lambda z: (seen.append(z), classify(z))[1]
    torch.manual_seed(0)
    algorithm.loss(model, batch)
    z, shifted = seen
    moved = shifted != z.repeat(10, 1)
    assert shifted.shape == (500, 8)
    assert not moved[:, 0].any()
    assert moved[:, 1:].float().mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("keys", [{"strength": 0}, {"rows": 1}, {}])
def test_it_is_erm_without_strength_on_a_single_image_and_in_evaluation(keys, build, standins):
    model, algorithm, batch = build(**keys)
    algorithm.train(bool(keys))
    erm = standins.make_algorithm("erm", standins.make_spec(), model)
    state, found = torch.get_rng_state(), []
    for one in (algorithm, erm):
        out = one.loss(model, batch)
        found.append((out.loss, *torch.autograd.grad(out.loss, list(model.parameters()))))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_strength_is_reached_halfway(build):
    _, algorithm, _ = build(ramp=0.5)
    assert [algorithm.part_of(p) for p in (0, 0.25, 0.5, 1)] == [0, 0.5, 1, 1]
