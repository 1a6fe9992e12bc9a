"""Preset ``natural``: photographs and drawings as DomainBed augments them.

In training a random crop of each picture is resized to ``size``, mirrored or not, its brightness,
contrast, saturation and hue are changed in random order, and some pictures are made grey.
Evaluation and prediction resize the whole picture to ``size``, whatever its aspect ratio. Both end
with a normalisation, ImageNet's unless another is set.

Not for scans: a turn of the hue by up to 0.3 makes other stains, and CT and X-ray have no colour.
Take ``camelyon17`` or ``rand_augment`` for histology, ``scan`` for grey images.

Source:
    DomainBed (Gulrajani and Lopez-Paz 2021) and SWAD (Cha et al. 2021), which share the training
    transforms: area 0.7 to 1, aspect ratio 3/4 to 4/3, mirror 0.5, colour jitter 0.3 / 0.3 / 0.3 /
    0.3, grey 0.1; the operations are torchvision's. DomainBed augments whole source domains, their
    held-out part for validation included, which makes its selection noisy; SWAD does not, and nor
    does this preset unless asked (``augment_validation: true``).
    Our choice: the numbers of a training picture come from (seed, epoch, index) alone, and those of
    an augmented validation picture from (seed, 0, index), so it looks the same at every
    validation, where DomainBed draws again. Published codes round to 8 bits after the crop and
    after every change of colour; here nothing is rounded once the picture is stored. The crop is
    cut from the stored picture: with ``data.size: null`` the file's own, as published codes do;
    from a set that is stored squashed to a square, its aspect ratio is relative to that.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.errors import InputError
from medldr.transforms import _colour_jitter, _resized_crop
from medldr.transforms._colour import ColourConfig, ColourRule, check_colour
from medldr.transforms._colour_jitter import ColourJitter
from medldr.transforms._resized_crop import Range, Scale, crop_and_mirror
from medldr.transforms.base import ImageShape


class Config(ColourConfig):
    """Keys of the preset ``natural``."""

    name: Literal["natural"] = "natural"
    size: int = Field(224, ge=1, description="edge length of the network's input, in pixels")
    crop_scale: Scale = Field(
        (0.7, 1.0), description="area of the training crop as a fraction of the picture: from, to"
    )
    crop_ratio: Range = Field(
        (3 / 4, 4 / 3), description="aspect ratio (width / height) of the crop: from, to"
    )
    flip: float = Field(0.5, ge=0, le=1, description="share of training pictures mirrored")
    brightness: float = Field(0.3, ge=0, description="largest deviation of its factor from 1")
    contrast: float = Field(0.3, ge=0, description="largest deviation of its factor from 1")
    saturation: float = Field(0.3, ge=0, description="largest deviation of its factor from 1")
    hue: float = Field(0.3, ge=0, le=0.5, description="largest shift of the hue; 1 is a full turn")
    grey: float = Field(0.1, ge=0, le=1, description="share of training pictures made grey")
    augment_validation: bool = Field(
        False, description="augment the source domains' validation pictures too, as DomainBed does"
    )


class Natural:
    """Crop, mirror, change colours, convert to grey.

    Args:
        config: Their ranges and shares.
    """

    draws = _resized_crop.DRAWS + 1 + _colour_jitter.DRAWS + 1

    def __init__(self, config: Config) -> None:
        self.config = config
        self.jitter = ColourJitter(
            (config.brightness, config.contrast, config.saturation, config.hue)
        )

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Change stored pixels.

        Args:
            image: ``(B, 3, H, W)`` uint8.
            uniform: ``(B, draws)`` from [0, 1): those of the crop (see
                `medldr.transforms._resized_crop`), one for the mirror, those of the colours (see
                `medldr.transforms._colour_jitter`), one for grey.

        Returns:
            ``(B, 3, size, size)`` float32 in [0, 1], a new tensor.
        """
        config = self.config
        cut = crop_and_mirror(
            image,
            uniform,
            config.size,
            scale=config.crop_scale,
            ratio=config.crop_ratio,
            flip=config.flip,
        )
        cut = self.jitter(cut, uniform[:, _resized_crop.DRAWS + 1 : -1].cpu())
        colourless = uniform[:, -1].lt(config.grey).view(-1, 1, 1, 1)
        return torch.where(colourless, _colour_jitter.grey(cut), cut)


def build(config: Config, shape: ImageShape) -> ColourRule:
    """The rule for pictures of this shape.

    Raises:
        InputError: If they are not colour pictures, or lists of transforms conflict with
            ``augment_validation``.

    Example:
        >>> rule = build(Config(), ImageShape(3, (300, 200)))
        >>> rule.draws, rule.output
        (29, ImageShape(channels=3, spatial_size=(224, 224)))
    """
    check_colour(shape, "natural")
    if config.augment_validation and (config.train or config.eval):
        raise InputError(
            "transform.augment_validation: true uses the preset's own augmentation alone, but "
            "transform.train or transform.eval is set too. Remove these lists, or set "
            "augment_validation: false"
        )
    return ColourRule(shape, config, size=config.size, augmentation=Natural(config))


COLOUR_ONLY = True
ANY_SIZE = True
