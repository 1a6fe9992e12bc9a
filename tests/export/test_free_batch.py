"""What is done otherwise while tracing gives what torch's own operations give."""

import pytest
import torch
from torch.nn.functional import interpolate

from medldr.export.free_batch import FreeBatch, weights
from medldr.transforms._resize import resized


@pytest.mark.parametrize(("has", "wanted"), [(1, 5), (7, 3), (28, 224), (200, 17), (9, 8), (6, 6)])
def test_weights_are_those_of_torch(has, wanted):
    lines = torch.eye(has)[None, None]
    expected = interpolate(lines, (wanted, has), mode="bilinear", antialias=True)[0, 0]
    torch.testing.assert_close(torch.from_numpy(weights(has, wanted)), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    ("shape", "size"), [((2, 3, 40, 31), (24, 50)), ((2, 2, 9, 14, 11), (6, 14, 20))]
)
def test_resizing_within_it_is_the_same(shape, size):
    image = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    with FreeBatch():
        found = resized(image, size)
    torch.testing.assert_close(found, resized(image, size), rtol=0, atol=2e-6)


def test_channels_taken_apart_can_be_changed_in_place():
    image = torch.zeros(2, 3, 4)
    with FreeBatch():
        for number, channel in enumerate(image.unbind(1)):
            channel.add_(number)
    assert image.mean((0, 2)).tolist() == [0, 1, 2]


def test_other_resizing_is_left_alone():
    image = torch.rand(1, 1, 4, 4)
    with FreeBatch():
        found = interpolate(image, scale_factor=2, mode="nearest")
    assert torch.equal(found, interpolate(image, scale_factor=2, mode="nearest"))
