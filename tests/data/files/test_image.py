"""Sizes and spacings: edges stay where they are, means are kept, nothing is skipped."""

import numpy as np
import pytest
from monai.transforms import ResizeWithPadOrCrop
from PIL import Image

from medldr.data.files import image as images
from medldr.data.files.image import ScanImages, fit, make_image, spaced, unfit
from medldr.data.files.scan import ScanError, Source


def _ramp(*shape):
    """Values that grow along the first axis by the middle of each pixel, from 0 to 1."""
    middle = (np.arange(shape[0]) + 0.5) / shape[0]
    return np.broadcast_to(middle.reshape(-1, *[1] * (len(shape) - 1)), shape)[None].astype(
        np.float32
    )


def test_an_image_of_the_asked_size_is_returned_as_it_is(rules):
    image = np.random.default_rng(0).random((1, 5, 6, 7), np.float32)
    np.testing.assert_array_equal(fit(image, None, rules(size=(5, 6, 7))), image)


@pytest.mark.parametrize("edge", [20, 80])
def test_a_ramp_stays_a_ramp_at_any_size(rules, edge):
    found = fit(_ramp(40, 6, 6), None, rules(size=(edge, 6, 6)))[0, :, 3, 3]
    expected = (np.arange(edge) + 0.5) / edge
    inner = slice(edge // 8, -edge // 8)
    np.testing.assert_allclose(found[inner], expected[inner], atol=0.005)


def test_thin_slices_are_averaged_and_not_skipped(rules):
    image = np.zeros((1, 4, 4, 40), np.float32)
    image[..., ::2] = 1  # slices are black and white in turn
    found = fit(image, None, rules(size=(4, 4, 10)))
    np.testing.assert_allclose(found[..., 1:-1], 0.5, atol=0.05)


def test_a_spacing_gives_the_number_of_pixels_that_keeps_the_extent(rules):
    assert spaced((100, 80, 30), (0.5, 0.5, 4.0), (1.0, 1.0, 1.0)) == (50, 40, 120)
    found = fit(_ramp(10, 10, 10), (1.0, 1.0, 3.0), rules(spacing=(1.0, 1.0, 1.0)))
    assert found.shape == (1, 10, 10, 30)


def test_pixels_never_vanish_at_a_coarse_spacing():
    assert spaced((10, 10, 1), (1.0, 1.0, 1.0), (5.0, 5.0, 5.0)) == (2, 2, 1)


def test_an_unknown_spacing_is_named_with_a_cure(rules):
    with pytest.raises(ScanError, match="does not say its spacing"):
        fit(_ramp(4, 4, 4), None, rules(spacing=(1.0, 1.0, 1.0)))


def test_a_spacing_far_too_fine_is_refused_before_memory_runs_out():
    with pytest.raises(ScanError, match="Choose a larger"):
        spaced((512, 512, 512), (1.0, 1.0, 1.0), (0.01, 0.01, 0.01))


def test_padding_keeps_the_middle_and_cuts_evenly(rules):
    image = np.ones((1, 4, 10, 5), np.float32)
    found = fit(image, None, rules(size=(8, 6, 5), pad=True))
    assert found.shape == (1, 8, 6, 5)
    assert found[0, :, 0, 0].tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("size", [(7, 9), (30, 25)])
def test_float_pictures_are_resized_as_pillow_does(rules, size):
    picture = np.random.default_rng(0).random((1, 20, 16), np.float32)
    reference = Image.fromarray(picture[0], mode="F").resize(size[::-1], Image.Resampling.BILINEAR)
    found = fit(picture, None, rules(dims=2, size=size))
    np.testing.assert_allclose(found[0], np.asarray(reference), atol=2e-5)


@pytest.mark.parametrize("size", [(4, 10), (5, 3), (8, 6)])
@pytest.mark.parametrize("shape", [(7, 7), (6, 9)])
def test_bytes_are_padded_and_cut_like_real_numbers(tmp_path, rules, shape, size):
    pixels = np.arange(1, 1 + np.prod(shape), dtype=np.uint8).reshape(shape)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = make_image(
        Source(tmp_path / "a.png"), rules(dims=2, size=size, pad=True, eight_bit=True)
    )
    expected = np.asarray(ResizeWithPadOrCrop(size)(pixels[None]))
    np.testing.assert_array_equal(found, expected)


def test_images_of_another_version_have_another_file_but_are_of_the_same_data(monkeypatch, rules):
    made = []
    for versions in ("torch 1", "torch 2"):
        monkeypatch.setattr(images, "makers", lambda versions=versions: versions)
        made.append(ScanImages([], [], rules(dims=2), (4, 4)))
    assert made[0].stamp == made[1].stamp
    assert made[0].key != made[1].key


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ((20, 18, 9), {"size": (20, 18, 9)}),
        ((20, 18, 9), {"size": (24, 24, 16), "pad": True}),
        ((20, 18, 9), {"size": (13, 24, 9), "pad": True}),
        ((20, 18, 9), {"size": (40, 36, 18)}),
        ((20, 18, 9), {"size": (48, 40, 12), "spacing": (0.5, 0.5, 2.0), "pad": True}),
    ],
)
def test_a_map_of_an_image_lies_on_the_scan_where_its_strongest_voxel_was(rules, shape, keys):
    scan = np.zeros((1, *shape), np.float32)
    at = (8, 11, 4)
    scan[(0, *at)] = 1
    spacing, made = (1.0, 1.0, 2.0), rules(**keys)
    back = unfit(fit(scan, spacing, made)[0], shape, spacing, made)
    assert back.shape == shape
    assert np.unravel_index(back.argmax(), shape) == at
    if made.spacing is None and made.pad:  # nothing was interpolated
        assert back[at] == 1
