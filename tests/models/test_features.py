"""The network of stored latents: what it makes of bags depends on neither padding nor order."""

import numpy as np
import pytest
import torch

from medldr.data.bags import padded
from medldr.models import build_model
from medldr.models.features import Config
from medldr.types import DataSpec

SIZES = (1, 5, 3)
DIM = 6


def made(*, bags=True, **keys):
    spec = DataSpec("multi-class", tuple("abc"), (1, 1, 1), DIM, (), bags=bags)
    return build_model(Config(**keys), spec, seed=1).eval()


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, DIM)).astype(np.float32) for n in SIZES]


@pytest.fixture
def model():
    return made(adapter="mlp")


def logits(model, bags):
    with torch.no_grad():
        return model(torch.from_numpy(padded(bags)))


def test_a_bag_is_pooled_by_the_formula_of_gated_attention(bags):
    model = made()
    attention = model.attention
    v, u, w = (
        part.weight.detach().double().numpy()
        for part in (attention.content, attention.gate, attention.score)
    )
    bv, bu, bw = (
        part.bias.detach().double().numpy()
        for part in (attention.content, attention.gate, attention.score)
    )
    assert v.shape == (128, DIM)
    with torch.no_grad():
        z = model.features(torch.from_numpy(padded(bags))).numpy()
    for bag, found in zip(bags, z, strict=True):
        h = bag.astype(np.float64)
        score = (np.tanh(h @ v.T + bv) / (1 + np.exp(-(h @ u.T + bu)))) @ w[0] + bw[0]
        weight = np.exp(score) / np.exp(score).sum()
        assert np.allclose(found, weight @ h, atol=1e-6)


def test_neither_padding_nor_the_other_bags_nor_the_order_of_latents_change_anything(model, bags):
    together = logits(model, bags)
    for bag, row in zip(bags, together, strict=True):
        alone = logits(model, [bag])
        more = logits(model, [bag, np.zeros((40, DIM), np.float32)])[:1]
        turned = logits(model, [bag[::-1]])
        for other in (row[None], more, turned):
            assert torch.allclose(other, alone, atol=1e-6)


def test_a_bag_of_one_is_the_latent_itself_and_equal_weights_are_the_mean(bags):
    model, plain = made(), made(bags=False)
    for name, value in plain.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name  # attention draws nothing of it
    one = torch.from_numpy(np.concatenate(bags))
    assert torch.equal(model(one[:, None]), plain(one))
    torch.nn.init.zeros_(model.attention.score.weight)
    means = torch.from_numpy(np.stack([bag.mean(0) for bag in bags]))
    assert torch.allclose(logits(model, bags), plain(means), atol=1e-6)


def test_gradients_are_finite_and_those_of_bags_without_padding(bags):
    model = made()
    model.train()(torch.from_numpy(padded(bags))).square().sum().backward()
    padded_ones = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    sum(model(torch.from_numpy(bag[None])).square().sum() for bag in bags).backward()
    for name, parameter in model.named_parameters():
        assert padded_ones[name].isfinite().all(), name
        assert torch.allclose(padded_ones[name], parameter.grad, atol=1e-5), name


def test_half_precision_of_a_processor_pools_in_float32(model, bags):
    with torch.autocast("cpu", torch.bfloat16):
        z = model.features(torch.from_numpy(padded(bags)))
    assert z.dtype == torch.float32
    with torch.no_grad():
        assert torch.allclose(z, model.features(torch.from_numpy(padded(bags))), atol=1e-6)
