"""Bring images to another size: bilinear in pictures, trilinear in volumes, antialiased.

Source:
    The Resize of torchvision on a Pillow picture, which rounds its result to 8 bits; here it is not
    rounded. When it shrinks, the triangle of weights widens with the ratio, so no pixel is left
    out; enlarging, as from 96 to 224, is the same with and without antialias. The weights of a
    volume are the products of those along its axes (ours: torch has antialias for pictures only).
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import interpolate


def resized(image: Tensor, size: tuple[int, ...]) -> Tensor:
    """Images at another size; the images themselves where they have it.

    Args:
        image: ``(B, C, H, W)`` or ``(B, C, X, Y, Z)`` floats.
        size: Length of each spatial axis; ratios between them are not kept.

    Example:
        >>> import torch
        >>> ramp = torch.arange(4.0).expand(1, 1, 2, 3, 4)
        >>> resized(ramp, (2, 3, 2))[0, 0, 0, 0]
        tensor([0.7143, 2.2857])
    """
    if tuple(image.shape[2:]) == size:
        return image
    if len(size) == 2:
        return _bilinear(image, size)
    batch, channels, first = image.shape[:3]
    # Slices across the first axis stand in for channels; then that axis, the others as one.
    slices = _bilinear(image.flatten(0, 1), size[1:])
    whole = _bilinear(
        slices.reshape(batch * channels, 1, first, -1), (size[0], slices[0, 0].numel())
    )
    return whole.view(batch, channels, *size)


def _bilinear(image: Tensor, size: tuple[int, ...]) -> Tensor:
    return interpolate(image, size=size, mode="bilinear", align_corners=False, antialias=True)
