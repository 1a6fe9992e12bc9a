"""Stored pixels are 8-bit or floats in [0, 1]: which presets take both, and to the same effect."""

import numpy as np
import pytest
import torch

from medldr import plugins
from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pipeline, build_pixel_rule, medmnist3d, none, scan
from medldr.transforms.base import memory_format, to_unit

TAKES = {
    name
    for name in plugins.names("transforms")
    if plugins.facts("transforms", name).get("TAKES_FLOAT")
}


def config_of(name, **keys):
    return plugins.load("transforms", name).Config(name=name, **keys)


def test_presets_of_colour_pictures_take_8_bits_alone_and_the_others_both():
    assert sorted(TAKES) == ["medmnist", "medmnist3d", "none", "scan"]


@pytest.mark.parametrize("name", plugins.names("transforms"))
def test_floats_are_refused_by_name_with_the_cure_unless_the_preset_takes_them(name):
    shape = ImageShape(3, (8, 8))
    if name in TAKES:
        assert build_pipeline(config_of(name), shape, floating=True).input == shape
    else:
        with pytest.raises(InputError, match=rf"transform\.name: {name} .*transform: scan, or"):
            build_pipeline(config_of(name), shape, floating=True)
    assert build_pipeline(config_of(name), shape).input == shape


def test_a_preset_of_another_package_must_say_that_it_takes_floats(tmp_path, monkeypatch):
    package = tmp_path / "lab_of_pixels"
    package.mkdir()
    text = "from medldr.transforms.none import Config, build\n"
    (package / "__init__.py").touch()
    (package / "silent.py").write_text(text)
    (package / "ready.py").write_text(text + "TAKES_FLOAT = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    shape = ImageShape(1, (4, 4))
    silent, ready = (
        none.Config.model_construct(name=f"lab_of_pixels.{name}") for name in ("silent", "ready")
    )
    assert build_pipeline(silent, shape).input == shape
    assert build_pipeline(ready, shape, floating=True).input == shape
    with pytest.raises(InputError, match=r"lab_of_pixels\.silent takes pictures of 8 bits"):
        build_pipeline(silent, shape, floating=True)


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "expanded"])
def test_to_unit_is_a_new_float32_from_0_to_1_for_both(layout):
    levels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    stored = {
        "contiguous": levels,
        "channels last": levels.expand(2, 3, 16, 16).contiguous(memory_format=memory_format(2)),
        "expanded": levels.expand(2, 3, 16, 16),
    }[layout]
    floats = stored.float() / 255
    before = floats.clone()
    for image in (stored, floats, floats.double()):
        unit = to_unit(image)
        assert unit.dtype == torch.float32
        assert torch.equal(unit, before)
        np.testing.assert_allclose(unit[0, 0].flatten(), np.arange(256) / 255, rtol=1e-7)
        unit.zero_()  # a copy: what is stored stays
    assert torch.equal(floats, before)
    assert stored.max() == 255


@pytest.mark.parametrize(
    ("name", "keys", "shape"),
    [
        ("medmnist", {"size": 24, "channels": 3}, ImageShape(1, (8, 8))),
        ("medmnist", {}, ImageShape(3, (8, 8))),
        ("medmnist3d", {"shape_transform": True}, ImageShape(1, (6, 5, 4))),
        ("medmnist3d", {"channels": 3}, ImageShape(1, (6, 5, 4))),
        ("scan", {"size": 7}, ImageShape(1, (6, 5, 4))),
    ],
)
@pytest.mark.parametrize("train", [True, False])
def test_equal_pictures_give_equal_input_bit_for_bit(name, keys, shape, train):
    images = torch.arange(256, dtype=torch.uint8).repeat(6)
    images = images[: 4 * shape.channels * int(np.prod(shape.spatial_size))]
    images = images.view(4, shape.channels, *shape.spatial_size)
    floats = images.float() / 255
    rule = build_pixel_rule(config_of(name, **keys), shape)
    uniform = torch.rand(4, rule.draws, generator=torch.Generator().manual_seed(0))
    from_bytes = rule(images, train=train, uniform=uniform)
    from_floats = rule(floats, train=train, uniform=uniform)
    assert torch.equal(from_bytes, from_floats)
    assert from_floats.is_contiguous(memory_format=memory_format(len(shape.spatial_size)))
    assert torch.equal(floats, images.float() / 255)


def test_without_a_rule_floats_are_as_stored():
    floats = torch.rand(2, 1, 4, 4)
    rule = build_pixel_rule(none.Config(), ImageShape(1, (4, 4)))
    assert torch.equal(rule(floats, train=True), floats)


@pytest.mark.parametrize(
    ("preset", "spatial"), [(none, (8, 8)), (medmnist3d, (8, 8, 8)), (scan, (8, 8))]
)
def test_lists_of_transforms_take_both(preset, spatial):
    config = preset.Config(
        train=({"RandGaussianNoise": {"prob": 1.0}},), eval=({"ScaleIntensity": {}},)
    )
    pipeline = build_pipeline(config, ImageShape(1, spatial), floating=True)
    images = torch.randint(0, 256, (3, 1, *spatial), dtype=torch.uint8)
    floats = images.float() / 255
    torch.testing.assert_close(pipeline.evaluate(images), pipeline.evaluate(floats))
    uniform = torch.rand(pipeline.rule.draws)
    views = [
        pipeline.sample(floats[0], train=True, uniform=uniform, entropy=(0, 0, n))
        for n in (1, 2, 1)
    ]
    assert torch.isfinite(torch.stack(views)).all()
    assert torch.equal(views[0], views[2])
    assert not torch.equal(views[0], views[1])
