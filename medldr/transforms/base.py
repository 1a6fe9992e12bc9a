"""What a transform preset offers: a `Config` and `build(config, shape) -> PixelRule`.

A pixel rule turns stored pixels into what the network sees. The same function serves training,
evaluation and prediction. Stored pixels are uint8 from 0 to 255, or float32 from 0 to 1 (scans of
more than 8 bits, after their intensity window). Presets that can take both say so in their module:
``TAKES_FLOAT = True``; all others are given uint8 alone. A rule may augment training samples by the
numbers it is given (``draws``); the ``train`` list of MONAI transforms, which every preset's
`Config` inherits, follows it.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol

import torch
from pydantic import Field, SerializeAsAny, field_validator
from torch import Tensor

from medldr.config import PluginSection
from medldr.config.section import Plugin

Entry = str | dict[str, dict[str, Any] | None]
"""One line of a list of MONAI transforms: a bare name, or a name with its arguments."""


class TransformConfig(PluginSection):
    """Keys that every preset has.

    The lists name MONAI array transforms with their arguments, for example
    ``- RandFlip: {prob: 0.5, spatial_axis: 0}``. They act on each sample ``(C, [D,] H, W)``
    after the preset's pixel rule; with the preset ``none`` they see the stored values: 0 to 255, or
    0 to 1 where the data set has floats.
    """

    train: tuple[Entry, ...] = Field(
        (), description="MONAI transforms of each training sample, after the pixel rule"
    )
    eval: tuple[Entry, ...] = Field(
        (), description="MONAI transforms of each evaluated sample; none may be random"
    )
    views: Annotated[SerializeAsAny[PluginSection], Plugin("transforms")] | None = Field(
        None,
        description="transform of the extra views that some algorithms (bcl) ask for; without "
        "effect, and without a note, for all others; unset: other draws of this one",
    )

    @field_validator("views")
    @classmethod
    def _views_are_for_training(cls, value: PluginSection | None) -> PluginSection | None:
        for key in ("eval", "views", "augment_validation"):
            if getattr(value, key, None):
                raise ValueError(f"has no use for {key}: views are made in training alone")
        return value


class ImageShape(NamedTuple):
    """Shape of one image, without the batch.

    Attributes:
        channels: Number of channels ``C``.
        spatial_size: ``(H, W)`` or ``(D, H, W)``.
    """

    channels: int
    spatial_size: tuple[int, ...]

    def __str__(self) -> str:
        return " x ".join(str(n) for n in (self.channels, *self.spatial_size))


class PixelRule(Protocol):
    """Batched pixels of the dataset to batched input of the network, on any device.

    Attributes:
        output: Shape of an image after the rule.
        draws: Uniform random numbers that each training sample needs; 0 where nothing is random.
    """

    output: ImageShape
    draws: int

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule.

        Args:
            image: ``(B, C, [D,] H, W)`` uint8; or float32 in [0, 1], where the preset takes it.
            train: Whether this is a training batch (some rules of a protocol differ).
            uniform: ``(B, draws)`` numbers from [0, 1), one row per sample, which the loader
                makes from (seed, epoch, index) alone. Needed in training where ``draws`` > 0.

        Returns:
            ``(B, C', [D',] H', W')`` float32, channels last in memory.
        """
        ...


def memory_format(spatial_dims: int) -> torch.memory_format:
    """Memory layout of image batches: channels last, in 2D and in 3D; latents have none."""
    layouts = {2: torch.channels_last, 3: torch.channels_last_3d}
    return layouts.get(spatial_dims, torch.contiguous_format)


def to_float(image: Tensor) -> Tensor:
    """A float32 copy of ``(B, C, [D,] H, W)`` pixels, channels last in memory."""
    return image.to(torch.float32, memory_format=memory_format(image.ndim - 2), copy=True)


def to_unit(image: Tensor) -> Tensor:
    """Stored pixels on the scale from 0 to 1, whatever they are stored as.

    Args:
        image: ``(B, C, [D,] H, W)``: uint8, of which 255 becomes 1, or floats, which are in [0, 1]
            already.

    Returns:
        float32 of the same shape, a new tensor, laid out in memory as the image is.

    Example:
        >>> stored = torch.tensor([0, 51, 255], dtype=torch.uint8).view(1, 1, 1, 3)
        >>> to_unit(stored).flatten().tolist() == to_unit(stored / 255).flatten().tolist()
        True
    """
    unit = image.to(torch.float32, copy=True)
    return unit if image.is_floating_point() else unit.div_(255)


def repeat_grey(image: Tensor, channels: int | None) -> Tensor:
    """Repeat a single channel to ``channels``; the image itself where that is unset."""
    if channels is None or image.shape[1] == channels:
        return image
    return image.expand(-1, channels, *image.shape[2:])
