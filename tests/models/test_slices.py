"""Volumes as sets of slices: the same pictures, one latent, taps and heat maps that are volumes."""

import pytest
import torch

from medldr.algorithms import build_algorithm
from medldr.algorithms.mixstyle import Config as MixStyle
from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import grad_cam
from medldr.evaluation.explain.token_map import token_map
from medldr.models import build_model
from medldr.models._slices import Slices
from medldr.models.timm import Config as Timm
from medldr.types import Batch

SIZE = (32, 48, 3)  # X, Y, Z
NETWORKS = {
    "maps": ("timm", {"network": "test_resnet"}),
    "tokens": ("timm", {"network": "test_vit"}),
    "ours": ("resnet18", {"width": 0.125}),
}


@pytest.fixture
def net(build):
    def make(kind, slices="mean", **keys):
        name, own = NETWORKS[kind]
        return build(name, 1, 2, SIZE, slices=slices, **own, **keys).eval()

    return make


@pytest.fixture
def volumes():
    return torch.rand(2, 1, *SIZE, generator=torch.Generator().manual_seed(0))


def test_a_slice_lies_as_it_is_read():
    volume = torch.zeros(1, 1, 4, 5, 2)  # from left to right, back to front, foot to head
    volume[0, 0, 3, 4, 1] = 1  # right, front, head
    pictures = Slices("mean", 2, 1).pictures(volume)
    assert pictures.shape == (2, 1, 5, 4)
    assert pictures[1, 0, 0, 0] == 1  # above, on the left
    assert pictures.sum() == 1


@pytest.mark.parametrize("kind", NETWORKS)
def test_the_latent_is_the_mean_or_maximum_of_those_of_the_slices(net, volumes, kind):
    for pooling, reduced in (("mean", torch.mean), ("max", torch.amax)):
        model = net(kind, pooling)
        with torch.inference_mode():
            pictures = volumes.flip(2, 3).permute(4, 0, 1, 3, 2)
            each = torch.stack([model.latents(one.contiguous()) for one in pictures])
            torch.testing.assert_close(model.features(volumes), reduced(each, 0))


def test_attention_follows_its_formula_and_no_order_of_slices(net, volumes):
    model = net("maps", "attention")
    slices = model.slices.double()
    z = torch.rand(6, model.dim, dtype=torch.float64)
    parts = (slices.attention.content, slices.attention.gate, slices.attention.score)
    v, u, w = (part.weight.detach() for part in parts)
    bv, bu, bw = (part.bias.detach() for part in parts)
    for row, item in enumerate(z.view(2, 3, -1)):
        score = [w[0] @ (torch.tanh(v @ h + bv) * torch.sigmoid(u @ h + bu)) + bw[0] for h in item]
        share = torch.stack(score).exp() / torch.stack(score).exp().sum()
        torch.testing.assert_close(slices(z)[row], (share[:, None] * item).sum(0))
    model.slices.float()
    with torch.inference_mode():
        torch.testing.assert_close(model(volumes), model(volumes[..., [2, 0, 1]]))


@pytest.mark.parametrize("kind", NETWORKS)
def test_taps_see_volumes_and_change_nothing_by_themselves(net, volumes, kind):
    model = net(kind, "attention")
    seen = {}
    taps = {stage: lambda v, s=stage: seen.setdefault(s, v) for stage in model.stages}
    with torch.inference_mode():
        assert torch.equal(model.features(volumes, taps), model.features(volumes))
    for stage, value in seen.items():
        assert value.shape[0] == 2
        if kind == "tokens":
            assert value.shape[1] == 3 * (2 * 3 + 1)  # of each slice its patches and a class token
        else:
            x, y, z = value.shape[2:]
            assert z == 3
            assert x < y or x == 1, stage  # 32 by 48


def test_heat_maps_lie_on_the_volume(net, volumes):
    for kind, draw in (("maps", grad_cam), ("tokens", token_map)):
        for x, y, z in ((0, 0, 0), (1, 1, 2)):
            at = volumes.clone() * 0.01
            at[0, 0, x * 16 : x * 16 + 16, y * 32 : y * 32 + 16, z] += 3.0
            heat = draw(net(kind, "mean"), at, [0, 1])
            assert heat.shape == (2, *SIZE)
    model = net("tokens", "mean")
    one = torch.zeros(3, *model.token_grid)
    one[2, 0, 0] = 1.0  # the picture's upper left: the patient's right front
    assert model.of_items(one)[0, -1, -1, 2] == 1


def test_methods_that_change_maps_change_those_of_volumes(net, spec_of, volumes):
    model = net("maps", "max").train()
    config = MixStyle(stages=("stage1",), p=1.0, alpha=100.0)
    method = build_algorithm(config, spec_of(1, 2, *SIZE), model, 0).train()
    volumes, row = torch.cat([volumes, volumes**2]), torch.arange(4)
    torch.manual_seed(0)  # partners are drawn, and an image may be its own
    output = method.loss(model, Batch(volumes, row % 2, row * 0, row, row))
    assert output.z.shape == (4, model.dim)
    assert not torch.allclose(output.z, model.features(volumes))


def test_frozen_networks_of_slices_train_their_attention(net, volumes):
    for stages in ("all", 5):
        model = net("maps", "attention", freeze=stages)
        model.train()(volumes).sum().backward()
        reached = {k.partition(".")[0] for k, p in model.named_parameters() if p.grad is not None}
        assert reached == {"head", "slices"}


def test_pictures_have_no_slices_and_volumes_are_told_of_them(spec_of):
    with pytest.raises(InputError, match=r"model\.slices: mean is for volumes"):
        build_model(Timm(network="test_resnet", slices="mean"), spec_of(1, 2, 32, 32), 0)
    with pytest.raises(InputError, match=r"or set model\.slices: attention"):
        build_model(Timm(network="test_resnet"), spec_of(1, 2, *SIZE), 0)
