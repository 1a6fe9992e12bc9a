"""Cut a random part of each picture and bring it to one size.

Source:
    torchvision's RandomResizedCrop: ten attempts, each an area drawn evenly and an aspect ratio
    drawn evenly on a logarithmic scale; the first part that fits within the picture is taken, at a
    uniform position, or if none does, the largest central part whose ratio is allowed.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import AfterValidator
from torch import Tensor

from medldr.transforms._resize import resized
from medldr.transforms.base import to_unit

ATTEMPTS = 10
DRAWS = 2 * ATTEMPTS + 2
"""Uniform numbers per picture: area and ratio of each attempt, then the place from top and left."""


def _ascends(value: tuple[float, float]) -> tuple[float, float]:
    if not 0 < value[0] <= value[1]:
        raise ValueError(f"needs two numbers above 0, the smaller first, not {list(value)}")
    return value


def _is_a_part(value: tuple[float, float]) -> tuple[float, float]:
    if value[1] > 1:
        raise ValueError(f"a fraction of the picture is at most 1, not {value[1]}")
    return value


Range = Annotated[tuple[float, float], AfterValidator(_ascends)]
"""Two numbers above 0, the smaller first; a key of a preset."""

Scale = Annotated[tuple[float, float], AfterValidator(_ascends), AfterValidator(_is_a_part)]
"""A range of fractions of a picture's area."""


class Crops(NamedTuple):
    """The part of each picture that is kept, in whole pixels, each ``(n,)``."""

    top: NDArray[np.int64]
    left: NDArray[np.int64]
    height: NDArray[np.int64]
    width: NDArray[np.int64]


def crops(
    uniform: NDArray[np.float64],
    height: int,
    width: int,
    scale: tuple[float, float],
    ratio: tuple[float, float],
) -> Crops:
    """Which part of each picture to keep.

    Args:
        uniform: ``(n, DRAWS)`` from [0, 1).
        height: Of the pictures, in pixels.
        width: The same.
        scale: Smallest and largest area, as parts of the picture's.
        ratio: Smallest and largest width over height.

    Example:
        >>> middle = np.full((1, DRAWS), 0.5)
        >>> [int(part[0]) for part in crops(middle, 10, 10, (0.25, 0.25), (1.0, 1.0))]
        [3, 3, 5, 5]
    """
    pairs = uniform[:, : 2 * ATTEMPTS].reshape(-1, ATTEMPTS, 2)
    area = height * width * (scale[0] + (scale[1] - scale[0]) * pairs[..., 0])
    low, high = math.log(ratio[0]), math.log(ratio[1])
    shape = np.exp(low + (high - low) * pairs[..., 1])
    wide = np.round(np.sqrt(area * shape)).astype(np.int64)
    tall = np.round(np.sqrt(area / shape)).astype(np.int64)
    fits = (wide > 0) & (wide <= width) & (tall > 0) & (tall <= height)
    rows, first = np.arange(len(uniform)), fits.argmax(1)  # 0 where none fits
    tall, wide = tall[rows, first], wide[rows, first]
    down, right = uniform[:, -2:].T
    # Numbers below 1 times a whole number may still round up to it.
    top = np.minimum((down * (height - tall + 1)).astype(np.int64), height - tall)
    left = np.minimum((right * (width - wide + 1)).astype(np.int64), width - wide)
    none = ~fits.any(1)
    if none.any():
        tall[none], wide[none] = _middle(height, width, ratio)
        top[none], left[none] = (height - tall[none]) // 2, (width - wide[none]) // 2
    return Crops(top, left, tall, wide)


def _middle(height: int, width: int, ratio: tuple[float, float]) -> tuple[int, int]:
    """Height and width of the largest part whose ratio is allowed."""
    if width / height < ratio[0]:
        return round(width / ratio[0]), width
    if width / height > ratio[1]:
        return height, round(height * ratio[1])
    return height, width


def crop_and_resize(image: Tensor, parts: Crops, size: int) -> Tensor:
    """The parts of stored pictures, each brought to ``size`` x ``size``; nothing is rounded.

    Args:
        image: ``(n, 3, H, W)`` uint8.
        parts: One for each picture.
        size: Edge of the result, in pixels.

    Returns:
        ``(n, 3, size, size)`` float32 in [0, 1], a new tensor.
    """
    # One picture at a time: no two have a part of the same size.
    columns = (column.tolist() for column in parts)
    found = [
        resized(to_unit(one[None, :, top : top + tall, left : left + wide]), (size, size))
        for one, top, left, tall, wide in zip(image, *columns, strict=True)
    ]
    return torch.cat(found)


def crop_and_mirror(
    image: Tensor,
    uniform: Tensor,
    size: int,
    *,
    scale: tuple[float, float],
    ratio: tuple[float, float],
    flip: float,
) -> Tensor:
    """A random part of each stored picture, brought to one size and mirrored or not.

    Args:
        image: ``(n, 3, H, W)`` uint8.
        uniform: ``(n, DRAWS + 1)`` or more from [0, 1): those of `crops`, then one for the mirror.
        size: Edge of the result, in pixels.
        scale: As in `crops`.
        ratio: As in `crops`.
        flip: Share of the pictures that are mirrored.

    Returns:
        ``(n, 3, size, size)`` float32 in [0, 1], a new tensor.
    """
    # A part's size must be known on the host.
    places = uniform[:, :DRAWS].cpu().double().numpy()
    height, width = image.shape[2:]
    cut = crop_and_resize(image, crops(places, height, width, scale, ratio), size)
    mirrored = uniform[:, DRAWS].lt(flip).view(-1, 1, 1, 1)
    return torch.where(mirrored, cut.flip(-1), cut)
