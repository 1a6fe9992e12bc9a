"""Preset ``medmnist3d``: voxels to [0, 1], as the published 3D benchmark does.

``shape_transform`` is the benchmark's rule for the sets whose volumes are shape masks (adrenal,
vessel): in training each volume is multiplied by its own number from U[0, 1), so brightness
carries no information; in evaluation by 0.5.

Source:
    MedMNIST v2 (Yang et al. 2023) and its training scripts.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from medldr.transforms.base import ImageShape, TransformConfig, memory_format, repeat_grey, to_unit
from medldr.transforms.medmnist import grey_to


class Config(TransformConfig):
    """Keys of the preset ``medmnist3d``."""

    name: Literal["medmnist3d"] = "medmnist3d"
    shape_transform: bool = Field(
        False, description="multiply by U[0, 1) in training and by 0.5 in evaluation"
    )
    channels: Literal[3] | None = Field(None, description="3 repeats a grey channel three times")


class Rule:
    """Scale to [0, 1], then the brightness factor if one is asked for."""

    def __init__(self, config: Config, output: ImageShape) -> None:
        self.shape_transform = config.shape_transform
        self.channels = config.channels
        self.output = output
        self.draws = 1 if config.shape_transform else 0

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule; see `medldr.transforms.base.PixelRule`."""
        scaled = to_unit(repeat_grey(image, self.channels))
        scaled = scaled.contiguous(memory_format=memory_format(scaled.ndim - 2))
        if not self.shape_transform:
            return scaled
        if not train:
            return scaled.mul_(0.5)
        if uniform is None:
            raise ValueError("shape_transform draws a number per training sample: give uniform")
        return scaled.mul_(uniform.to(scaled.device).view(-1, *[1] * (scaled.ndim - 1)))


def build(config: Config, shape: ImageShape) -> Rule:
    """The rule for volumes of this shape.

    Raises:
        InputError: If the channels cannot be repeated.

    Example:
        >>> import torch
        >>> rule = build(Config(shape_transform=True), ImageShape(1, (1, 1, 1)))
        >>> white = torch.full((2, 1, 1, 1, 1), 255, dtype=torch.uint8)
        >>> rule(white, train=False).flatten()
        tensor([0.5000, 0.5000])
        >>> rule(white, train=True, uniform=torch.tensor([[0.25], [0.75]])).flatten()
        tensor([0.2500, 0.7500])
    """
    return Rule(config, ImageShape(grey_to(config.channels, shape.channels), shape.spatial_size))


TAKES_FLOAT = True
