"""Every preset, found by name, keeps the contract of `PixelRule`."""

import pytest
import torch

from medldr import plugins
from medldr.transforms import ImageShape, build_pipeline, build_pixel_rule
from medldr.transforms.base import TransformConfig, memory_format

SHAPES = [ImageShape(1, (8, 8)), ImageShape(3, (8, 8)), ImageShape(1, (4, 8, 8))]
ONLY_2D: set[str] = set()
"""Presets that refuse volumes."""


def cases():
    for name in plugins.names("transforms"):
        for shape in SHAPES:
            if name not in ONLY_2D or len(shape.spatial_size) == 2:
                yield pytest.param((name, shape), id=f"{name}-{shape}")


@pytest.fixture(params=list(cases()))
def case(request):
    name, shape = request.param
    config = plugins.load("transforms", name).Config(name=name)
    images = torch.randint(0, 256, (5, shape.channels, *shape.spatial_size), dtype=torch.uint8)
    rule = build_pixel_rule(config, shape)
    return config, shape, rule, images


def apply(rule, images, *, train):
    uniform = torch.rand(len(images), rule.draws) if train and rule.draws else None
    return rule(images, train=train, uniform=uniform)


@pytest.mark.parametrize("train", [True, False])
def test_it_gives_finite_float32_of_the_shape_it_says(case, train):
    config, shape, rule, images = case
    assert isinstance(config, TransformConfig)
    out = apply(rule, images, train=train)
    assert out.dtype == torch.float32
    assert out.shape == (5, rule.output.channels, *rule.output.spatial_size)
    assert torch.isfinite(out).all()
    assert out.is_contiguous(memory_format=memory_format(len(shape.spatial_size)))
    assert build_pipeline(config, shape).output == rule.output


def test_it_leaves_the_stored_pixels_alone(case):
    _, _, rule, images = case
    before = images.clone()
    apply(rule, images, train=True).add_(1)
    assert torch.equal(images, before)


def test_evaluation_is_a_function_of_each_image_alone(case):
    _, _, rule, images = case
    together = rule(images, train=False)
    alone = torch.cat([rule(image[None], train=False) for image in images])
    assert torch.equal(together, alone)
    assert torch.equal(together, rule(images, train=False))
