"""Every preset, found by name, keeps the contract of `PixelRule`."""

import pytest
import torch

from medldr import plugins
from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pipeline, build_pixel_rule
from medldr.transforms.base import TransformConfig, memory_format

SHAPES = [ImageShape(1, (8, 8)), ImageShape(3, (8, 8)), ImageShape(1, (4, 8, 8))]
ONLY_COLOUR = {
    name
    for name in plugins.names("transforms")
    if plugins.facts("transforms", name).get("COLOUR_ONLY")
}
"""Presets that refuse grey pictures and volumes."""


def is_for(name, shape):
    return name not in ONLY_COLOUR or (shape.channels == 3 and len(shape.spatial_size) == 2)


def cases():
    for name in plugins.names("transforms"):
        for shape in SHAPES:
            if is_for(name, shape):
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


@pytest.mark.parametrize("name", sorted(ONLY_COLOUR))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_images_that_a_colour_preset_is_not_for_are_refused_by_name(name, shape):
    config = plugins.load("transforms", name).Config(name=name)
    if is_for(name, shape):
        assert build_pixel_rule(config, shape).output.channels == shape.channels
    else:
        with pytest.raises(InputError, match=rf"transform\.name: {name} is for colour pictures"):
            build_pixel_rule(config, shape)


def test_a_training_sample_is_the_same_alone_and_in_any_batch(case):
    """So ranks, workers and the place in the batch cannot change it."""
    _, _, rule, images = case
    uniform = torch.rand(len(images), rule.draws)
    together = rule(images, train=True, uniform=uniform)
    alone = [
        rule(image[None], train=True, uniform=numbers[None])
        for image, numbers in zip(images, uniform, strict=True)
    ]
    assert torch.equal(together, torch.cat(alone))
    backwards = rule(images.flip(0), train=True, uniform=uniform.flip(0))
    assert torch.equal(together, backwards.flip(0))


def test_only_the_given_numbers_decide_and_torchs_own_generator_is_left_alone(case):
    _, _, rule, images = case
    uniform = torch.rand(len(images), rule.draws)
    before = torch.get_rng_state()
    first = rule(images, train=True, uniform=uniform)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(rule(images, train=True, uniform=uniform), first)


def test_a_rule_that_draws_does_not_go_on_without_numbers(case):
    _, _, rule, images = case
    if rule.draws:
        with pytest.raises(ValueError, match="uniform"):
            rule(images, train=True)
