"""The presets, against MONAI's chains and Pillow."""

import numpy as np
import pytest
import torch
from PIL import Image

from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pixel_rule, medmnist, medmnist3d, none

GREY = ImageShape(1, (28, 28))
RGB = ImageShape(3, (28, 28))
VOLUME = ImageShape(1, (8, 8, 8))


@pytest.fixture
def pictures():
    return torch.randint(0, 256, (4, 3, 28, 28), dtype=torch.uint8)


@pytest.fixture
def grey():
    return torch.arange(256, dtype=torch.uint8).repeat(8)[: 2 * 784].view(2, 1, 28, 28)


@pytest.fixture
def volumes():
    return torch.randint(0, 256, (3, 1, 8, 8, 8), dtype=torch.uint8)


def monai_chain(*steps):
    from monai.transforms import Compose

    chain = Compose(list(steps))
    return lambda batch: torch.stack([torch.as_tensor(chain(image.float())) for image in batch])


def test_medmnist_equals_its_monai_chain_bit_for_bit(pictures):
    from monai.transforms import NormalizeIntensity

    reference = monai_chain(NormalizeIntensity(subtrahend=127.5, divisor=127.5))
    ours = build_pixel_rule(medmnist.Config(), RGB)(pictures, train=True)
    assert torch.equal(ours, reference(pictures))


def test_medmnist_equals_scaling_then_normalising_by_one_half(grey):
    """ToTensor, then Normalize(0.5, 0.5), in float64."""
    ours = build_pixel_rule(medmnist.Config(), GREY)(grey, train=False)
    wanted = (grey.numpy().astype(np.float64) / 255 - 0.5) / 0.5
    np.testing.assert_allclose(ours.numpy(), wanted, atol=6e-8)
    assert ours.min() == -1
    assert ours.max() == 1


def test_upsampled_grey_equals_its_monai_chain_bit_for_bit(grey):
    from monai.transforms import NormalizeIntensity, RepeatChannel, Resize

    reference = monai_chain(
        Resize((224, 224), mode="nearest-exact"),
        RepeatChannel(3),
        NormalizeIntensity(subtrahend=127.5, divisor=127.5),
    )
    rule = build_pixel_rule(medmnist.Config(size=224, channels=3), GREY)
    assert rule.output == (3, (224, 224))
    assert torch.equal(rule(grey, train=True), reference(grey))


def upsampled(image):
    rule = build_pixel_rule(medmnist.Config(size=224), ImageShape(1, image.shape))
    scaled = rule(torch.from_numpy(image)[None, None], train=False)[0, 0]
    return scaled.mul(127.5).add(127.5).round().numpy()


@pytest.mark.parametrize("stored", [28, 64, 128])
def test_the_centre_of_each_new_pixel_decides_in_exact_arithmetic(stored):
    image = np.random.default_rng(0).integers(0, 256, (stored, stored), dtype=np.uint8)
    nearest = (2 * np.arange(224) + 1) * stored // 448
    assert np.array_equal(upsampled(image), image[nearest][:, nearest])


def test_28_to_224_equals_pillow_as_the_published_benchmark_used_it():
    image = np.random.default_rng(0).integers(0, 256, (28, 28), dtype=np.uint8)
    wanted = np.asarray(Image.fromarray(image).resize((224, 224), Image.Resampling.NEAREST))
    assert np.array_equal(upsampled(image), wanted)


def test_medmnist3d_equals_its_monai_chain_bit_for_bit(volumes):
    from monai.transforms import ScaleIntensityRange

    reference = monai_chain(ScaleIntensityRange(0, 255, 0, 1))
    ours = build_pixel_rule(medmnist3d.Config(), VOLUME)(volumes, train=True)
    assert torch.equal(ours, reference(volumes))


def test_medmnist3d_equals_the_official_item_of_the_package(volumes):
    """The `medmnist` package divides in float64; training casts to float32."""
    ours = build_pixel_rule(medmnist3d.Config(), VOLUME)(volumes, train=False)
    official = (volumes.numpy() / 255.0).astype(np.float32)
    assert np.array_equal(ours.numpy(), official)


def test_shape_transform_halves_in_evaluation_as_monai_does(volumes):
    from monai.transforms import ScaleIntensity, ScaleIntensityRange

    reference = monai_chain(
        ScaleIntensityRange(0, 255, 0, 1), ScaleIntensity(minv=None, maxv=None, factor=-0.5)
    )
    rule = build_pixel_rule(medmnist3d.Config(shape_transform=True), VOLUME)
    assert torch.equal(rule(volumes, train=False), reference(volumes))


def test_shape_transform_multiplies_each_sample_by_its_own_number_as_monai_does(volumes):
    from monai.transforms import ScaleIntensity, ScaleIntensityRange

    rule = build_pixel_rule(medmnist3d.Config(shape_transform=True), VOLUME)
    assert rule.draws == 1
    uniform = torch.tensor([[0.0], [0.3], [0.9]])
    ours = rule(volumes, train=True, uniform=uniform)
    for number, image, got in zip(uniform.tolist(), volumes, ours, strict=True):
        chain = monai_chain(
            ScaleIntensityRange(0, 255, 0, 1),
            ScaleIntensity(minv=None, maxv=None, factor=number[0] - 1),
        )
        torch.testing.assert_close(got[None], chain(image[None]), atol=1e-6, rtol=0)


def test_shape_transform_without_numbers_is_a_fault_and_not_a_silent_constant(volumes):
    rule = build_pixel_rule(medmnist3d.Config(shape_transform=True), VOLUME)
    with pytest.raises(ValueError, match="uniform"):
        rule(volumes, train=True)


def test_none_keeps_the_stored_values(pictures):
    ours = build_pixel_rule(none.Config(), RGB)(pictures, train=True)
    assert ours.dtype == torch.float32
    assert np.array_equal(ours.numpy(), pictures.numpy())


@pytest.mark.parametrize("config", [medmnist.Config(), medmnist.Config(size=224), none.Config()])
def test_rules_leave_the_stored_pixels_alone_and_give_channels_last(pictures, config):
    before = pictures.clone()
    ours = build_pixel_rule(config, RGB)(pictures, train=True)
    assert torch.equal(pictures, before)
    assert ours.is_contiguous(memory_format=torch.channels_last)


def test_volumes_lie_channels_last_in_3d():
    volumes = torch.randint(0, 256, (2, 1, 4, 4, 4), dtype=torch.uint8)
    rule = build_pixel_rule(medmnist3d.Config(channels=3), ImageShape(1, (4, 4, 4)))
    ours = rule(volumes, train=False)
    assert ours.shape == (2, 3, 4, 4, 4)
    assert ours.is_contiguous(memory_format=torch.channels_last_3d)
    assert torch.equal(ours[:, 0], ours[:, 2])


def test_shrinking_and_impossible_channels_are_refused():
    with pytest.raises(InputError, match=r"transform\.size: 28 is smaller"):
        build_pixel_rule(medmnist.Config(size=28), ImageShape(1, (64, 64)))
    with pytest.raises(InputError, match=r"transform\.channels.*have 2"):
        build_pixel_rule(medmnist3d.Config(channels=3), ImageShape(2, (8, 8, 8)))
