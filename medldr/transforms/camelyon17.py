"""Preset ``camelyon17``: patches as WILDS and Fish show them, with or without stain jitter.

Pixels to [0, 1]; in training, where ``targeted`` is true, the stain jitter at the stored
resolution; then the resize, then ImageNet's normalisation. Evaluation and prediction never jitter.

Source:
    WILDS (Koh et al. 2021): 96 pixels, as stored, ImageNet's normalisation. Fish (Shi et al. 2022)
    and after it the LatentDR paper: 224 pixels by torchvision's Resize (bilinear). Stain jitter:
    see `medldr.transforms.stain_jitter`; its published code takes patches of 96 pixels, so with 224
    it comes before the resize. Published codes round to 8 bits after the jitter and after the
    resize; here nothing is rounded.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from medldr.transforms._colour import ColourRule, check_colour
from medldr.transforms.base import ImageShape
from medldr.transforms.stain_jitter import JitterConfig

AUGMENTATION = {"same_as": "stain_jitter", "where": "targeted"}
"""If that key is true, the augmentation of another preset; else none."""


class Config(JitterConfig):
    """Keys of the preset ``camelyon17``; those of the jitter act where ``targeted`` is true."""

    name: Literal["camelyon17"] = "camelyon17"
    targeted: bool = Field(False, description="jitter the stains of training pictures")


def build(config: Config, shape: ImageShape) -> ColourRule:
    """The rule for pictures of this shape.

    Raises:
        InputError: If they are not colour pictures.

    Example:
        >>> stored = ImageShape(3, (96, 96))
        >>> build(Config(size=224), stored).output
        ImageShape(channels=3, spatial_size=(224, 224))
        >>> build(Config(), stored).draws, build(Config(targeted=True), stored).draws
        (0, 7)
    """
    check_colour(shape, "camelyon17")
    augmentation = config.jitter() if config.targeted else None
    return ColourRule(shape, config, size=config.size, augmentation=augmentation)


COLOUR_ONLY = True
ANY_SIZE = True
