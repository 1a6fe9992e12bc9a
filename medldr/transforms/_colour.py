"""What the presets for colour pictures share: augment, scale to [0, 1], resize, normalise.

Only the first step differs between the presets, and only in training. It acts at the stored
resolution, on stored pixels; nothing is rounded to 8 bits afterwards.
"""

from __future__ import annotations

from typing import Annotated, Protocol

import torch
from pydantic import AfterValidator, Field
from torch import Tensor

from medldr.errors import InputError
from medldr.transforms._resize import Interpolation, resized
from medldr.transforms.base import ImageShape, TransformConfig, to_unit

IMAGENET_MEAN = (0.485, 0.456, 0.406)
"""Mean of ImageNet's channels in [0, 1], as torchvision's networks expect them."""

IMAGENET_STD = (0.229, 0.224, 0.225)
"""Their standard deviation."""

Mean = tuple[float, float, float]
"""What is subtracted from each channel in [0, 1]; a key of a preset."""


def _divides(value: Mean) -> Mean:
    if min(value) <= 0:
        raise ValueError("every channel is divided by its value, which must be above 0")
    return value


Std = Annotated[Mean, AfterValidator(_divides)]
"""What then divides each channel."""


class ColourConfig(TransformConfig):
    """Keys of the presets for colour pictures; the defaults are ImageNet's."""

    mean: Mean = Field(IMAGENET_MEAN, description="subtracted from each channel in [0, 1]")
    std: Std = Field(IMAGENET_STD, description="then divides each channel")
    interpolation: Interpolation = Field("bilinear", description="how pictures are resized")


class Augmentation(Protocol):
    """A random change of training pictures that is a function of the numbers it is given.

    Attributes:
        draws: Uniform numbers per picture.
    """

    draws: int

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Stored pixels ``(B, 3, H, W)`` uint8, numbers ``(B, draws)`` from [0, 1).

        Returns:
            ``(B, 3, H', W')``, uint8 or float32 in [0, 1]: a new tensor, the stored pixels are
            kept.
        """
        ...


class ColourRule:
    """Augment training pictures, scale to [0, 1], resize if asked, normalise each channel."""

    def __init__(
        self,
        shape: ImageShape,
        config: ColourConfig,
        *,
        size: int | None,
        augmentation: Augmentation | None = None,
    ) -> None:
        self.augmentation = augmentation
        self.draws = 0 if augmentation is None else augmentation.draws
        self.output = shape if size is None else ImageShape(shape.channels, (size, size))
        self.mean = config.mean
        self.std = config.std
        self.interpolation = config.interpolation

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule; see `medldr.transforms.base.PixelRule`."""
        if train and self.augmentation is not None:
            if uniform is None:
                raise ValueError(f"this rule draws {self.draws} numbers per picture: give uniform")
            image = self.augmentation(image, uniform.to(image.device))
        # Floats are the augmentation's own tensor, already in [0, 1]; stored pixels must be kept.
        unit = image if image.is_floating_point() else to_unit(image)
        scaled = resized(unit, self.output.spatial_size, self.interpolation)
        # Channel by channel: plain numbers need no copy to the device at every step.
        for channel, mean, std in zip(scaled.unbind(1), self.mean, self.std, strict=True):
            channel.sub_(mean).div_(std)
        return scaled.contiguous(memory_format=torch.channels_last)


def check_colour(shape: ImageShape, preset: str) -> None:
    """Refuse anything that is not a colour picture.

    Raises:
        InputError: If the images have another number of channels than 3, or are volumes.
    """
    if shape.channels != 3 or len(shape.spatial_size) != 2:
        raise InputError(
            f"transform.name: {preset} is for colour pictures (3 x height x width), and these "
            f"images are {shape}. Choose another preset, such as scan or none."
        )
