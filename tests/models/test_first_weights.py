"""First weights, layer by layer, against those of the code that each network is from."""

import math

import pytest
import torch
from scipy.stats import kstest
from torch import nn

from medldr.config import load_config
from medldr.models._acs_conv import AcsConv3d

SMALLEST = 1e-4
"""Seeds are fixed, so this is no rate of false alarms: equal laws have larger p in every layer."""


def convolutions(model):
    """Names and kernels of all convolutions, each as its 2D kernel ``(O, I, K, K)``."""
    for name, module in model.named_modules():
        if not isinstance(module, nn.Conv2d | nn.Conv3d | AcsConv3d):
            continue
        assert module.bias is None, name
        weight = module.weight.detach().double()
        if weight.ndim == 5:  # repeated along depth and divided by it
            assert torch.equal(weight, weight[:, :, :1].expand_as(weight))
            weight = weight.sum(2)
        yield name, weight


def uniform_p(values, bound):
    """How well numbers agree with U(-bound, bound); they must also stay within it."""
    assert values.abs().max() <= bound * (1 + 1e-6)
    return kstest(values.flatten().numpy(), "uniform", (-bound, 2 * bound)).pvalue


def normal_p(values, sd):
    return kstest(values.flatten().numpy(), "norm", (0, sd)).pvalue


def check_rest(model):
    """Norms at 1 and 0, also the last of a block; the head as torch's `Linear`.

    Such a head have torchvision's ResNets, MedMNIST's, DomainBed's (on published weights), and the
    DenseNets of WILDS and Fish.
    """
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d | nn.BatchNorm3d):
            for value, start in (
                (module.weight, 1), (module.running_var, 1),
                (module.bias, 0), (module.running_mean, 0),
            ):  # fmt: skip
                assert torch.equal(value, torch.full_like(value, start))
    bound = 1 / math.sqrt(model.dim)
    for value in (model.head.weight, model.head.bias):
        assert uniform_p(value.detach().double(), bound) > SMALLEST


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("resnet18", 20), ("resnet50", 53)])
def test_torchs_own_first_weights_in_every_layer(build, name, count):
    """MedMNIST's 28-pixel networks set none, so a layer has Kaiming uniform with a = sqrt(5).

    That is U(-b, b) with b = gain sqrt(3 / fan in), gain = sqrt(2 / (1 + 5)): 1 / sqrt(fan in).
    """
    model = build(name, 1, 40, (28, 28), width=0.25, init="torch")
    found = dict(convolutions(model))
    assert len(found) == count
    for layer, weight in found.items():
        bound = 1 / math.sqrt(math.prod(weight.shape[1:]))
        assert uniform_p(weight, bound) > SMALLEST, layer
        sd = bound / math.sqrt(3)
        assert weight.std().item() == pytest.approx(sd, rel=4 / math.sqrt(weight.numel())), layer
        assert abs(weight.mean().item()) < 5 * sd / math.sqrt(weight.numel()), layer
    check_rest(model)


def test_a_layer_of_torch_has_the_law_that_is_asked_of_ours():
    for layer in (nn.Conv2d(16, 32, 3), nn.Conv2d(64, 64, 1), AcsConv3d(16, 32, 3)):
        weight = layer.weight.detach().double()
        assert uniform_p(weight, 1 / math.sqrt(math.prod(weight.shape[1:]))) > SMALLEST
        assert weight.ndim == 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stem"), [("resnet18", "small"), ("resnet50", "imagenet")])
def test_torchvisions_first_weights_in_every_layer(build, name, stem):
    """Source: torchvision's ResNet, Kaiming normal over the fan out; no zero-init-residual."""
    model = build(name, 1, 40, (28, 28), width=0.125, stem=stem)
    for layer, weight in convolutions(model):
        sd = math.sqrt(2 / (weight.shape[0] * math.prod(weight.shape[2:])))
        assert normal_p(weight, sd) > SMALLEST, layer
    check_rest(model)


@pytest.mark.parametrize("init", ["torch", "kaiming"])
def test_the_start_is_drawn_before_conversion_so_kernels_are_the_2d_networks(build, init):
    """As MedMNIST's scripts convert: with the weights of the fresh 2D network."""
    flat = dict(convolutions(build("resnet18", 1, 3, (28, 28), width=0.125, init=init)))
    for conv in ("acs", "2.5d", "3d"):
        model = build("resnet18", 1, 3, (28,) * 3, width=0.125, conv=conv, init=init)
        for name, weight in convolutions(model):
            torch.testing.assert_close(weight, flat[name])


@pytest.mark.slow
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("stem", ["small", "imagenet"])
def test_densenet_starts_as_torchvisions(build, axes, stem):
    """Source: WILDS takes torchvision's DenseNet, Kaiming normal over the fan in, norms 1 and 0.

    Its head is replaced by a fresh `Linear`, as is Fish's, so its bias is not 0.
    """
    model = build("densenet121", 1, 40, (32,) * axes, width=0.25, stem=stem)
    count = 0
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d | nn.Conv3d):
            weight = module.weight.detach().double()
            sd = math.sqrt(2 / math.prod(weight.shape[1:]))
            assert normal_p(weight, sd) > SMALLEST, name
            assert module.bias is None
            count += 1
    assert count == 120
    check_rest(model)


def test_a_network_of_timm_keeps_timms_start_and_gets_torchs_head(build):
    pytest.importorskip("timm")
    import timm

    model = build("timm", 3, 40, (32, 32), network="test_resnet")
    torch.manual_seed(0)
    theirs = timm.create_model("test_resnet", num_classes=0)
    for name, value in theirs.state_dict().items():
        ours = model.network.state_dict()[name]
        assert ours.double().std(correction=0) == pytest.approx(
            value.double().std(correction=0).item(), rel=0.2, abs=1e-9
        ), name
    bound = 1 / math.sqrt(model.dim)
    assert uniform_p(model.head.weight.detach().double(), bound) > SMALLEST


@pytest.mark.parametrize(
    ("run", "init"),
    [
        ("retinamnist_erm", "torch"),
        ("fracturemnist3d_erm", "torch"),
        ("fracturemnist3d_224up_erm", "torch"),
        ("dermamnist_224up_erm", "kaiming"),
    ],
)
def test_each_medmnist_recipe_pins_the_start_of_its_source(run, init):
    config = load_config(run)
    assert config.model.init == config.pinned["model.init"] == init
    other = {"torch": "kaiming", "kaiming": "torch"}[init]
    assert load_config(run, [f"model.init={other}"]).protocol == f"{config.protocol}+modified"
