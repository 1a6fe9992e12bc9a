"""The cosine head against NumPy, its bounds, and its scale in one place."""

import copy

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from medldr.folders.files import save_tensors
from medldr.models._cosine_head import CosineHead
from medldr.models.base import ModelConfig

TINY = {"width": 0.125}


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reference(z, weight, scale):
    z, weight = z.detach().numpy(), weight.detach().numpy()
    lengths = np.linalg.norm(z, axis=1)[:, None] * np.linalg.norm(weight, axis=1)
    return scale * (z @ weight.T) / lengths


@pytest.mark.parametrize("scale", [1.0, 16.0, 30.0])
def test_equals_numpy_in_float64(scale):
    head = CosineHead(7, 5, scale).double()
    head.weight.data.copy_(3 * draw(5, 7, seed=1))
    z = draw(9, 7)
    np.testing.assert_allclose(head(z).detach(), reference(z, head.weight, scale), rtol=1e-12)


def test_logits_stay_within_the_scale_which_a_latent_of_a_class_s_direction_reaches():
    head = CosineHead(64, 10, 30.0)
    z = torch.cat([1e4 * torch.randn(500, 64), 0.2 * head.weight.detach(), torch.zeros(1, 64)])
    logits = head(z)
    assert logits.abs().max() <= 30 * (1 + 1e-6)
    torch.testing.assert_close(logits[500:510].diagonal(), torch.full((10,), 30.0))
    assert not logits[510].any()


def test_rows_start_in_directions_of_a_cube_with_length_one():
    torch.manual_seed(0)
    weight = CosineHead(3, 4000).weight.detach()
    torch.testing.assert_close(weight.norm(dim=1), torch.ones(4000))
    cube = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    cube /= np.linalg.norm(cube, axis=1, keepdims=True)
    # Corners are commoner than axes: the fourth moment tells a cube's directions from a sphere's.
    assert weight.pow(4).mean().item() == pytest.approx((cube**4).mean(), abs=0.006)
    assert (cube**4).mean() == pytest.approx(0.2, abs=0.03)
    assert weight.mean().abs() < 0.02


def test_copies_keep_the_scale_and_learn_by_themselves():
    head = CosineHead(6, 3, 30.0)
    own = copy.deepcopy(head)
    own.weight.data.mul_(-1)
    z = torch.randn(2, 6)
    assert own.scale == 30
    torch.testing.assert_close(own(z), -head(z))


# ------------------------------------------------------- model.cosine_scale


def test_the_key_sets_the_scale_of_the_head(build):
    assert build("resnet32", 3, 2, (8, 8), head="cosine", **TINY).head.scale == 16
    model = build("resnet32", 3, 2, (8, 8), head="cosine", cosine_scale=30, **TINY)
    assert model.head.scale == 30
    z = draw(4, model.dim).float()
    cosine = reference(z, model.head.weight, 1.0)
    np.testing.assert_allclose(model.classify(z).detach(), 30 * cosine, rtol=1e-5, atol=1e-5)


def test_a_scale_without_a_cosine_head_is_refused_with_the_cure():
    with pytest.raises(ValidationError, match=r"30 has no effect on a linear.*model\.head: cosine"):
        ModelConfig(name="resnet18", cosine_scale=30)
    assert ModelConfig(name="resnet18", cosine_scale=16).head == "linear"  # the default, stated


@pytest.mark.parametrize("scale", [0, -1, float("inf"), float("nan")])
def test_a_scale_must_be_a_positive_number(scale):
    with pytest.raises(ValidationError, match="cosine_scale"):
        ModelConfig(name="resnet18", head="cosine", cosine_scale=scale)


def test_weights_of_a_cosine_head_load_and_those_of_a_linear_one_do_not(build, tmp_path):
    path = str(tmp_path / "weights.safetensors")
    keys = {"weights": path, **TINY}
    source = build("resnet32", 3, 2, (8, 8), seed=1, head="cosine", cosine_scale=30, **TINY)
    save_tensors(path, source.state_dict())
    model = build("resnet32", 3, 2, (8, 8), seed=2, head="cosine", cosine_scale=8, **keys)
    assert torch.equal(model.head.weight, source.head.weight)
    assert model.head.scale == 8  # this run's key, not the file's
    assert model.notes == []
    other = build("resnet32", 3, 2, (8, 8), seed=2, **keys)
    assert isinstance(other.head, nn.Linear)
    assert "head is newly initialised" in other.notes[0]


@pytest.mark.parametrize("name", ["latentdr", "batchformer"])
def test_a_method_s_own_classifier_has_the_model_s_scale(build, method, name):
    model = build("resnet32", 1, 4, (8, 8), head="cosine", cosine_scale=30, **TINY)
    algorithm, batch = method(name, model, share_classifier=False)
    (own,) = (module for module in algorithm.modules() if isinstance(module, CosineHead))
    assert own.scale == 30
    assert torch.equal(own.weight, model.head.weight)
    out = algorithm.loss(model, batch)
    out.loss.backward()
    assert own.weight.grad.abs().sum() > 0
    assert out.logits.abs().max() <= 30 * (1 + 1e-6)
