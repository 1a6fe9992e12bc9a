"""The preset for CIFAR, against torchvision and NumPy, one picture at a time."""

import numpy as np
import pytest
import torch
from torchvision.transforms import autoaugment as older
from torchvision.transforms import v2 as published
from torchvision.transforms.v2 import functional

from medldr.transforms import ImageShape, build_pixel_rule
from medldr.transforms._policies import RANDOM_POOL, SUB_POLICIES
from medldr.transforms._policy_operations import Choice, operate
from medldr.transforms.cifar import CIFAR_MEAN, CIFAR_STD, Config, cutout, random_crop

SHAPE = ImageShape(3, (32, 32))
IN_TORCHVISION = {
    "autocontrast": "AutoContrast",
    "brightness": "Brightness",
    "colour": "Color",
    "contrast": "Contrast",
    "equalize": "Equalize",
    "identity": "Identity",
    "invert": "Invert",
    "posterize": "Posterize",
    "rotate": "Rotate",
    "sharpness": "Sharpness",
    "shear_x": "ShearX",
    "shear_y": "ShearY",
    "solarize": "Solarize",
    "translate_x": "TranslateX",
    "translate_y": "TranslateY",
}
PLAIN = {"autocontrast", "equalize", "identity", "invert"}


@pytest.fixture(scope="module")
def pictures():
    random = np.random.default_rng(0)
    y, x = np.indices((32, 32)) / 32
    waves = [np.sin(9 * x * k + y) * np.cos(6 * y * k) for k in random.uniform(0.3, 1, 72)]
    images = (
        120 + 80 * np.stack(waves).reshape(24, 3, 32, 32) + random.normal(0, 5, (24, 3, 32, 32))
    )
    return torch.from_numpy(images.clip(0, 255).astype(np.uint8))


def numbers(rows, draws, seed=0):
    return torch.rand(rows, draws, generator=torch.Generator().manual_seed(seed))


def in_torchvision(image, name, magnitude, fill):
    """An operation as torchvision's own policies apply it."""
    nearest = functional.InterpolationMode.NEAREST
    key, fills = IN_TORCHVISION[name], {torch.Tensor: [float(fill)] * 3}
    policy = published.RandAugment()
    magnitude /= 255 if name == "solarize" else 1  # there it is a part of the brightest level
    return policy._apply_image_or_video_transform(image, key, magnitude, nearest, fills)


def magnitude_of(name, strength):
    """A strength in torchvision's units, on pictures of 32 pixels."""
    if name in PLAIN:
        return 0.0
    most = {"rotate": 30, "posterize": 4, "solarize": 256}.get(name, 0.9)
    most = {"shear": 0.3, "trans": 150 / 331 * 32}.get(name[:5], most)
    if name == "posterize":
        return 8 - np.round(most * strength)
    return 256 - most * strength if name == "solarize" else most * strength


def test_the_sub_policies_are_the_published_ones():
    theirs = older.AutoAugment(older.AutoAugmentPolicy.CIFAR10).policies
    ours = [
        tuple((IN_TORCHVISION[n], p, None if n in PLAIN else level) for n, p, level in pair)
        for pair in SUB_POLICIES
    ]
    assert ours == theirs
    pool = older.RandAugment()._augmentation_space(31, (32, 32))
    assert [IN_TORCHVISION[name] for name in RANDOM_POOL] == list(pool)


@pytest.mark.parametrize("bins", [10, 31])
def test_ranges_are_torchvisions_but_for_solarize(bins):
    policy = older.AutoAugment(older.AutoAugmentPolicy.CIFAR10)
    for name, (values, _) in policy._augmentation_space(bins, (32, 32)).items():
        (ours,) = [k for k, v in IN_TORCHVISION.items() if v == name]
        if ours in PLAIN:
            continue
        found = [magnitude_of(ours, level / (bins - 1)) for level in range(bins)]
        within = 1.001 if ours == "solarize" else 1e-4
        np.testing.assert_allclose(found, values.numpy(), atol=within)


@pytest.mark.parametrize("name", IN_TORCHVISION)
@pytest.mark.parametrize("strength", [0.0, 2 / 9, 0.3, 1.0])
def test_every_operation_equals_torchvisions(name, strength, pictures):
    signs = (1,) if name in PLAIN | {"posterize", "solarize"} else (1, -1)
    for sign in signs:
        before = pictures.clone()
        found = operate(pictures, Choice(name, strength, sign), 128)
        assert torch.equal(pictures, before)
        for own, image in zip(found, pictures, strict=True):
            magnitude = sign * magnitude_of(name, strength)
            if name == "solarize" and magnitude > 255:
                assert torch.equal(own, image)
                continue
            assert torch.equal(own, in_torchvision(image, name, magnitude, 128))
            # torchvision's first functions round a few grey levels otherwise.
            nearest, key = functional.InterpolationMode.NEAREST, IN_TORCHVISION[name]
            other = older._apply_op(image, key, magnitude, nearest, [128.0] * 3)
            assert (own.int() - other.int()).abs().max() <= 1


def one_by_one(image, row, config):
    """A training picture by NumPy and torchvision, from the same numbers."""
    row = row.tolist()
    framed = np.pad(image.numpy(), ((0, 0), *[(config.padding,) * 2] * 2))
    top, left = (int(number * (2 * config.padding + 1)) for number in row[:2])
    cut = framed[:, top : top + 32, left : left + 32]
    cut = torch.from_numpy(np.flip(cut, 2).copy() if row[2] < config.flip else cut.copy())
    if config.policy == "auto_augment":
        pair = SUB_POLICIES[int(row[3] * 25)]
        for (name, probability, level), drawn, side in zip(pair, row[4:6], row[6:8], strict=True):
            if drawn < probability:
                signed = name not in PLAIN | {"posterize", "solarize"}
                sign = -1 if signed and side < 0.5 else 1
                cut = in_torchvision(cut, name, sign * magnitude_of(name, level / 9), 128)
    if config.policy == "rand_augment":
        k = config.operations
        for which, side in zip(row[3 : 3 + k], row[3 + k : 3 + 2 * k], strict=True):
            name = RANDOM_POOL[int(which * 14)]
            signed = name not in PLAIN | {"posterize", "solarize"}
            sign = -1 if signed and side < 0.5 else 1
            strength = config.magnitude / 30
            cut = in_torchvision(cut, name, sign * magnitude_of(name, strength), 0)
    scaled = cut.double().numpy() / 255
    if config.cutout:
        y, x = (int(number * 32) for number in row[-2:])
        half = config.cutout // 2
        scaled[:, max(0, y - half) : y + half, max(0, x - half) : x + half] = 0
    mean, std = (np.array(v).reshape(3, 1, 1) for v in (config.mean, config.std))
    return torch.from_numpy((scaled - mean) / std)


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"cutout": 16},
        {"policy": "auto_augment", "cutout": 16},
        {"policy": "rand_augment"},
        {"policy": "rand_augment", "operations": 3, "magnitude": 30, "padding": 0, "flip": 1.0},
        {"padding": 9, "flip": 0.0, "cutout": 7, "mean": (0.5,) * 3, "std": (0.25,) * 3},
    ],
    ids=str,
)
def test_a_training_picture_is_the_published_chain_from_the_same_numbers(keys, pictures):
    config = Config(**keys)
    rule = build_pixel_rule(config, SHAPE)
    for seed in range(2):
        uniform = numbers(len(pictures), rule.draws, seed)
        together = rule(pictures, train=True, uniform=uniform)
        for own, image, row in zip(together, pictures, uniform, strict=True):
            expected = one_by_one(image, row, config)
            torch.testing.assert_close(own.double(), expected, rtol=0, atol=1e-5)
            alone = rule(image[None], train=True, uniform=row[None])[0]
            assert torch.equal(alone, own)  # so no other picture of a batch matters


def test_evaluation_normalises_and_nothing_else(pictures):
    rule = build_pixel_rule(Config(policy="auto_augment", cutout=16), SHAPE)
    expected = functional.normalize(pictures.double() / 255, list(CIFAR_MEAN), list(CIFAR_STD))
    found = rule(pictures, train=False).double()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    assert (CIFAR_MEAN, CIFAR_STD) == ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))


def test_crops_come_from_every_place_and_numbers_just_below_1_stay_within():
    image = torch.arange(16, dtype=torch.float32).view(1, 1, 4, 4).expand(5000, 1, 4, 4) + 1
    found = random_crop(image, 1, numbers(5000, 2))
    assert len(torch.unique(found.flatten(1), dim=0)) == 9
    last = torch.full((1, 2), 1 - 2**-24)
    assert torch.equal(random_crop(image[:1], 1, last)[0, 0, :3, :3], image[0, 0, 1:, 1:])
    assert torch.equal(random_crop(image[:1], 0, last), image[:1])


def test_a_hole_is_cut_off_at_borders_and_covers_a_quarter_at_most():
    image = torch.ones(5000, 1, 32, 32)
    holes = (cutout(image, 16, numbers(5000, 2)) == 0).sum((1, 2, 3))
    assert holes.max() == 256
    assert holes.min() == 64  # in the corner
    # Along each axis 8 + min(8, distance to the border) pixels: on average 14 of 16.
    assert holes.float().mean().item() == pytest.approx(14.0**2, abs=2)
