"""Change the values of one image: gamma, contrast, brightness, noise.

One image at a time: sums and powers of a batch are grouped otherwise for other batches, so the last
bit of an image would depend on its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Change(NamedTuple):
    """What happens to the values of one image; the defaults change nothing.

    Attributes:
        gamma: Power; below 1 brightens dark tissue, and 0 and 1 stay.
        contrast: Factor of the distance from the image's mean.
        brightness: Factor of every value.
        noise: Standard deviation of independent normal noise.
        seed: Of the noise.
    """

    gamma: float = 1.0
    contrast: float = 1.0
    brightness: float = 1.0
    noise: float = 0.0
    seed: int = 0


def changed(image: Tensor, change: Change) -> Tensor:
    """An image with other values, cut off at 0 and 1.

    What is neutral is left out, so an image that nothing changes keeps every bit.

    Args:
        image: ``(C, H, W)`` or ``(C, X, Y, Z)`` float32 in [0, 1]. Not changed.
        change: What happens, in the order of its attributes.

    Returns:
        The same shape; a new tensor unless nothing changes.

    Source:
        The kinds are those of nnU-Net (Isensee et al. 2021). The noise comes from a generator of
        its own on the CPU, so it is the same for every device, and nobody else's numbers move.

    Example:
        >>> changed(torch.tensor([[[0.0, 0.5]]]), Change(contrast=2.0, brightness=1.2))
        tensor([[[0.0000, 0.9000]]])
    """
    if change.gamma != 1:
        image = image.pow(change.gamma)
    if change.contrast != 1:
        mean = image.mean()
        image = mean + (image - mean) * change.contrast
    if change.brightness != 1:
        image = image * change.brightness
    if change.noise:
        generator = torch.Generator().manual_seed(change.seed)
        image = image + change.noise * torch.randn(image.shape, generator=generator).to(
            image.device
        )
    return image.clamp(0, 1)
