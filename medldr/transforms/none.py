"""Preset ``none``: the stored pixels as float32: 0 to 255, or 0 to 1 where they are floats.

For scaling of your own, in the lists of MONAI transforms.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from medldr.transforms.base import ImageShape, TransformConfig, to_float


class Config(TransformConfig):
    """Keys of the preset ``none``."""

    name: Literal["none"] = "none"


class Rule:
    """The stored values, as float32."""

    draws = 0

    def __init__(self, output: ImageShape) -> None:
        self.output = output

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule; see `medldr.transforms.base.PixelRule`."""
        return to_float(image)


def build(config: Config, shape: ImageShape) -> Rule:
    """The rule for images of this shape.

    Example:
        >>> import torch
        >>> rule = build(Config(), ImageShape(1, (2, 2)))
        >>> rule(torch.full((1, 1, 2, 2), 7, dtype=torch.uint8), train=False).unique()
        tensor([7.])
    """
    return Rule(shape)


TAKES_FLOAT = True
