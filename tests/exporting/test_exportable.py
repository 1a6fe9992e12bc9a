"""Stored pixels in, medldr's own numbers out."""

import pytest
import torch
from torch.nn.functional import interpolate

from medldr.errors import InputError
from medldr.exporting.exportable import FreeBatch, make_exportable, weights
from medldr.transforms import ImageShape, build_pipeline, medmnist, natural, scan
from medldr.transforms._resize import resized

CASES = {
    "grey, repeated": (1, (8, 6), "uint8", medmnist.Config(channels=3), (3, (8, 6))),
    "colour": (3, (20, 14), "uint8", natural.Config(size=16), (3, (16, 16))),
    "floats": (1, (8, 6), "float32", scan.Config(size=5, mean=0.3, std=0.2), (1, (5, 5))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("task", "temperature"), [("multi-class", None), ("multi-label", 1.7)])
def test_its_answers_are_those_of_pixel_rule_and_network(
    case, task, temperature, tiny, record_of, stored_images
):
    channels, size, dtype, config, given = CASES[case]
    record = record_of(
        channels,
        size,
        dtype=dtype,
        transform=config.model_dump(mode="json", exclude={"train"}),
        given=given,
        task=task,
        temperature=temperature,
    )
    model = tiny(given[0])
    images = stored_images(record)
    pipeline = build_pipeline(config, ImageShape(channels, size), floating=dtype == "float32")
    with torch.no_grad():
        logits, probabilities = make_exportable(model, record)(images.float())
        expected = model(pipeline.evaluate(images))
    scaled = expected / (temperature or 1)
    torch.testing.assert_close(logits, expected, rtol=0, atol=0)
    wanted = scaled.sigmoid() if task == "multi-label" else scaled.softmax(1)
    torch.testing.assert_close(probabilities, wanted, rtol=0, atol=0)
    assert probabilities.std(0).max() > 1e-3


def test_pixels_between_whole_numbers_are_rounded_as_a_picture_would(tiny, record_of):
    module = make_exportable(tiny(), record_of(1, (4, 4)))
    with torch.no_grad():
        rounded = module(torch.full((1, 1, 4, 4), 300.0))[0]
        assert torch.equal(rounded, module(torch.full((1, 1, 4, 4), 255.0))[0])
        assert torch.equal(
            module(torch.full((1, 1, 4, 4), 99.6))[0], module(torch.full((1, 1, 4, 4), 100.0))[0]
        )


def test_the_network_stays_as_it_was(tiny, record_of):
    model = tiny().train()
    module = make_exportable(model, record_of(1, (4, 4)))
    assert model.training
    assert not module.training
    assert not any(p is q for p in model.parameters() for q in module.parameters())


@pytest.mark.parametrize(
    ("transform", "more", "message"),
    [
        (
            {"name": "none", "eval": ["NormalizeIntensity", {"Resize": {"spatial_size": [4, 4]}}]},
            {},
            r"transform\.eval: MONAI transforms .* left empty",
        ),
        (
            {"name": "scan", "sice": 4},
            {},
            r"preprocessing\.json: transform\.sice: .* Use the version",
        ),
        ({"name": "scan", "size": 8}, {}, r"makes images of 1 x 8 x 8, but input says 1 x 4 x 4"),
        ({"name": "scan"}, {"classes": 2}, r"class_names has 2 names, .* 3 outputs"),
    ],
)
def test_what_cannot_be_exported_is_told(transform, more, message, tiny, record_of):
    with pytest.raises(InputError, match=message):
        make_exportable(tiny(), record_of(1, (4, 4), transform=transform, **more))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("has", "wanted"), [(1, 5), (28, 224), (200, 17)])
def test_weights_are_those_of_torch(has, wanted, mode):
    lines, found = torch.eye(has)[None, None], torch.from_numpy(weights(has, wanted, mode))
    expected = interpolate(lines, (wanted, has), mode=mode, antialias=True)[0, 0]
    torch.testing.assert_close(found, expected, rtol=0, atol=4e-6)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    ("shape", "size"), [((2, 3, 40, 31), (24, 50)), ((2, 2, 9, 14, 11), (6, 14, 20))]
)
def test_resizing_within_it_is_the_same(shape, size, mode):
    image = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    with FreeBatch():
        found = resized(image, size, mode)
    torch.testing.assert_close(found, resized(image, size, mode), rtol=0, atol=4e-6)


def test_channels_taken_apart_can_be_changed_in_place():
    image = torch.zeros(2, 3, 4)
    with FreeBatch():
        for number, channel in enumerate(image.unbind(1)):
            channel.add_(number)
    assert image.mean((0, 2)).tolist() == [0, 1, 2]
