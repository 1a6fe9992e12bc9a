"""Grad-CAM against its definition and MONAI's, and on fractures whose place is known."""

import copy
import functools
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from medldr import offline, plugins
from medldr.datasets._phantoms.rib import Fracture, Rib, render
from medldr.datasets._phantoms.scanner import SCANNERS, acquire
from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import grad_cam
from medldr.models import build_model
from medldr.types import DataSpec

SMALL = {"stem": "small", "width": 0.125}
NETWORKS = {  # name: plug-in, size of the images, keys, a stage and the module that ends it
    "resnet18": ("resnet18", (16, 20), SMALL, "stage3", "network.layer3"),
    "resnet18 acs": ("resnet18", (12, 16, 14), SMALL | {"conv": "acs"}, "stage3", "network.layer3"),
    "resnet18 2.5d": ("resnet18", (8, 16, 8), SMALL | {"conv": "2.5d"}, "stage2", "network.layer2"),
    "resnet18 3d": ("resnet18", (8, 8, 12), SMALL | {"conv": "3d"}, "stage2", "network.layer2"),
    "densenet121": ("densenet121", (24, 16), SMALL, "stage3", "network.denseblock3"),
    "resnet32": ("resnet32", (24, 16), {"width": 0.125}, "stage2", "layer2"),
    "densenet121 3d": ("densenet121", (8, 8, 8), SMALL, "stage2", "network.denseblock2"),
    "timm resnet": ("timm", (32, 48), {"network": "test_resnet"}, "stage3", "network.layer3"),
    "timm convnext": (
        "timm",
        (64, 64),
        {"network": "test_convnext"},
        "stage3",
        "network.stages.2",
    ),
}


def build(name, size, *, channels=1, classes=3, **keys):
    spec = DataSpec("multi-class", tuple("abcdefgh"[:classes]), (1,) * classes, channels, size)
    model = build_model(plugins.load("models", name).Config(name=name, **keys), spec, seed=0)
    # Statistics and head of some training, so that nothing is zero, or the same for all channels.
    generator = torch.Generator().manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d | nn.BatchNorm3d):
            module.running_mean.normal_(0, 0.3, generator=generator)
            module.running_var.uniform_(0.3, 2, generator=generator)
    return model


def images(count, size, channels=1, seed=0):
    return torch.rand(count, channels, *size, generator=torch.Generator().manual_seed(seed))


@functools.cache
def built(case):
    name, size, keys, stage, module = NETWORKS[case]
    channels = 3 if name == "timm" else 1
    return build(name, size, channels=channels, **keys), images(2, size, channels), stage, module


@pytest.fixture(params=NETWORKS)
def case(request):
    """A network in training mode, two images, a stage in the middle and its module."""
    return copy.deepcopy(built(request.param))


some = pytest.mark.parametrize(
    "case", ["resnet18", "densenet121 3d", "timm convnext"], indirect=True
)


def linear(length, large):
    """Matrix ``(large, length)`` of linear enlargement between centres, the ends repeated."""
    at = ((np.arange(large) + 0.5) * length / large - 0.5).clip(0, length - 1)
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(length)))


def from_weights(weights, value, size):
    """The weighted sum of channels above zero, enlarged and divided by its maximum."""
    heat = np.maximum(0, np.tensordot(weights, value, 1))
    for axis, large in enumerate(size):
        enlarged = np.tensordot(linear(heat.shape[axis], large), heat, (1, axis))
        heat = np.moveaxis(enlarged, 0, axis)
    return heat / heat.max() if heat.max() > 0 else heat


def by_definition(model, image, stage):
    """Grad-CAM of one image for each class in float64, its gradients by finite differences.

    Adding a constant to a channel changes the logit by its gradient summed over positions.
    """
    model = copy.deepcopy(model).double().eval()
    seen = []

    def logits(shift):
        def tap(value):
            seen.append(value[0].numpy())
            return value + shift.reshape(*shift.shape, *[1] * (value.ndim - 2))

        rows = image.double().expand(len(shift), *image.shape)
        with torch.no_grad():
            return model.classify(model.features(rows, {stage: tap})).numpy()

    step = 1e-7 * torch.eye(model.stage_dims[model.stages.index(stage)], dtype=torch.float64)
    slope = (logits(step) - logits(-step)) / 2e-7
    weights = slope / np.prod(seen[0].shape[1:])
    return [from_weights(weight, seen[0], image.shape[1:]) for weight in weights.T]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["resnet18 3d", "timm convnext"], indirect=True)
def test_a_map_is_what_the_paper_defines(case):
    model, image, stage, _ = case
    maps = [grad_cam(model, image, [target] * 2, stage) for target in range(3)]
    assert {heat.shape for heat in maps} == {(2, *image.shape[2:])}
    assert {heat.dtype for heat in maps} == {torch.float32}
    for row, one in enumerate(image):
        expected = by_definition(model, one, stage)
        assert any(heat.max() == 1 for heat in expected)
        for heat, found in zip(expected, maps, strict=True):
            np.testing.assert_allclose(found[row], heat, atol=1e-4)


@pytest.mark.slow
def test_a_map_is_monais(case):
    model, image, stage, module = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        visualize = offline.load("monai.visualize")
    theirs = copy.deepcopy(model)
    cam = visualize.GradCAM(theirs, module, postprocessing=lambda heat: heat)
    for target in range(3):
        heat = cam(image.clone(), class_idx=target).detach()
        heat /= heat.amax(tuple(range(1, heat.ndim)), keepdim=True).clamp(min=1e-12)
        ours = grad_cam(model, image, [target] * 2, stage)
        torch.testing.assert_close(ours, heat.squeeze(1), atol=1e-5, rtol=0)


@some
def test_images_and_classes_of_a_batch_do_not_influence_each_other(case):
    model, image, stage, _ = case
    together = grad_cam(model, torch.cat([image, 3 * image]), torch.tensor([0, 1, 2, 0]), stage)
    assert (together.flatten(1).amax(1) == 1).sum() >= 2
    for row, (one, target) in enumerate(zip([*image, *3 * image], [0, 1, 2, 0], strict=True)):
        alone = grad_cam(model, one[None], [target], stage)
        torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=0)


@some
def test_the_network_and_the_callers_state_stay_as_they_were(case):
    model, image, *_ = case
    model.requires_grad_(False)
    kept = next(model.head.parameters())
    kept.requires_grad_(True).grad = torch.full_like(kept, 7.0)
    model.train()
    list(model.modules())[-1].eval()
    modes = [module.training for module in model.modules()]
    hooks = [len(module._forward_hooks) for module in model.modules()]
    before, given = copy.deepcopy(model.state_dict()), image.clone()
    random = torch.get_rng_state()
    grad_cam(model, image, [0, 1])
    assert [module.training for module in model.modules()] == modes
    assert [len(module._forward_hooks) for module in model.modules()] == hooks
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert torch.equal(kept.grad, torch.full_like(kept, 7.0))
    assert all(p.grad is None for p in model.parameters() if p is not kept)
    assert torch.equal(image, given)
    assert not image.requires_grad
    assert torch.equal(torch.get_rng_state(), random)


@some
def test_frozen_weights_change_no_map_and_stay_frozen(case):
    """Networks whose ReLUs overwrite their input, as most of these do, among them."""
    model, image, stage, _ = case
    expected = [grad_cam(model, image, [0, 1]), grad_cam(model, image, [0, 1], stage)]
    for frozen in (model, model.head):  # all of it, then all but the head
        for weight in frozen.parameters():
            weight.requires_grad_(not weight.requires_grad)
        flags = [weight.requires_grad for weight in model.parameters()]
        assert not all(flags)
        found = [grad_cam(model, image, [0, 1]), grad_cam(model, image, [0, 1], stage)]
        assert [weight.requires_grad for weight in model.parameters()] == flags
        assert all(weight.grad is None for weight in model.parameters())
        for heat, wanted in zip(found, expected, strict=True):
            assert heat.shape == (2, *image.shape[2:])
            assert torch.isfinite(heat).all()
            torch.testing.assert_close(heat, wanted)


def test_the_networks_tested_overwrite_their_inputs():
    """Else the test above would not show that this does no harm."""
    for conv in ({}, {"conv": "acs"}, {"conv": "3d"}):
        size = (16, 16, 16) if conv else (16, 16)
        model = build("resnet18", size, **SMALL | conv)
        assert any(isinstance(m, nn.ReLU) and m.inplace for m in model.modules())


def test_callers_may_be_in_inference_mode_or_autocast():
    model, image = build("resnet18", (16, 16), **SMALL), images(2, (16, 16))
    expected = grad_cam(model, image, [0, 1])
    for mode in (torch.inference_mode(), torch.no_grad(), torch.autocast("cpu", torch.bfloat16)):
        with mode:
            assert torch.equal(grad_cam(model, image.clone(), torch.tensor([0, 1])), expected)
            assert torch.is_grad_enabled() is isinstance(mode, torch.autocast)


@pytest.mark.parametrize(
    ("size", "keys", "expected"),
    [
        ((32, 32), {}, "stage3"),  # 8 positions along each axis, 4 in stage 4
        ((31, 24), {}, "stage2"),  # 16 and 12; 8 and 6 in stage 3
        ((28, 28, 28), {}, "stage3"),
        ((28, 28, 28), {"stem": "imagenet"}, "stage1"),  # 7, 7, 4, 2, 1
        ((2, 32, 32), {}, "stage4"),  # nowhere 7 along the first axis
        ((4, 4), {"stem": "imagenet"}, ""),
    ],
)
def test_by_default_the_last_stage_that_tells_places_apart_is_used(size, keys, expected):
    model, image = build("resnet18", size, **SMALL | keys), images(1, size)
    if not expected:
        with pytest.raises(InputError, match="a single position for images this small"):
            grad_cam(model, image, [0])
        return
    maps = {stage: grad_cam(model, image, [0], stage) for stage in model.stages}
    assert torch.equal(grad_cam(model, image, [0]), maps.pop(expected))
    assert not any(torch.equal(grad_cam(model, image, [0]), other) for other in maps.values())


def test_a_map_is_zero_where_nothing_speaks_for_the_class():
    model = build("resnet18", (16, 16), **SMALL)
    with torch.no_grad():
        model.head.weight[0] = -1  # outputs of a ReLU: none can speak for it
        model.head.weight[1] = 1
    found = grad_cam(model, images(2, (16, 16)), [0, 1], "stage4")
    assert found.flatten(1).amax(1).tolist() == [0, 1]
    assert grad_cam(model, images(0, (16, 16)), []).shape == (0, 16, 16)


def test_what_does_not_exist_is_refused_with_the_cure():
    model, image = build("resnet18", (16, 16), **SMALL), images(2, (16, 16))
    listed = r"Did you mean 'stage.*Its stages: stem, stage1, stage2, stage3, stage4$"
    with pytest.raises(InputError, match=rf"no stage 'stage5'\. {listed}"):
        grad_cam(model, image, [0, 1], "stage5")
    for target in ([0], [0, 3], [-1, 0], [0.0, 1.0], torch.zeros(2, 1, dtype=torch.long)):
        with pytest.raises(InputError, match=r"^target must be"):
            grad_cam(model, image, target)


def test_a_channels_last_transformer_with_maps_is_explained():
    network = "swin_tiny_patch4_window7_224"
    model, image = build("timm", (64, 64), channels=3, network=network), images(1, (64, 64), 3)
    kept = []

    def tap(value):
        kept.append(value.detach().requires_grad_())
        return kept[0]

    model.eval()
    logits = model.classify(model.features(image, {"stage2": tap}))[0]
    for target in range(3):
        (slope,) = torch.autograd.grad(logits[target], kept, retain_graph=True)
        weights, value = slope[0].mean((1, 2)).numpy(), kept[0][0].detach().numpy()
        found = grad_cam(model, image, [target], "stage2")
        np.testing.assert_allclose(found[0], from_weights(weights, value, (64, 64)), atol=1e-4)


def ribs(count, seed, size=32):
    """Volumes of ribs, every other one fractured, and where: anywhere along the rib.

    In the data set all fractures are near the middle, where a map may be for other reasons.
    """
    rng = np.random.default_rng(seed)
    volumes, places = [], []
    for number in range(count):
        fracture = replace(Fracture.draw(rng, "displaced"), place=rng.uniform(-16, 16))
        scene = render(Rib.draw(rng), fracture if number % 2 else None, size, rng)
        volumes.append(acquire(scene.density, SCANNERS[0], rng))
        places.append(np.argwhere(scene.mask).mean(0) if number % 2 else None)
    image = torch.from_numpy(np.stack(volumes)[:, None]).float() / 127.5 - 1
    return image, torch.arange(count) % 2, places


@pytest.mark.slow  # trains for half a minute
def test_a_network_trained_to_find_fractures_looks_at_them():
    """More of the map is near the fracture than near the others', let alone than by chance."""
    image, label, _ = ribs(400, seed=0)
    model = build("resnet18", (32, 32, 32), classes=2, stem="imagenet", width=0.25)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    random = torch.Generator().manual_seed(0)
    for _ in range(10):
        for rows in torch.randperm(400, generator=random).split(32):
            loss = nn.functional.cross_entropy(model(image[rows]), label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    image, label, places = ribs(80, seed=100)
    with torch.no_grad():
        right = model.eval()(image).argmax(1) == label
    assert right.float().mean() > 0.8
    found = np.flatnonzero(right & (label == 1))
    grid = np.indices((32, 32, 32))
    near = np.stack([  # within 8 mm, of 48
        np.square(grid - places[row][:, None, None, None]).sum(0) <= (32 * 8 / 48) ** 2
        for row in found
    ])  # fmt: skip
    heat = grad_cam(model, image[found], [1] * len(found)).double().numpy()
    mass = np.einsum("ixyz,jxyz->ij", heat, near) / heat.sum((1, 2, 3))[:, None]
    times = mass / near.mean((1, 2, 3))  # as much as if the map were the same everywhere
    own, others = times.diagonal(), times[~np.eye(len(found), dtype=bool)]
    print(f"own {own.mean():.2f}, others' {others.mean():.2f}, of {len(found)}")
    assert own.mean() > 1.3
    assert own.mean() > 1.1 * others.mean()
