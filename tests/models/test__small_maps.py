"""bfloat16 on tiny maps: what torch's own convolution gets wrong, ours gets right."""

import pytest
import torch
from torch import nn

from medldr.models import _small_maps
from medldr.models._acs import convert
from medldr.models._acs_conv import AcsConv3d


def fill_free_memory_with_nan():
    """A kernel that leaves its result unwritten then shows NaN instead of lucky zeros."""
    sizes = (1_000, 5_000, 20_000, 50_000, 100_000, 400_000)
    blocks = [torch.full((n,), float("nan")) for n in sizes for _ in range(4)]
    del blocks


def gradients(layer, image, bfloat16):
    layer.zero_grad()
    image = image.clone().requires_grad_()
    fill_free_memory_with_nan()
    with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
        out = layer(image)
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    (out.float() * weights).sum().backward()
    return out.float().detach(), image.grad, layer.weight.grad.clone()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("kind", ["acs", "3d"])
def test_bfloat16_is_float32_rounded_on_maps_of_any_size(kind, kernel, stride, size):
    torch.manual_seed(0)
    if kind == "acs":
        layer = AcsConv3d(8, 12, kernel, stride, kernel // 2, bias=False)
    else:
        layer = _small_maps.Conv3d(8, 12, kernel, stride, kernel // 2, bias=False)
    image = torch.randn(4, 8, size, size, size).to(memory_format=torch.channels_last_3d)
    exact = gradients(layer, image, bfloat16=False)
    for _ in range(3):
        for found, expected in zip(gradients(layer, image, bfloat16=True), exact, strict=True):
            error = (found - expected).abs().max() / expected.abs().max()
            assert error < 0.03


def test_a_map_of_two_slices_gives_the_same_gradient_each_time():
    torch.manual_seed(0)
    layer = AcsConv3d(64, 64, 3, padding=1, bias=False)
    image = torch.randn(8, 64, 2, 2, 2).to(memory_format=torch.channels_last_3d)
    first, *others = [gradients(layer, image, bfloat16=True)[2] for _ in range(4)]
    assert all(torch.equal(first, other) for other in others)


def test_larger_maps_stay_in_bfloat16():
    layer = _small_maps.Conv3d(4, 4, 3, padding=1)
    at = ((1, 1, 1), (1, 1, 1), (1, 1, 1))
    assert not _small_maps.too_small(torch.ones(1, 4, 3, 3, 3).bfloat16(), layer.weight, *at)
    assert _small_maps.too_small(torch.ones(1, 4, 2, 3, 3).bfloat16(), layer.weight, *at)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(torch.ones(1, 4, 2, 2, 2)).dtype == torch.bfloat16


def test_a_network_keeps_its_weights_and_its_conversion():
    torch.manual_seed(0)
    network = convert(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()), "3d")
    image = torch.randn(2, 1, 6, 6, 6)
    before = network(image)
    assert type(_small_maps.use_here(network)[0]) is _small_maps.Conv3d
    torch.testing.assert_close(network(image), before, rtol=0, atol=0)
