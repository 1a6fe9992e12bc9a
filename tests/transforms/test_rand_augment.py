"""The generic augmentation, against its operations in Pillow, one picture at a time."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageEnhance, ImageOps

from medldr.transforms import ImageShape, build_pixel_rule, rand_augment
from medldr.transforms._rand_augment_pool import POOL, cutout
from medldr.transforms.rand_augment import RandAugment


def moved(picture, *six):
    return picture.transform(picture.size, Image.Transform.AFFINE, six)


IN_PILLOW = {
    "autocontrast": lambda p, v: ImageOps.autocontrast(p),
    "brightness": lambda p, v: ImageEnhance.Brightness(p).enhance(v),
    "colour": lambda p, v: ImageEnhance.Color(p).enhance(v),
    "contrast": lambda p, v: ImageEnhance.Contrast(p).enhance(v),
    "equalize": lambda p, v: ImageOps.equalize(p),
    "identity": lambda p, v: p,
    "posterize": lambda p, v: ImageOps.posterize(p, int(v)),
    "rotate": lambda p, v: p.rotate(v),
    "sharpness": lambda p, v: ImageEnhance.Sharpness(p).enhance(v),
    "shear_x": lambda p, v: moved(p, 1, v, 0, 0, 1, 0),
    "shear_y": lambda p, v: moved(p, 1, 0, 0, v, 1, 0),
    "solarize": lambda p, v: ImageOps.solarize(p, v),
    "translate_x": lambda p, v: moved(p, 1, 0, v * p.size[0], 0, 1, 0),
    "translate_y": lambda p, v: moved(p, 1, 0, 0, 0, 1, v * p.size[1]),
}
RANGES = {
    **dict.fromkeys(("brightness", "colour", "contrast", "sharpness"), (0.05, 0.95)),
    **dict.fromkeys(("shear_x", "shear_y", "translate_x", "translate_y"), (-0.3, 0.3)),
    **dict.fromkeys(("autocontrast", "equalize", "identity"), (0, 1)),
    "posterize": (4, 8),
    "rotate": (-30, 30),
    "solarize": (0, 256),
}
GEOMETRIC = {"rotate", "shear_x", "shear_y", "translate_x", "translate_y"}


def pillow(image):
    return Image.fromarray(image.permute(1, 2, 0).numpy())


def pixels(picture):
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1)


@pytest.fixture(scope="module")
def pictures():
    """Smooth pictures with a little noise that do not use the whole range of grey levels."""
    random = np.random.default_rng(0)
    y, x = np.indices((40, 56)) / 40
    waves = [np.sin(3 * x * k + y) * np.cos(2 * y * k) for k in random.uniform(1, 3, 21)]
    images = 120 + 80 * np.stack(waves).reshape(7, 3, 40, 56) + random.normal(0, 5, (7, 3, 40, 56))
    return torch.from_numpy(images.clip(0, 255).astype(np.uint8))


def test_the_pool_and_its_ranges_are_those_of_wilds():
    assert {name: (o.low, o.high) for name, o in POOL.items()} == RANGES
    assert len(POOL) == 14


@pytest.mark.parametrize("name", sorted(IN_PILLOW))
def test_every_operation_equals_pillows(name, pictures):
    low, high = RANGES[name]
    before = pictures.clone()
    values = torch.linspace(low + 0.01 * (high - low), low + 0.97 * (high - low), len(pictures))
    ours = POOL[name].change(pictures, values)
    assert ours.dtype == torch.uint8
    assert torch.equal(pictures, before)
    wanted = torch.stack(
        [
            pixels(IN_PILLOW[name](pillow(image), float(value)))
            for image, value in zip(pictures, values, strict=True)
        ]
    )
    levels = (ours.int() - wanted.int()).abs()
    if name in GEOMETRIC:
        # Which neighbour is nearest may be decided otherwise where two are equally near.
        assert levels.gt(0).double().mean() < 2e-3
    else:
        assert levels.max() <= 2
    if name != "identity":
        assert not torch.equal(ours, pictures)


@pytest.mark.parametrize(
    ("edge", "x", "y"), [(10.7, 20.3, 30.9), (19.9, 3.2, 39.5), (0.0, 55.9, 0.0), (27.6, 50.0, 5.0)]
)
def test_cutout_covers_what_pillow_covers(pictures, edge, x, y):
    left, top = int(max(0, x - edge / 2)), int(max(0, y - edge / 2))
    picture = pillow(pictures[0])
    corners = (left, top, min(56, left + edge), min(40, top + edge))
    ImageDraw.Draw(picture).rectangle(corners, (125, 123, 114))
    ours = cutout(pictures[:1], *(torch.tensor([number]) for number in (edge, x, y)))
    assert torch.equal(ours[0], pixels(picture))


def test_a_whole_augmentation_is_mirror_operations_and_square_in_this_order(pictures):
    names = list(POOL)
    augment = RandAugment(operations=2, flip=0.5, cutout=0.5)
    uniform = torch.from_numpy(np.random.default_rng(3).random((7, 8), dtype=np.float32))
    ours = augment(pictures, uniform)
    for row, (image, u) in enumerate(zip(pictures, uniform.tolist(), strict=True)):
        wanted = image.flip(-1) if u[0] < 0.5 else image
        for which, strength in ((u[1], u[2]), (u[3], u[4])):
            operation = POOL[names[int(which * 14)]]
            value = torch.tensor([operation.low + strength * (operation.high - operation.low)])
            wanted = operation.change(wanted[None], value)[0]
        edge, x, y = u[5] * 0.5 * 56, u[6] * 56, u[7] * 40
        wanted = cutout(wanted[None], *(torch.tensor([n]) for n in (edge, x, y)))[0]
        assert (ours[row].int() - wanted.int()).abs().max() <= 1


def test_the_preset_augments_training_pictures_alone_then_resizes_and_normalises(pictures):
    shape = ImageShape(3, (40, 56))
    rule = build_pixel_rule(rand_augment.Config(size=64), shape)
    plain = build_pixel_rule(rand_augment.Config(size=64, operations=0, flip=0, cutout=0), shape)
    assert rule.output == (3, (64, 64))
    assert torch.equal(rule(pictures, train=False), plain(pictures, train=False))
    uniform = torch.from_numpy(np.random.default_rng(3).random((7, 8), dtype=np.float32))
    changed = RandAugment(2, 0.5, 0.5)(pictures, uniform)
    assert torch.equal(rule(pictures, train=True, uniform=uniform), plain(changed, train=False))
