"""Maps of tokens against their definition, of one view and of several."""

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


def test_views_of_an_item_have_a_map_each_to_one_scale():
    model, image = build("test_vit"), images(2)
    single = token_map(model, image, [1, 1])
    model.take_views(2)
    both = token_map(model, image.reshape(1, 2, 64, 64), [1])[0]
    assert both.max() == 1
    for found, alone in zip(both, single, strict=True):
        torch.testing.assert_close(found / found.max(), alone, rtol=0, atol=1e-5)


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
