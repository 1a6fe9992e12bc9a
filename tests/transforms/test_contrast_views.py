"""The preset for contrasted views, against torchvision, one picture at a time."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy import ndimage
from torchvision.transforms.v2 import functional

from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pixel_rule
from medldr.transforms._resized_crop import crops
from medldr.transforms.contrast_views import Config, blurred

CHANGES = {
    "brightness": functional.adjust_brightness,
    "contrast": functional.adjust_contrast,
    "saturation": functional.adjust_saturation,
    "hue": functional.adjust_hue,
}


@pytest.fixture(scope="module")
def pictures():
    random = np.random.default_rng(0)
    y, x = np.indices((40, 40)) / 40
    waves = [np.sin(6 * x * k + y) * np.cos(4 * y * k) for k in random.uniform(0.3, 1, 36)]
    images = 120 + 80 * np.stack(waves).reshape(12, 3, 40, 40)
    return torch.from_numpy(images.clip(0, 255).astype(np.uint8))


def numbers(rows, seed=0):
    return torch.rand(rows, 32, generator=torch.Generator().manual_seed(seed))


def one_by_one(image, row, config, size):
    """A training picture by torchvision's functions, from the same numbers."""
    row = row.double().tolist()
    part = crops(np.array([row[:22]]), *image.shape[1:], config.crop_scale, config.crop_ratio)
    top, left, tall, wide = (int(p[0]) for p in part)
    out = image.float() / 255
    out = functional.resized_crop(out, top, left, tall, wide, [size, size], antialias=True)
    if row[22] < config.flip:
        out = functional.horizontal_flip(out)
    if row[23] < config.jitter:
        for number in list(permutations(range(4)))[int(row[24] * 24)]:
            name = list(CHANGES)[number]
            amount = getattr(config, name)
            low, high = (-amount, amount) if name == "hue" else (1 - amount, 1 + amount)
            out = CHANGES[name](out, low + (high - low) * row[25 + number])
    if row[29] < config.grey:
        out = functional.rgb_to_grayscale(out, num_output_channels=3)
    if row[30] < config.blur:
        low, high = config.blur_sigma
        sigma = low + (high - low) * row[31]
        out = functional.gaussian_blur(out, [2 * math.ceil(3 * sigma) + 1] * 2, [sigma] * 2)
    return functional.normalize(out, list(config.mean), list(config.std))


@pytest.mark.parametrize(
    "keys",
    [{}, {"size": 32, "blur": 0.0}, {"jitter": 1.0, "grey": 0.0, "blur": 1.0, "flip": 1.0}],
    ids=str,
)
def test_a_training_picture_is_the_published_chain_from_the_same_numbers(keys, pictures):
    config = Config(**keys)
    rule = build_pixel_rule(config, ImageShape(3, (40, 40)))
    size = rule.output.spatial_size[0]
    for seed in range(2):
        uniform = numbers(len(pictures), seed)
        ours = rule(pictures, train=True, uniform=uniform)
        for own, image, row in zip(ours, pictures, uniform, strict=True):
            expected = one_by_one(image, row, config, size)
            torch.testing.assert_close(own, expected, rtol=0, atol=5e-5)


@pytest.mark.parametrize("sigma", [0.1, 0.7, 2.0])
def test_the_blur_is_scipys_gaussian(sigma):
    image = torch.rand(3, 20, 24, generator=torch.Generator().manual_seed(1))
    reach = math.ceil(3 * sigma)
    expected = ndimage.gaussian_filter(
        image.double().numpy(), (0, sigma, sigma), mode="mirror", radius=(0, reach, reach)
    )
    found = blurred(image, sigma).double().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_picture_that_is_smaller_than_the_blur_is_blurred_as_far_as_it_goes():
    assert blurred(torch.eye(3)[None], 2.0).std() < 0.1


def test_evaluation_resizes_the_whole_picture_and_normalises(pictures):
    rule = build_pixel_rule(Config(size=20), ImageShape(3, (40, 40)))
    small = functional.resize(pictures.float() / 255, [20, 20], antialias=True)
    expected = functional.normalize(small, list(Config().mean), list(Config().std))
    torch.testing.assert_close(rule(pictures, train=False), expected, rtol=0, atol=1e-5)


def test_pictures_that_are_not_square_need_a_size():
    shape = ImageShape(3, (40, 56))
    with pytest.raises(InputError, match=r"transform\.size: contrast_views makes square"):
        build_pixel_rule(Config(), shape)
    assert build_pixel_rule(Config(size=48), shape).output.spatial_size == (48, 48)
