"""ISDA's covariances and bound against NumPy, and against the expectation that it bounds."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import functional

from medldr import plugins
from medldr.algorithms.isda import margin_variances
from medldr.errors import InputError
from medldr.models import build_model


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def build(standins):
    def make(task="multi-class", **keys):
        spec = standins.make_spec(task)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("isda", spec, model, **{"ramp": 0, **keys}).train()
        return model, algorithm, standins.make_batch(spec)

    return make


def labels(rows, classes=4):
    return torch.from_numpy(np.random.default_rng(0).integers(classes - 1, size=rows))


def test_covariances_are_those_of_all_latents_that_were_seen(build):
    _, algorithm, _ = build()
    _, diagonal, _ = build(covariance="diagonal")
    z, label = draw(60, 8).float() + 30, labels(60)
    for size in ([7, 1, 22, 30], [60]):
        for one in (algorithm, diagonal):
            for name in ("count", "mean", "covariance"):
                getattr(one, name).zero_()
            for rows, of in zip(z.split(size), label.split(size), strict=True):
                one.observe(rows, of)
        for k in range(3):
            seen = z[label == k].double().numpy()
            expected = np.cov(seen.T, bias=True)
            np.testing.assert_allclose(algorithm.mean[k], seen.mean(0), rtol=1e-6)
            np.testing.assert_allclose(algorithm.covariance[k], expected, atol=2e-5)
            np.testing.assert_allclose(diagonal.covariance[k], np.diag(expected), atol=2e-5)
        assert algorithm.count.tolist() == [*np.bincount(label), 0]
        assert not algorithm.covariance[3].any()


@pytest.mark.parametrize("full", [True, False])
def test_margin_variances_are_the_quadratic_form_of_each_pair(full):
    weight, spread = draw(4, 5), draw(4, 5, 5, seed=1)
    covariance = spread @ spread.mT
    if not full:
        covariance = covariance.diagonal(dim1=1, dim2=2).contiguous()
    w, s = weight.numpy(), covariance.numpy()
    expected = np.empty((4, 4))
    for y in range(4):
        for k in range(4):
            matrix = s[y] if full else np.diag(s[y])
            expected[y, k] = (w[k] - w[y]) @ matrix @ (w[k] - w[y])
    np.testing.assert_allclose(margin_variances(weight, covariance), expected, rtol=1e-12)


def test_the_loss_bounds_the_expected_cross_entropy_from_above(build):
    model, algorithm, batch = build(strength=0.5)
    with torch.no_grad():
        model.head.weight.mul_(20)
        algorithm.loss(model, batch)  # its latents enter the covariances
        algorithm.covariance.mul_(50)
        algorithm.observe = lambda z, label: None
        out = algorithm.loss(model, batch)
    noise = torch.distributions.MultivariateNormal(
        torch.zeros(8), 0.5 * algorithm.covariance[batch.label] + 1e-9 * torch.eye(8)
    )
    torch.manual_seed(0)
    z = out.z.detach() + noise.sample((4000,))
    each = functional.cross_entropy(model.classify(z).flatten(0, 1), batch.label.repeat(4000))
    assert out.logs["loss/original"] < each < out.loss


def test_at_the_first_step_of_a_ramp_it_is_erm_and_at_its_end_it_is_whole(build):
    model, algorithm, batch = build(ramp=0.5)
    assert [algorithm.part_of(p) for p in (0, 0.25, 0.5, 1)] == [0, 0.5, 1, 1]
    out = algorithm.loss(model, batch)
    assert torch.equal(out.loss, out.logs["loss/original"])
    model, whole, batch = build(ramp=0)
    out = whole.loss(model, batch)
    assert out.loss > out.logs["loss/original"]


@pytest.mark.parametrize("changed", [{"strength": 0}, {}])
def test_without_strength_and_in_evaluation_it_is_erm_and_sees_nothing(changed, build, standins):
    model, algorithm, batch = build(**changed)
    algorithm.train(bool(changed))
    erm = standins.make_algorithm("erm", standins.make_spec(), model)
    grads = []
    for one in (algorithm, erm):
        out = one.loss(model, batch)
        grads.append((out.loss, *torch.autograd.grad(out.loss, list(model.parameters()))))
    assert all(torch.equal(a, b) for a, b in zip(*grads, strict=True))
    assert not algorithm.count.any()


def test_a_head_that_is_not_linear_is_refused(standins):
    spec = dataclasses.replace(standins.make_spec(), spatial_size=(32, 32))
    network = plugins.load("models", "resnet18").Config(name="resnet18", width=0.125, head="cosine")
    with pytest.raises(InputError, match=r"isda .*linear head.*CosineHead.*model\.head: linear"):
        standins.make_algorithm("isda", spec, build_model(network, spec, 0))
