"""The ResNets against torchvision's and against published parameter counts."""

import pytest
import torch
from torchvision.models import resnet18, resnet50

from medldr.models.base import NARROW


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("channels", "classes", "size", "keys", "expected"),
    [
        (3, 7, (28, 28), {}, 11_172_423),
        (1, 11, (28, 28), {}, 11_173_323),
        (1, 4, (28, 28), {}, 11_169_732),
        (1, 3, (28, 28, 28), {"conv": "acs"}, 11_169_219),
        (1, 3, (28, 28, 28), {"conv": "2.5d"}, 11_169_219),
        (1, 3, (28, 28, 28), {"conv": "3d"}, 33_141_315),
        (3, 7, (224, 224), {"stem": "imagenet"}, 11_180_103),
    ],
)
def test_resnet18_has_the_published_number_of_parameters(
    build, channels, classes, size, keys, expected
):
    assert count(build("resnet18", channels, classes, size, **keys)) == expected


def test_resnet50_has_the_published_number_of_parameters(build):
    assert count(build("resnet50", 3, 7, (28, 28))) == 23_514_695


@pytest.mark.parametrize(
    ("name", "dim", "published"),
    [
        ("resnet18", 512, 11_689_512),
        ("resnet50", 2048, 25_557_032),
    ],
)
def test_latents_and_parameters_are_those_of_imagenets_networks(build, name, dim, published):
    """Counts are torchvision's, of which the head of 1,000 classes and its bias are not ours."""
    model = build(name, 3, 5, (64, 64), stem="imagenet")
    assert model.dim == model.head.in_features == dim
    assert count(model) - count(model.head) == published - 1000 * (dim + 1)


@pytest.mark.parametrize(("name", "reference"), [("resnet18", resnet18), ("resnet50", resnet50)])
def test_equals_torchvision_with_the_same_weights(build, name, reference):
    model = build(name, 3, 5, (32, 32), stem="imagenet").eval()
    theirs = reference(num_classes=5).eval()
    theirs.load_state_dict(
        {
            key.replace("network.", "").replace("head.", "fc."): value
            for key, value in model.state_dict().items()
        }
    )
    image = torch.randn(2, 3, 40, 32)
    with torch.inference_mode():
        torch.testing.assert_close(model(image), theirs(image), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [2, 3])
def test_the_small_stem_keeps_28_pixels_and_each_later_stage_halves_them(build, axes):
    model = build("resnet18", 1, 3, (28,) * axes, width=0.125).eval()
    sizes, widths = [], []
    taps = {
        stage: lambda value: sizes.append(value.shape[2:]) or widths.append(value.shape[1]) or value
        for stage in model.stages
    }
    with torch.inference_mode():
        z = model.features(torch.rand(1, 1, *(28,) * axes), taps)
    assert [tuple(s) for s in sizes] == [(n,) * axes for n in (28, 28, 14, 7, 4)]
    assert tuple(widths) == model.stage_dims == (8, 8, 16, 32, 64)
    assert z.shape == (1, 64)


def test_width_scales_bottlenecks_too(build):
    model = build("resnet50", 3, 2, (8, 8), width=0.125)
    assert model.stage_dims == (8, 32, 64, 128, 256)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("conv", ["acs", "2.5d", "3d"])
def test_a_volume_lies_channels_last_through_the_whole_network(build, channels, conv):
    model = build("resnet18", channels, 2, (8, 8, 8), width=0.125, conv=conv).to_fast_memory()
    layouts = {}

    def look(stage):
        def tap(value):
            layouts[stage] = value.is_contiguous(memory_format=model.memory_format)
            return value

        return tap

    model.features(torch.rand(2, channels, 8, 8, 8), {s: look(s) for s in model.stages})
    assert all(layouts.values())
    assert len(layouts) == 5


def test_pictures_lie_channels_first_in_a_network_of_few_channels(build):
    """Channels last, torch's kernel for the gradient of its 1x1 convolutions spoils the heap."""
    narrow = build("resnet18", 3, 2, (8, 8), width=0.125).to_fast_memory()
    kept = {}
    image = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    narrow.features(image, {"stage1": lambda v: kept.setdefault("value", v)}).sum().backward()
    assert min(narrow.stage_dims) < NARROW
    assert kept["value"].is_contiguous()
    assert not kept["value"].is_contiguous(memory_format=torch.channels_last)
    wide = build("resnet18", 3, 2, (8, 8), width=0.25)
    assert wide.memory_format == torch.channels_last
