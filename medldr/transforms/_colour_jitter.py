"""Change brightness, contrast, saturation and hue of pictures, each by a number of its own.

Every operation takes ``(n, 3, H, W)`` floats in [0, 1] and one number per picture ``(n,)``, and
gives a new batch in [0, 1].

Source:
    torchvision's functional operations on float pictures, which take one number for all pictures.
    Weights of grey: ITU-R 601. Hue: the usual formulas of HSV, of which saturation and value stay.
"""

from __future__ import annotations

from itertools import permutations

import torch
from torch import Tensor

DRAWS = 5
"""Uniform numbers per picture: the order, then how strong each of the four operations is."""

ORDERS = tuple(permutations(range(4)))
"""The 24 orders of the four operations."""


def grey(image: Tensor) -> Tensor:
    """Brightness as the eye has it, ``(n, 1, H, W)``."""
    red, green, blue = image.unbind(1)
    return (0.2989 * red + 0.587 * green + 0.114 * blue)[:, None]


def brightness(image: Tensor, factor: Tensor) -> Tensor:
    """Blend with black: 0 is black, 1 the picture itself."""
    return (image * _per_picture(factor)).clamp_(0, 1)


def contrast(image: Tensor, factor: Tensor) -> Tensor:
    """Blend with the picture's mean grey: 0 is this grey alone."""
    return _blend(image, grey(image).mean((1, 2, 3), keepdim=True), factor)


def saturation(image: Tensor, factor: Tensor) -> Tensor:
    """Blend with the picture without colour: 0 is grey."""
    return _blend(image, grey(image), factor)


def hue(image: Tensor, shift: Tensor) -> Tensor:
    """Turn all colours along the circle of hues; 1 is a full turn."""
    low, high = torch.aminmax(image, dim=1)
    span = high - low
    red, green, blue = image.unbind(1)
    divisor = torch.where(span == 0, 1.0, span)  # a grey pixel has no hue, and needs none
    sixths = torch.where(
        high == red,
        (green - blue) / divisor,
        torch.where(high == green, (blue - red) / divisor + 2, (red - green) / divisor + 4),
    )
    sixths = sixths + 6 * shift.view(-1, 1, 1)
    # Each channel falls from the highest to the lowest value and rises again around the circle.
    away = [(sixths + offset).remainder(6) for offset in (5, 3, 1)]
    down = [torch.minimum(place, 4 - place).clamp_(0, 1) for place in away]
    return torch.stack([high - span * part for part in down], dim=1).clamp_(0, 1)


OPERATIONS = (brightness, contrast, saturation, hue)


class ColourJitter:
    """The four operations in a random order.

    Args:
        amounts: How far brightness, contrast and saturation may be from 1, and hue from 0.
    """

    def __init__(self, amounts: tuple[float, float, float, float]) -> None:
        self.amounts = amounts

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Change pictures in place.

        Args:
            image: ``(n, 3, H, W)`` floats in [0, 1].
            uniform: ``(n, DRAWS)`` from [0, 1), on any device.

        Returns:
            The same tensor.
        """
        numbers = uniform.cpu()
        which = numbers[:, 0].mul(len(ORDERS)).long().clamp_(max=len(ORDERS) - 1)
        order = torch.tensor(ORDERS)[which]
        for place in range(len(OPERATIONS)):
            # Pictures of one operation go together: a few kernels for all, not for each.
            for number, (operation, amount) in enumerate(
                zip(OPERATIONS, self.amounts, strict=True)
            ):
                found = (order[:, place] == number).nonzero()[:, 0]
                if amount == 0 or not len(found):
                    continue
                middle = 0.0 if operation is hue else 1.0
                low = middle - amount if operation is hue else max(0.0, middle - amount)
                value = low + (middle + amount - low) * numbers[found, 1 + number]
                rows = found.to(image.device)
                image[rows] = operation(image[rows], value.to(image.device))
        return image


def _per_picture(value: Tensor) -> Tensor:
    return value.view(-1, 1, 1, 1)


def _blend(image: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    part = _per_picture(factor)
    return (image * part + other * (1 - part)).clamp_(0, 1)
