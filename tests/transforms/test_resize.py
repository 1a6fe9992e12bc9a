"""Resizing, against weights written out in NumPy, one axis at a time."""

import numpy as np
import pytest
import torch
from PIL import Image

from medldr.transforms._resize import resized


def weights(old, new):
    """``(new, old)``: a triangle around each new pixel's middle, as wide as the larger pixel."""
    ratio = old / new
    reach = max(ratio, 1.0)
    middles = (np.arange(new)[:, None] + 0.5) * ratio
    triangle = np.clip(1 - np.abs(np.arange(old) + 0.5 - middles) / reach, 0, None)
    return triangle / triangle.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [((12, 9), (5, 9)), ((12, 9), (20, 30)), ((6, 7, 8), (6, 3, 11)), ((10, 6, 5), (4, 4, 4)),
     ((3, 3, 3), (7, 8, 9)), ((1, 5, 4), (2, 2, 2))],
)  # fmt: skip
def test_every_axis_has_the_antialiased_triangle(old, new):
    image = np.random.default_rng(0).random((2, 3, *old))
    wanted = image
    for axis, (before, after) in enumerate(zip(old, new, strict=True), start=2):
        wanted = np.moveaxis(np.moveaxis(wanted, axis, -1) @ weights(before, after).T, -1, axis)
    ours = resized(torch.from_numpy(image).float(), new)
    assert ours.shape == (2, 3, *new)
    np.testing.assert_allclose(ours, wanted, atol=1e-6)


@pytest.mark.parametrize("new", [(5, 9), (20, 30), (40, 4)])
def test_bicubic_is_pillows_and_stays_between_0_and_1(new):
    image = np.random.default_rng(0).integers(0, 2, (12, 9)).astype(np.float32)  # it overshoots
    wanted = np.asarray(Image.fromarray(image).resize(new[::-1], Image.Resampling.BICUBIC))
    assert wanted.min() < 0 or wanted.max() > 1
    ours = resized(torch.from_numpy(image)[None, None], new, "bicubic")[0, 0]
    np.testing.assert_allclose(ours, wanted.clip(0, 1), atol=1e-5)


@pytest.mark.parametrize("size", [(4, 5), (4, 5, 6)])
def test_an_image_of_the_right_size_is_returned_itself(size):
    image = torch.rand(1, 1, *size)
    assert resized(image, size) is image
