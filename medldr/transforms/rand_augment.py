"""Preset ``rand_augment``: generic augmentation, not specific to stains.

In training each picture is mirrored or not, changed by a few operations drawn from 14 (RandAugment:
contrast, colour, rotation and the like, each of a random strength), and a square of it is covered
(Cutout). Scaling to [0, 1], resize and ImageNet's normalisation follow as in ``camelyon17``, and
are all that evaluation and prediction do.

Source:
    WILDS 2.0 (Sagawa et al. 2022), whose ERM with this augmentation is published at 82.0 on
    Camelyon17; order, operations and ranges are those of its code (see
    `medldr.transforms._rand_augment_pool`, which also says where torchvision differs). That code
    resizes first and draws from torch's global generator; here the resize comes last, as in
    ``camelyon17`` (the same at 96 pixels, as stored), and every number comes from (seed, epoch,
    index): workers, ranks and resuming cannot change a picture.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.transforms._colour import ColourConfig, ColourRule, check_colour
from medldr.transforms._rand_augment_pool import POOL, cutout
from medldr.transforms.base import ImageShape

AUGMENTATION = {
    "id": "generic",
    "title": "generic (RandAugment, Cutout)",
    "published": {"operations": 2, "flip": 0.5, "cutout": 0.5},
}
"""As WILDS 2.0 (Sagawa et al. 2022) has it; other numbers are another augmentation."""


class Config(ColourConfig):
    """Keys of the preset ``rand_augment``."""

    name: Literal["rand_augment"] = "rand_augment"
    size: int | None = Field(None, ge=1, description="resize to this edge; unset: as stored")
    operations: int = Field(2, ge=0, description="operations per training picture, of 14")
    flip: float = Field(0.5, ge=0, le=1, description="share of training pictures mirrored")
    cutout: float = Field(
        0.5, ge=0, le=1, description="largest covered square, as a fraction of the edge; 0: none"
    )


class RandAugment:
    """Mirror, change by some operations, cover a square.

    Args:
        operations: How many operations each picture gets; the same one may come twice.
        flip: Share of the pictures that are mirrored.
        cutout: Largest edge of the covered square, as a part of the width; 0 covers nothing.
    """

    def __init__(self, operations: int, flip: float, cutout: float) -> None:
        self.operations = operations
        self.flip = flip
        self.cutout = cutout
        self.draws = 1 + 2 * operations + 3

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Change stored pixels.

        Args:
            image: ``(B, 3, H, W)`` uint8.
            uniform: ``(B, draws)`` from [0, 1): one for the mirror, two for each operation (which,
                how strong), three for the square (edge, place from left, place from top).

        Returns:
            ``(B, 3, H, W)`` uint8, a new tensor.
        """
        mirrored = uniform[:, 0].lt(self.flip).view(-1, 1, 1, 1)
        image = torch.where(mirrored, image.flip(-1), image)
        for k in range(self.operations):
            _change(image, uniform[:, 1 + 2 * k], uniform[:, 2 + 2 * k])
        if self.cutout == 0:
            return image
        height, width = image.shape[2:]
        edge, x, y = uniform[:, -3:].unbind(1)
        return cutout(image, edge * self.cutout * width, x * width, y * height)


def _change(image: Tensor, which: Tensor, strength: Tensor) -> None:
    """Put each picture of the batch, in place, through the operation that its number names."""
    # Pictures of one operation go together: a few kernels per operation, not per picture.
    chosen = which.mul(len(POOL)).long().clamp_(max=len(POOL) - 1).tolist()
    for number, operation in enumerate(POOL.values()):
        found = [row for row, choice in enumerate(chosen) if choice == number]
        if found:
            rows = torch.tensor(found, device=image.device)
            value = operation.low + (operation.high - operation.low) * strength[rows]
            image[rows] = operation.change(image[rows], value)


def build(config: Config, shape: ImageShape) -> ColourRule:
    """The rule for pictures of this shape.

    Raises:
        InputError: If they are not colour pictures.

    Example:
        >>> rule = build(Config(size=224), ImageShape(3, (96, 96)))
        >>> rule.draws, rule.output
        (8, ImageShape(channels=3, spatial_size=(224, 224)))
    """
    check_colour(shape, "rand_augment")
    augmentation = RandAugment(config.operations, config.flip, config.cutout)
    return ColourRule(shape, config, size=config.size, augmentation=augmentation)


COLOUR_ONLY = True
