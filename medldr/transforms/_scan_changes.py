"""The random changes of the preset ``scan``: their keys, and how a sample's numbers set them."""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor

from medldr.transforms._placement import mirror, moves, quarter_turn, resample, sources
from medldr.transforms.base import TransformConfig

Direction = Literal["left_right", "front_back", "up_down"]

DIRECTIONS: dict[int, tuple[Direction, ...]] = {
    2: ("up_down", "left_right"),
    3: ("left_right", "front_back", "up_down"),
}
"""Word for each spatial axis of pictures and volumes."""

SEED_BITS = 24
"""Bits of each uniform number: the loader draws them in single precision."""


class Changes(TransformConfig):
    """Keys that say how training images may change."""

    flip: tuple[Direction, ...] = Field(
        (),
        description="axes along which half of the training images are mirrored: left_right, "
        "up_down, in volumes front_back; only where a mirrored image is as possible",
    )
    rotate_quarter_turns: bool = Field(
        False, description="turn training images by 0, 90, 180 or 270 degrees; microscopy only"
    )
    rotate_degrees: float = Field(
        10.0, ge=0, le=180, description="largest turn, in volumes about each axis"
    )
    zoom: tuple[float, float] = Field((0.9, 1.1), description="factor of the size: from, to")
    shift: float = Field(
        0.05, ge=0, lt=1, description="largest shift along each axis, as a part of its length"
    )
    brightness: float = Field(0.1, ge=0, le=1, description="largest deviation of its factor from 1")
    contrast: float = Field(0.1, ge=0, le=1, description="largest deviation of its factor from 1")
    gamma: tuple[float, float] = Field(
        (0.8, 1.25), description="power of the values from 0 to 1: from, to"
    )
    noise: tuple[float, float] = Field(
        (0.0, 0.02), description="standard deviation of the noise, of 1: from, to"
    )
    probability: float = Field(
        0.8,
        ge=0,
        le=1,
        description="share of training images that are turned, zoomed and shifted, and, drawn "
        "apart, of those whose values change",
    )

    @field_validator("flip")
    @classmethod
    def _order_never_matters(cls, value: tuple[Direction, ...]) -> tuple[Direction, ...]:
        return tuple(direction for direction in DIRECTIONS[3] if direction in value)

    @field_validator("zoom", "gamma")
    @classmethod
    def _ascends(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not 0 < value[0] <= value[1]:
            raise ValueError(f"needs two numbers above 0, the smaller first, not {list(value)}")
        return value

    @field_validator("noise")
    @classmethod
    def _ascends_from_zero(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not 0 <= value[0] <= value[1]:
            raise ValueError(f"needs two numbers from 0 up, the smaller first, not {list(value)}")
        return value


class Augment:
    """Move images and change their values, each by its own uniform numbers.

    How many it draws depends on the number of axes alone: a setting changes what it is about and
    leaves the rest of every image as it was.

    Args:
        config: Ranges and shares.
        axes: 2 for pictures, 3 for volumes.
    """

    def __init__(self, config: Changes, axes: int) -> None:
        self.config = config
        self.mirrored = [axis for axis, word in enumerate(DIRECTIONS[axes]) if word in config.flip]
        # Moved or not; angles, zoom, shifts, mirrors, quarter turns; changed or not; gamma,
        # contrast, brightness, noise; two for the seed of the noise.
        self._widths = [1, 1 if axes == 2 else 3, 1, axes, axes, 1, 1, 1, 1, 1, 1, 2]
        self.draws = sum(self._widths)

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Change images in place.

        Args:
            image: ``(B, C, H, W)`` or ``(B, C, X, Y, Z)`` float32 in [0, 1].
            uniform: ``(B, draws)`` from [0, 1), on any device.

        Returns:
            The same tensor.
        """
        # Few numbers, and in double precision, so every device gets the same ones.
        parts = torch.split(uniform.cpu().double(), self._widths, dim=1)
        self._place(image, *parts[:6])
        self._change(image, *parts[6:])
        return image

    def _place(
        self,
        image: Tensor,
        whether: Tensor,
        angles: Tensor,
        zoom: Tensor,
        shift: Tensor,
        flip: Tensor,
        quarters: Tensor,
    ) -> None:
        config = self.config
        for axis in self.mirrored:
            mirror(image, axis, flip[:, axis] < 0.5)
        if config.rotate_quarter_turns:
            quarter_turn(image, quarters[:, 0].mul(4).long())
        matrix, start = sources(
            _around(0, math.radians(config.rotate_degrees), angles),
            _log_between(*config.zoom, zoom[:, 0]),
            _around(0, config.shift, shift) * torch.tensor(image.shape[2:]),
        )
        moved = ((whether[:, 0] < config.probability) & moves(matrix, start)).nonzero()[:, 0]
        if len(moved):
            rows = moved.to(image.device)
            image[rows] = resample(image[rows], matrix[moved], start[moved])

    def _change(
        self,
        image: Tensor,
        whether: Tensor,
        gamma: Tensor,
        contrast: Tensor,
        brightness: Tensor,
        noise: Tensor,
        seed: Tensor,
    ) -> None:
        config = self.config
        low, high = config.noise
        first, second = seed.mul(2**SEED_BITS).long().unbind(1)
        columns = (
            _log_between(*config.gamma, gamma[:, 0]),
            _around(1, config.contrast, contrast[:, 0]),
            _around(1, config.brightness, brightness[:, 0]),
            low + (high - low) * noise[:, 0],
            (first << SEED_BITS) + second,
        )
        chosen = (whether[:, 0] < config.probability).tolist()
        for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            if chosen[row]:
                image[row] = changed(image[row], *values)


def _around(middle: float, amount: float, uniform: Tensor) -> Tensor:
    return middle + amount * (2 * uniform - 1)


def _log_between(low: float, high: float, uniform: Tensor) -> Tensor:
    return (math.log(low) + math.log(high / low) * uniform).exp()


def changed(
    image: Tensor,
    gamma: float = 1.0,
    contrast: float = 1.0,
    brightness: float = 1.0,
    noise: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """One image with other values, cut off at 0 and 1.

    What is neutral is left out, so an image that nothing changes keeps every bit. One image at a
    time: sums and powers of a batch are grouped otherwise for other batches, so the last bit of an
    image would depend on its neighbours.

    Args:
        image: ``(C, H, W)`` or ``(C, X, Y, Z)`` float32 in [0, 1]. Not changed.
        gamma: Power; below 1 brightens dark tissue, and 0 and 1 stay.
        contrast: Factor of the distance from the image's mean.
        brightness: Factor of every value.
        noise: Standard deviation of independent normal noise.
        seed: Of the noise.

    Returns:
        The same shape; a new tensor unless nothing changes.

    Source:
        The kinds are those of nnU-Net (Isensee et al. 2021). The noise comes from a generator of
        its own on the CPU, so it is the same for every device, and nobody else's numbers move.

    Example:
        >>> changed(torch.tensor([[[0.0, 0.5]]]), contrast=2.0, brightness=1.2)
        tensor([[[0.0000, 0.9000]]])
    """
    if gamma != 1:
        image = image.pow(gamma)
    if contrast != 1:
        mean = image.mean()
        image = mean + (image - mean) * contrast
    if brightness != 1:
        image = image * brightness
    if noise:
        generator = torch.Generator().manual_seed(seed)
        image = image + noise * torch.randn(image.shape, generator=generator).to(image.device)
    return image.clamp(0, 1)
