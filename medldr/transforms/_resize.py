"""Bring images to another size, antialiased: bilinear or bicubic, trilinear or tricubic in volumes.

Source:
    The Resize of torchvision on a Pillow picture, which rounds its result to 8 bits; here it is not
    rounded. When it shrinks, the triangle of weights widens with the ratio, so no pixel is left
    out; enlarging, as from 96 to 224, is the same with and without antialias. The weights of a
    volume are the products of those along its axes (ours: torch has antialias for pictures only).
    A cubic kernel overshoots at edges; as in 8 bits, what leaves [0, 1] is cut off.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn.functional import interpolate

Interpolation = Literal["bilinear", "bicubic"]


def resized(
    image: Tensor, size: tuple[int, ...], interpolation: Interpolation = "bilinear"
) -> Tensor:
    """Images at another size; the images themselves where they have it.

    Args:
        image: ``(B, C, H, W)`` or ``(B, C, X, Y, Z)`` floats in [0, 1].
        size: Length of each spatial axis; ratios between them are not kept.
        interpolation: Kernel along each axis.

    Example:
        >>> import torch
        >>> ramp = torch.arange(4.0).expand(1, 1, 2, 3, 4)
        >>> resized(ramp, (2, 3, 2))[0, 0, 0, 0]
        tensor([0.7143, 2.2857])
    """
    if tuple(image.shape[2:]) == size:
        return image
    if len(size) == 2:
        return _flat(image, size, interpolation)
    batch, channels, first = image.shape[:3]
    # Slices across the first axis stand in for channels; then that axis, the others as one.
    slices = _flat(image.flatten(0, 1), size[1:], interpolation)
    lines = slices.reshape(batch * channels, 1, first, -1)
    whole = _flat(lines, (size[0], lines.shape[3]), interpolation)
    return whole.view(batch, channels, *size)


def _flat(image: Tensor, size: tuple[int, ...], interpolation: Interpolation) -> Tensor:
    made = interpolate(image, size=size, mode=interpolation, align_corners=False, antialias=True)
    return made.clamp_(0, 1) if interpolation == "bicubic" else made
