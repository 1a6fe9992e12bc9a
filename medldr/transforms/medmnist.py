"""Preset ``medmnist``: pixels to [-1, 1], as the published 2D benchmark does.

Source:
    MedMNIST v2 (Yang et al. 2023) and its training scripts: scale to [0, 1], subtract 0.5, divide
    by 0.5; the rows named "224" show the 28-pixel file enlarged by nearest neighbour to an
    ImageNet network, with grey images repeated to three channels.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor
from torch.nn.functional import interpolate

from medldr.errors import InputError
from medldr.transforms.base import ImageShape, TransformConfig, repeat_grey, to_float


class Config(TransformConfig):
    """Keys of the preset ``medmnist``."""

    name: Literal["medmnist"] = "medmnist"
    size: int | None = Field(
        None,
        ge=1,
        description="enlarge to this edge length by nearest neighbour (224 in the benchmark)",
    )
    channels: Literal[3] | None = Field(None, description="3 repeats a grey channel three times")


class Rule:
    """Enlarge, repeat the grey channel, scale: 0 becomes -1 and 255 (of floats: 1) becomes 1."""

    draws = 0

    def __init__(self, config: Config, output: ImageShape) -> None:
        self.size = config.size
        self.channels = config.channels
        self.output = output

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule; see `medldr.transforms.base.PixelRule`."""
        if self.size is not None:
            # Each new pixel's centre decides: exact 8 x 8 blocks from 28 to 224, as in Pillow.
            image = interpolate(image, size=self.output.spatial_size, mode="nearest-exact")
        levels = to_float(repeat_grey(image, self.channels))
        if image.is_floating_point():
            levels.mul_(255)  # exact for multiples of 1/255: equal pictures give equal input
        return levels.sub_(127.5).div_(127.5)


def build(config: Config, shape: ImageShape) -> Rule:
    """The rule for images of this shape.

    Raises:
        InputError: If the images would have to shrink, or their channels cannot be repeated.

    Example:
        >>> import torch
        >>> rule = build(Config(size=4, channels=3), ImageShape(1, (2, 2)))
        >>> rule.output
        ImageShape(channels=3, spatial_size=(4, 4))
        >>> image = torch.tensor([[[[0, 255], [255, 0]]]], dtype=torch.uint8)
        >>> rule(image, train=False)[0, 2, 0]
        tensor([-1., -1.,  1.,  1.])
    """
    channels, size = shape
    if config.size is not None:
        if config.size < max(size):
            raise InputError(
                f"transform.size: {config.size} is smaller than the stored images ({shape}), and "
                "nearest neighbour must not shrink. Choose a smaller data.size, or leave "
                "transform.size unset."
            )
        size = (config.size,) * len(size)
    return Rule(config, ImageShape(grey_to(config.channels, channels), size))


def grey_to(wanted: int | None, found: int) -> int:
    """Number of channels after repeating grey ones.

    Raises:
        InputError: If there is neither one channel nor the wanted number.
    """
    if wanted is None or wanted == found:
        return found
    if found != 1:
        raise InputError(
            f"transform.channels: {wanted} repeats one grey channel, but the images have {found}. "
            "Leave transform.channels unset."
        )
    return wanted


TAKES_FLOAT = True
