"""DomainBed's augmentation, against torchvision's operations, one picture at a time."""

from itertools import permutations

import numpy as np
import pytest
import torch
from PIL import Image
from pydantic import ValidationError
from torchvision import transforms as published
from torchvision.transforms.v2 import functional

from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pixel_rule
from medldr.transforms._colour import IMAGENET_MEAN, IMAGENET_STD
from medldr.transforms._colour_jitter import OPERATIONS, grey
from medldr.transforms._resized_crop import crops
from medldr.transforms.natural import Config, Natural

IN_TORCHVISION = {
    "brightness": functional.adjust_brightness,
    "contrast": functional.adjust_contrast,
    "saturation": functional.adjust_saturation,
    "hue": functional.adjust_hue,
}
DOMAINBED = (0.7, 1.0), (3 / 4, 4 / 3)


def numbers(rows, draws=Natural.draws, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((rows, draws), dtype=np.float32))


@pytest.fixture(scope="module")
def pictures():
    """Smooth pictures with noise; one is grey, one black, and one has a grey half."""
    random = np.random.default_rng(0)
    y, x = np.indices((40, 56)) / 40
    waves = [np.sin(3 * x * k + y) * np.cos(2 * y * k) for k in random.uniform(1, 3, 24)]
    images = 128 + 120 * np.stack(waves).reshape(8, 3, 40, 56) + random.normal(0, 9, (8, 3, 40, 56))
    images[1] = images[1, :1]
    images[2] = 0
    images[3, :, :20] = images[3, :1, :20]
    return torch.from_numpy(images.clip(0, 255).astype(np.uint8))


class Fed:
    """Stands for torch in torchvision's module and gives prepared numbers for random ones."""

    def __init__(self, row):
        self.attempts, self.places = iter(row[:20]), iter(row[20:])

    def __getattr__(self, name):
        return getattr(torch, name)

    def empty(self, size):
        fed = self

        class Empty:
            def uniform_(self, low, high):
                low, high = float(low), float(high)
                value = low + (high - low) * next(fed.attempts)
                return torch.tensor([value], dtype=torch.float64)

        return Empty()

    def randint(self, low, high, size):
        return torch.tensor([int(next(self.places) * high)])


@pytest.mark.parametrize(
    ("height", "width", "ranges"),
    [
        (224, 224, DOMAINBED),
        (40, 56, ((0.08, 1.0), (0.5, 2.0))),
        (90, 30, ((1.0, 1.0), (0.8, 0.9))),
        (3, 400, DOMAINBED),
    ],
)
def test_the_kept_part_is_torchvisions(height, width, ranges, monkeypatch):
    uniform = np.random.default_rng(1).random((200, 22))
    found = crops(uniform, height, width, *ranges)
    image = torch.empty(3, height, width)
    for row, ours in zip(uniform, zip(*found, strict=True), strict=True):
        monkeypatch.setattr(published.transforms, "torch", Fed(row.tolist()))
        wanted = published.RandomResizedCrop.get_params(image, *map(list, ranges))
        monkeypatch.undo()
        assert tuple(map(int, ours)) == tuple(wanted)


def test_numbers_just_below_1_stay_within_the_picture():
    top, left, height, width = crops(np.full((1, 22), 1 - 1e-17), 224, 224, (0.7, 0.7), (1.0, 1.0))
    assert (top + height).item() <= 224
    assert (left + width).item() <= 224


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.__name__)
def test_every_change_of_colour_equals_torchvisions(operation, pictures):
    image = pictures.float() / 255
    before = image.clone()
    low, high = (-0.5, 0.5) if operation.__name__ == "hue" else (0.0, 2.0)
    values = torch.linspace(low, high, len(image))
    ours = operation(image, values)
    assert torch.equal(image, before)
    for own, one, value in zip(ours, image, values.tolist(), strict=True):
        wanted = IN_TORCHVISION[operation.__name__](one, value)
        torch.testing.assert_close(own, wanted, rtol=0, atol=2e-6)
    assert (ours - image).abs().max() > 0.1


def test_grey_equals_torchvisions_and_pillows(pictures):
    image = pictures.float() / 255
    found = grey(image)
    torch.testing.assert_close(found, functional.rgb_to_grayscale(image), rtol=0, atol=1e-6)
    pillow = np.array(Image.fromarray(pictures[0].permute(1, 2, 0).numpy()).convert("L"))
    assert np.abs(found[0, 0].numpy() * 255 - pillow).max() < 1


def one_by_one(image, row, config):
    """A training picture by torchvision's functions, from the same numbers."""
    row = row.double().tolist()
    height, width = image.shape[1:]
    part = crops(np.array([row[:22]]), height, width, config.crop_scale, config.crop_ratio)
    top, left, tall, wide = (int(p[0]) for p in part)
    size = [config.size, config.size]
    out = image.float() / 255
    out = functional.resized_crop(out, top, left, tall, wide, size, antialias=True)
    if row[22] < config.flip:
        out = functional.horizontal_flip(out)
    for number in list(permutations(range(4)))[int(row[23] * 24)]:
        name = list(IN_TORCHVISION)[number]
        amount = getattr(config, name)
        low, high = (-amount, amount) if name == "hue" else (max(0, 1 - amount), 1 + amount)
        out = IN_TORCHVISION[name](out, low + (high - low) * row[24 + number])
    if row[28] < config.grey:
        out = functional.rgb_to_grayscale(out, num_output_channels=3)
    return functional.normalize(out, list(IMAGENET_MEAN), list(IMAGENET_STD))


@pytest.mark.parametrize(
    "keys",
    [
        {"size": 32},
        {"size": 64, "grey": 0.9, "flip": 1.0},
        {"size": 24, "crop_scale": (0.1, 0.3), "crop_ratio": (0.4, 0.6), "hue": 0.5},
        {"size": 32, "brightness": 1.5, "contrast": 2.0, "saturation": 0.0},
    ],
)
def test_a_training_picture_is_the_published_chain_from_the_same_numbers(keys, pictures):
    config = Config(**keys)
    rule = build_pixel_rule(config, ImageShape(3, (40, 56)))
    for seed in range(2):
        uniform = numbers(len(pictures), seed=seed)
        ours = rule(pictures, train=True, uniform=uniform)
        for own, image, row in zip(ours, pictures, uniform, strict=True):
            torch.testing.assert_close(own, one_by_one(image, row, config), rtol=0, atol=5e-5)


def test_evaluation_squashes_the_whole_picture_as_torchvision_does(pictures):
    rule = build_pixel_rule(Config(size=32), ImageShape(3, (40, 56)))
    wanted = published.Compose(
        [
            published.Resize((32, 32)),
            published.Normalize(IMAGENET_MEAN, IMAGENET_STD),
        ]
    )(pictures.float() / 255)
    torch.testing.assert_close(rule(pictures, train=False), wanted, rtol=0, atol=1e-5)
    in_pillow = published.Compose(
        [
            published.Resize((32, 32)),
            published.ToTensor(),
            published.Normalize(IMAGENET_MEAN, IMAGENET_STD),
        ]
    )
    for image in pictures:
        ours = rule(image[None], train=False)[0]
        rounded = in_pillow(Image.fromarray(image.permute(1, 2, 0).numpy()))
        # Published codes round to 8 bits, twice: first along one axis, then along the other.
        assert (ours - rounded).abs().max() < 1.1 / 255 / min(IMAGENET_STD)


def test_the_defaults_are_domainbeds():
    config = Config()
    assert (config.size, config.flip, config.grey) == (224, 0.5, 0.1)
    assert (config.crop_scale, config.crop_ratio) == DOMAINBED
    assert {getattr(config, name) for name in IN_TORCHVISION} == {0.3}
    assert config.augment_validation is False


def test_nothing_is_left_of_it_when_every_part_is_off(pictures):
    config = Config(
        size=40,
        crop_scale=(1, 1),
        crop_ratio=(1, 1),
        flip=0,
        brightness=0,
        contrast=0,
        saturation=0,
        hue=0,
        grey=0,
    )
    square = pictures[:, :, :, :40].contiguous()
    rule = build_pixel_rule(config, ImageShape(3, (40, 40)))
    trained = rule(square, train=True, uniform=numbers(len(square)))
    assert torch.equal(trained, rule(square, train=False))


@pytest.mark.parametrize("list_name", ["train", "eval"])
def test_augmented_validation_beside_lists_of_transforms_is_refused(list_name):
    config = Config(augment_validation=True, **{list_name: ("RandFlip",)})
    with pytest.raises(InputError, match=r"augment_validation: true.*Remove these lists"):
        build_pixel_rule(config, ImageShape(3, (28, 28)))


@pytest.mark.parametrize(
    "keys",
    [
        {"crop_scale": (0.9, 0.7)},
        {"crop_scale": (0.5, 1.1)},
        {"crop_ratio": (2.0, 1.0)},
    ],
    ids=str,
)
def test_ranges_that_do_not_fit_fail_in_the_config(keys):
    with pytest.raises(ValidationError):
        Config(**keys)
