"""Images saved again, brighter or shifted are found; different ones are not."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from medldr.data.checks.near_duplicates import near_pairs


@pytest.fixture
def pictures():
    """Ten pictures of blobs, as different as scans of ten patients."""
    random = np.random.default_rng(0)
    smooth = ndimage.gaussian_filter(random.normal(size=(10, 64, 64)), (0, 8, 8))
    scaled = 255 * (smooth - smooth.min()) / np.ptp(smooth)
    return np.uint8(scaled)[:, None]


def _as_jpeg(picture):
    file = io.BytesIO()
    Image.fromarray(picture[0]).save(file, "JPEG", quality=60)
    return np.asarray(Image.open(file))[None]


def test_different_images_are_no_pairs(pictures):
    assert near_pairs(pictures, np.arange(10)) == []


@pytest.mark.parametrize(
    "change",
    [
        _as_jpeg,
        lambda picture: np.uint8(picture * 0.7 + 20),
        lambda picture: ndimage.shift(picture, (0, 0, 1), mode="nearest"),
        lambda picture: picture,
    ],
    ids=["jpeg", "brighter", "shifted", "equal"],
)
def test_a_changed_copy_in_another_part_is_found(pictures, change):
    images = np.concatenate([pictures, change(pictures[3])[None]])
    (pair,) = near_pairs(images, np.array([0] * 10 + [1]))
    assert (pair.first, pair.second) == (3, 10)


def test_copies_within_a_part_are_not_looked_for(pictures):
    assert near_pairs(np.concatenate([pictures, pictures]), np.zeros(20, np.int64)) == []


def test_rows_outside_of_every_part_are_not_compared(pictures):
    parts = np.array([0] * 10 + [-1] * 10)
    assert near_pairs(np.concatenate([pictures, pictures]), parts) == []


def test_the_difference_is_what_the_best_line_leaves(pictures):
    random = np.random.default_rng(1)
    copy = pictures[:1].astype(np.float32) * 0.5 + random.normal(scale=2, size=(1, 1, 64, 64))
    images = np.concatenate([pictures[:1].astype(np.float32), copy]).astype(np.float32)
    (pair,) = near_pairs(images, np.array([0, 1]))
    x, y = images[0].ravel().astype(np.float64), images[1].ravel().astype(np.float64)
    residual = y - np.polyval(np.polyfit(x, y, 1), x)
    assert pair.difference == pytest.approx(residual.std() / y.std(), rel=1e-6)


def test_volumes_are_compared_too():
    random = np.random.default_rng(0)
    volumes = np.float32(ndimage.gaussian_filter(random.normal(size=(4, 1, 20, 20, 20)), 2))
    images = np.concatenate([volumes, volumes[2:3] * 1.2])
    (pair,) = near_pairs(images, np.array([0, 0, 0, 0, 1]))
    assert (pair.first, pair.second) == (2, 4)


def test_constant_images_are_no_pairs():
    assert near_pairs(np.full((4, 1, 32, 32), 7, np.uint8), np.arange(4)) == []


def test_images_of_few_pixels_are_not_compared(pictures):
    assert near_pairs(pictures[:, :, :8, :8].repeat(2, axis=0), np.arange(20)) == []
