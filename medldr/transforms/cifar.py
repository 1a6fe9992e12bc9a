"""Preset ``cifar``: small colour pictures as the long-tail literature augments CIFAR.

In training each picture is surrounded by a black margin and cut to its size at a random place,
mirrored or not, changed by AutoAugment's or RandAugment's operations if a policy is asked for, and
a black square may cover a part of it (Cutout). Every picture is then scaled to [0, 1] and
normalised by CIFAR's mean and standard deviation, which is all that evaluation and prediction do.

Source:
    Crop and mirror: the CIFAR recipe of He et al. 2016, which the code of LDAM (Cao et al. 2019)
    shares. AutoAugment's CIFAR-10 policy, then Cutout (DeVries and Taylor 2017) with one hole of
    16 pixels, covered before the normalisation: the code of Balanced Softmax (Ren et al. 2020).
    The hole's middle is drawn from all pixels, so at a border a part of it is outside.
    Our choice: every number of a picture comes from (seed, epoch, index) alone. Operations and
    ranges of the policies, and where torchvision's differ: `medldr.transforms._policy_operations`.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import pad

from medldr.transforms._colour import ColourConfig, ColourRule, Mean, Std, check_colour
from medldr.transforms._policies import LARGEST, AutoAugment, RandAugment, change
from medldr.transforms.base import ImageShape

CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
"""Mean of CIFAR-10's channels in [0, 1], which the long-tail code uses for CIFAR-100 too."""

CIFAR_STD = (0.2023, 0.1994, 0.2010)
"""What that code divides by."""


class Config(ColourConfig):
    """Keys of the preset ``cifar``."""

    name: Literal["cifar"] = "cifar"
    padding: int = Field(4, ge=0, description="black margin in pixels before the random crop")
    flip: float = Field(0.5, ge=0, le=1, description="share of training pictures mirrored")
    policy: Literal["none", "auto_augment", "rand_augment"] = Field(
        "none", description="operations on training pictures: CIFAR-10's AutoAugment, RandAugment"
    )
    operations: int = Field(2, ge=1, description="rand_augment: operations per training picture")
    magnitude: int = Field(
        9, ge=0, le=LARGEST, description="rand_augment: strength of all operations, of 30"
    )
    cutout: int = Field(
        0, ge=0, description="edge of the covered square in pixels, published: 16; 0: none"
    )
    mean: Mean = Field(CIFAR_MEAN, description="subtracted from each channel in [0, 1]")
    std: Std = Field(CIFAR_STD, description="then divides each channel")


class Cifar:
    """Crop, mirror, operations, a covered square.

    Args:
        config: The keys of the preset.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.policy: AutoAugment | RandAugment | None = None
        if config.policy == "auto_augment":
            self.policy = AutoAugment()
        elif config.policy == "rand_augment":
            self.policy = RandAugment(config.operations, config.magnitude)
        self.draws = 3 + (self.policy.draws if self.policy else 0) + 2

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Change stored pixels.

        Args:
            image: ``(B, 3, H, W)`` uint8.
            uniform: ``(B, draws)`` from [0, 1): two for the crop (from top, from left), one for the
                mirror, those of the policy (see `medldr.transforms._policies`), two for the square
                (its middle from top, from left).

        Returns:
            ``(B, 3, H, W)`` uint8, a new tensor.
        """
        config = self.config
        cut = random_crop(image, config.padding, uniform[:, :2])
        cut = torch.where(uniform[:, 2].lt(config.flip).view(-1, 1, 1, 1), cut.flip(-1), cut)
        if self.policy is not None:
            cut = change(cut, uniform[:, 3:-2], self.policy)
        return cutout(cut, config.cutout, uniform[:, -2:])


def _whole(uniform: Tensor, count: int) -> Tensor:
    """Whole numbers below ``count``; a number just below 1 must not round up to it."""
    return uniform.mul(count).long().clamp_(max=count - 1)


def random_crop(image: Tensor, padding: int, uniform: Tensor) -> Tensor:
    """Pictures cut to their own size out of a larger, black-bordered one.

    Args:
        image: ``(n, C, H, W)``.
        padding: Width of the border on each side, in pixels.
        uniform: ``(n, 2)`` from [0, 1): place from top and from left.

    Returns:
        A new tensor of the same shape.

    Example:
        >>> image = torch.arange(1, 5).view(1, 1, 2, 2)
        >>> random_crop(image, 1, torch.tensor([[0.0, 0.9]])).flatten().tolist()
        [0, 0, 2, 0]
    """
    height, width = image.shape[2:]
    top, left = _whole(uniform, 2 * padding + 1).unbind(1)
    rows = top[:, None] + torch.arange(height, device=image.device)
    columns = left[:, None] + torch.arange(width, device=image.device)
    larger = pad(image, (padding,) * 4).permute(0, 2, 3, 1)
    one = torch.arange(len(image), device=image.device)[:, None, None]
    return larger[one, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).contiguous()


def cutout(image: Tensor, edge: int, uniform: Tensor) -> Tensor:
    """Cover one square of each picture with black; what is outside the picture is cut off.

    Args:
        image: ``(n, C, H, W)``.
        edge: Of the square, in pixels; of an odd one the last row and column are left out, as
            published. 0 covers nothing.
        uniform: ``(n, 2)`` from [0, 1): the middle from top and from left.

    Example:
        >>> cutout(torch.ones(1, 1, 2, 3), 2, torch.tensor([[0.0, 0.9]])).flatten().tolist()
        [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    """
    if edge == 0:
        return image
    covered = []
    for axis, length in enumerate(image.shape[2:]):
        middle = _whole(uniform[:, axis], length)[:, None]
        place = torch.arange(length, device=image.device)
        covered.append((place >= middle - edge // 2) & (place < middle + edge // 2))
    hidden = covered[0][:, None, :, None] & covered[1][:, None, None, :]
    return image.masked_fill(hidden, 0)


def build(config: Config, shape: ImageShape) -> ColourRule:
    """The rule for pictures of this shape.

    Raises:
        InputError: If they are not colour pictures.

    Example:
        >>> rule = build(Config(policy="auto_augment", cutout=16), ImageShape(3, (32, 32)))
        >>> rule.draws, rule.output
        (10, ImageShape(channels=3, spatial_size=(32, 32)))
    """
    check_colour(shape, "cifar")
    return ColourRule(shape, config, size=None, augmentation=Cifar(config))


COLOUR_ONLY = True
