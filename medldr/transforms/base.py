"""What a transform preset offers: a `Config` and `build(config, spec) -> PixelRule`.

A pixel rule turns stored uint8 pixels into what the network sees. The same function serves
training, evaluation and prediction. Random augmentation is not its business: that is the
``train`` list of MONAI transforms, which every preset's `Config` inherits.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from pydantic import Field
from torch import Tensor

from medldr.config import PluginSection


class TransformConfig(PluginSection):
    """Keys that every preset has.

    The lists name MONAI array transforms with their arguments, for example
    ``- RandFlip: {prob: 0.5, spatial_axis: 0}``. They act on each sample ``(C, [D,] H, W)``
    after the preset's pixel rule; with the preset ``none`` they see raw values 0 to 255.
    """

    train: tuple[str | dict[str, dict[str, Any]], ...] = Field(
        (), description="MONAI transforms of each training sample, after the pixel rule"
    )
    eval: tuple[str | dict[str, dict[str, Any]], ...] = Field(
        (), description="MONAI transforms of each evaluated sample; none may be random"
    )


class PixelRule(Protocol):
    """Batched pixels of the dataset to batched input of the network, on any device."""

    def __call__(
        self, image: Tensor, *, train: bool, generator: torch.Generator | None = None
    ) -> Tensor:
        """Apply the rule.

        Args:
            image: ``(B, C, [D,] H, W)`` uint8.
            train: Whether this is a training batch (some rules of a protocol differ).
            generator: Source of randomness for rules that draw in training; on the CPU.

        Returns:
            ``(B, C', [D',] H', W')`` float32.
        """
        ...
