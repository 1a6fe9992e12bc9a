"""Maps of tokens: against their definition, and on pictures whose sign is in a known place."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from medldr import plugins
from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import NoMapError
from medldr.evaluation.explain.token_map import token_map
from medldr.models import build_model
from medldr.types import DataSpec


def build(network, size=(64, 64)):
    config = plugins.load("models", "timm").Config(network=network)
    spec = DataSpec("multi-class", ("a", "b", "c"), (1, 1, 1), 1, size)
    return build_model(config, spec, 0).eval()


def images(n, size=(64, 64)):
    return torch.rand(n, 1, *size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("network", "counts"),
    [
        ("test_vit", "stage3"),  # classifies by its class token: patches end before the last block
        ("test_vit3", "stage4"),  # pools its patches by attention
    ],
)
def test_each_patch_is_what_the_logit_loses_without_it(network, counts):
    """To first order: the token of one patch is moved a little towards the mean token."""
    size = (64, 96)
    model, image, target, step = build(network, size).double(), images(2, size), 1, 1e-5
    patches = math.prod(model.token_grid)
    each = torch.arange(patches)

    def moved(value):
        value = value.clone()
        tokens = value[:, -patches:]
        tokens[each, each] += step * (tokens.mean(1) - tokens[each, each])
        return value

    with torch.no_grad():
        before = model(image[:1].double())[0, target]
        many = image[:1].double().expand(patches, -1, -1, -1)
        after = model.classify(model.features(many, {counts: moved}))[:, target]
    expected = ((before - after) / step).relu().view(1, 1, *model.token_grid)
    assert expected.max() > 1e-4
    large = nn.functional.interpolate(expected, size, mode="bilinear", align_corners=False)[0, 0]
    found = token_map(model, image, [target, 0])
    np.testing.assert_allclose(found[0], large / large.max(), atol=2e-3)
    alone = token_map(model, image[:1], [target])
    torch.testing.assert_close(alone[0], found[0], rtol=0, atol=1e-5)


def test_a_transformer_is_left_as_it_was_and_a_class_must_exist():
    model, image = build("test_vit").train(), images(2)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with torch.inference_mode():
        assert token_map(model, image, [0, 2]).shape == (2, 64, 64)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    with pytest.raises(InputError, match=r"^target must be"):
        token_map(model, image, [0, 3])


def test_tokens_whose_places_are_not_known_have_no_map():
    model = build("test_vit")
    model.token_grid = None
    with pytest.raises(NoMapError, match="neither feature maps nor tokens in a grid"):
        token_map(model, images(1), [0])


@pytest.mark.slow  # trains for a minute
def test_a_transformer_trained_to_find_a_sign_looks_at_it():
    random = np.random.default_rng(0)
    rows, columns = np.mgrid[:64, :64]
    label, places = random.integers(0, 3, 1200), random.uniform(8, 56, (1200, 2))
    away = np.hypot(rows - places[:, :1, None], columns - places[:, 1:, None])
    signs = np.stack([0 * away, np.exp(-(away**2) / 18), np.exp(-((away - 5) ** 2) / 4)])
    pixels = random.normal(0, 0.35, (1200, 64, 64)) + 4 * signs[label, range(1200)]
    image, truth = torch.from_numpy(pixels[:, None]).float(), torch.from_numpy(label)
    model = build("test_vit")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    order = torch.Generator().manual_seed(0)
    model.train()
    for _ in range(25):
        for part in torch.randperm(1000, generator=order).split(50):
            loss = nn.functional.cross_entropy(model(image[part]), truth[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    held = torch.arange(1000, 1200)
    with torch.no_grad():
        right = model.eval()(image[held]).argmax(1) == truth[held]
    print(f"{right.float().mean():.2f} right")
    assert right.float().mean() > 0.8
    found = held[right & (truth[held] > 0)]
    heat = token_map(model, image[found], truth[found].tolist()).flatten(1)
    hottest = heat.argmax(1).numpy()
    hit = away[found.numpy()].reshape(len(found), -1)[range(len(found)), hottest] < 12
    print(f"{hit.mean():.2f} of {len(found)}")
    assert hit.mean() > 0.6  # a place at random: 0.11
