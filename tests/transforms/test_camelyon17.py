"""The preset for Camelyon17, against torchvision on Pillow pictures."""

import numpy as np
import pytest
import torch
from PIL import Image

from medldr.config import load_config
from medldr.transforms import ImageShape, build_pixel_rule, camelyon17, rand_augment
from medldr.transforms.stain_jitter import StainJitter

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
STORED = ImageShape(3, (96, 96))


@pytest.fixture(scope="module")
def patches():
    """Noise from fine to coarse, and edges between black and white."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (3, 3, 96, 96), dtype=np.uint8)
    images[1] = np.kron(random.integers(0, 256, (3, 12, 12), dtype=np.uint8), np.ones((8, 8)))
    images[2] = (np.indices((96, 96)).sum(0) // 7 % 2 * 255).astype(np.uint8)
    return torch.from_numpy(images)


def pillow(image):
    return Image.fromarray(image.permute(1, 2, 0).numpy())


@pytest.mark.parametrize("size", [96, 224, 48])
def test_it_equals_torchvision_on_a_pillow_picture_up_to_its_rounding(patches, size):
    from torchvision.transforms import Compose, Normalize, Resize, ToTensor

    steps = Compose([Resize((size, size)), ToTensor(), Normalize(MEAN.flatten(), STD.flatten())])
    ours = build_pixel_rule(camelyon17.Config(size=size), STORED)(patches, train=False)
    theirs = torch.stack([steps(pillow(image)) for image in patches])
    assert ours.shape == (3, 3, size, size)
    levels = ((ours - theirs) * STD).abs() * 255
    assert levels.max() <= (1e-3 if size == 96 else 1.01)


def test_the_stored_size_is_not_resized(patches):
    ours = build_pixel_rule(camelyon17.Config(), STORED)(patches, train=True)
    wanted = (patches.double() / 255 - MEAN.double()) / STD.double()
    np.testing.assert_allclose(ours, wanted, atol=1e-6)


def test_targeted_jitters_at_the_stored_resolution_then_resizes_and_rounds_nothing(patches):
    config = camelyon17.Config(size=224, targeted=True, sigma=0.3, probability=1)
    rule = build_pixel_rule(config, STORED)
    uniform = torch.rand(3, rule.draws, generator=torch.Generator().manual_seed(0))
    jittered = StainJitter(0.3, 1)(patches, uniform)
    ours = rule(patches, train=True, uniform=uniform) * STD + MEAN
    # Pillow resizes each channel in float32, without rounding, in its mode F.
    for image, got in zip(jittered, ours, strict=True):
        for channel, resized in zip(image, got, strict=True):
            picture = Image.fromarray(channel.numpy())
            wanted = np.asarray(picture.resize((224, 224), Image.Resampling.BILINEAR))
            np.testing.assert_allclose(resized, wanted, atol=1e-5)


def test_evaluation_never_jitters(patches):
    plain = build_pixel_rule(camelyon17.Config(size=224), STORED)
    targeted = build_pixel_rule(
        camelyon17.Config(size=224, targeted=True, probability=1, sigma=0.5), STORED
    )
    assert torch.equal(targeted(patches, train=False), plain(patches, train=False))
    uniform = torch.zeros(3, 7)
    assert not torch.equal(
        targeted(patches, train=True, uniform=uniform), plain(patches, train=True)
    )


def test_pictures_that_are_not_chosen_are_those_of_evaluation(patches):
    rule = build_pixel_rule(camelyon17.Config(targeted=True), STORED)
    uniform = torch.full((3, 7), 0.999)
    assert torch.equal(rule(patches, train=True, uniform=uniform), rule(patches, train=False))


@pytest.mark.parametrize(("prefix", "size"), [("camelyon17", 96), ("camelyon17_224", 224)])
def test_the_parts_are_the_three_augmentations_at_the_two_sizes(prefix, size):
    def transform(part):
        return load_config("phantom_fracture_erm", [f"transform={part}"]).transform

    assert transform(prefix) == camelyon17.Config(size=size)
    assert transform(f"{prefix}_targeted") == camelyon17.Config(size=size, targeted=True)
    assert transform(f"{prefix}_generic") == rand_augment.Config(size=size)
