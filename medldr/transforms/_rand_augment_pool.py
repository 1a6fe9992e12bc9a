"""The 14 operations of RandAugment on stored pictures, a batch at a time.

Each takes pixels ``(n, 3, H, W)`` uint8 and one number per picture ``(n,)``, and gives a new batch.

Source:
    The operations and ranges of WILDS 2.0 (Sagawa et al. 2022), which are Pillow's: the brightness,
    colour, contrast and sharpness of a picture only ever become weaker, and what a rotation, shear
    or translation uncovers is black. torchvision gives what an enhancement blends with; its own
    RandAugment has the same 14 operations at one fixed magnitude, stronger as well as weaker, and
    translates up to 0.45 of the edge. Grey levels may differ from Pillow's by 2 of 255.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import torch
from torch import Tensor

Change = Callable[[Tensor, Tensor], Tensor]


class Operation(NamedTuple):
    """One operation and the range from which its number is drawn evenly."""

    change: Change
    low: float = 0.0
    high: float = 1.0


def _functional(name: str) -> Callable[..., Tensor]:
    # torchvision takes a second to import, and a list of presets must not wait for it.
    from torchvision.transforms.v2 import functional

    function: Callable[..., Tensor] = getattr(functional, name)
    return function


def _per_picture(value: Tensor) -> Tensor:
    return value.view(-1, 1, 1, 1)


def _weaken(enhancement: str) -> Change:
    """Blend with the picture that lacks brightness, colour, contrast or sharpness altogether."""

    def change(image: Tensor, value: Tensor) -> Tensor:
        without = _functional(enhancement)(image, 0.0).to(torch.float32)
        return (without + _per_picture(value) * (image - without)).to(torch.uint8)

    return change


def _automatic(name: str) -> Change:
    """An operation without a number."""
    return lambda image, value: _functional(name)(image)


def _identity(image: Tensor, value: Tensor) -> Tensor:
    return image.clone()


def _posterize(image: Tensor, value: Tensor) -> Tensor:
    """Keep this many of the 8 bits, rounded down."""
    step = torch.exp2(8 - value.floor()).to(torch.uint8)  # 8 bits would be a step of 1
    return image - image % _per_picture(step)


def _solarize(image: Tensor, value: Tensor) -> Tensor:
    """Invert what is at least as bright as this."""
    return torch.where(image >= _per_picture(value), 255 - image, image)


def _affine(matrix: Callable[[Tensor, Tensor, int, int], tuple[Tensor, ...]]) -> Change:
    """Take each pixel from elsewhere: the nearest one, black outside, as Pillow does.

    ``matrix(value, zero, H, W)`` gives a, b, c, d, e, f: the pixel whose centre is at (x, y) comes
    from (a x + b y + c, d x + e y + f).
    """

    def change(image: Tensor, value: Tensor) -> Tensor:
        n, channels, height, width = image.shape
        a, b, c, d, e, f = (
            part.view(-1, 1, 1) for part in matrix(value, torch.zeros_like(value), height, width)
        )
        x = torch.arange(width, device=image.device) + 0.5
        y = torch.arange(height, device=image.device)[:, None] + 0.5
        column = (a * x + b * y + c).floor().long()
        row = (d * x + e * y + f).floor().long()
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        place = torch.where(inside, row * width + column, 0).view(n, 1, -1)
        taken = image.flatten(2).gather(2, place.expand(-1, channels, -1)).view(image.shape)
        return taken.mul_(inside[:, None])

    return change


def _rotation(value: Tensor, zero: Tensor, height: int, width: int) -> tuple[Tensor, ...]:
    """Degrees, counterclockwise, about the middle."""
    cosine, sine = torch.deg2rad(value).cos(), torch.deg2rad(value).sin()
    x, y = width / 2, height / 2
    return (
        *(cosine, -sine, x - cosine * x + sine * y),
        *(sine, cosine, y - sine * x - cosine * y),
    )


def _shear_x(value: Tensor, zero: Tensor, height: int, width: int) -> tuple[Tensor, ...]:
    return zero + 1, value, zero, zero, zero + 1, zero


def _shear_y(value: Tensor, zero: Tensor, height: int, width: int) -> tuple[Tensor, ...]:
    return zero + 1, zero, zero, value, zero + 1, zero


def _translation_x(value: Tensor, zero: Tensor, height: int, width: int) -> tuple[Tensor, ...]:
    return zero + 1, zero, value * width, zero, zero + 1, zero


def _translation_y(value: Tensor, zero: Tensor, height: int, width: int) -> tuple[Tensor, ...]:
    return zero + 1, zero, zero, zero, zero + 1, value * height


POOL: Final[dict[str, Operation]] = {
    "autocontrast": Operation(_automatic("autocontrast")),
    "brightness": Operation(_weaken("adjust_brightness"), 0.05, 0.95),
    "colour": Operation(_weaken("adjust_saturation"), 0.05, 0.95),
    "contrast": Operation(_weaken("adjust_contrast"), 0.05, 0.95),
    "equalize": Operation(_automatic("equalize")),
    "identity": Operation(_identity),
    "posterize": Operation(_posterize, 4, 8),
    "rotate": Operation(_affine(_rotation), -30, 30),
    "sharpness": Operation(_weaken("adjust_sharpness"), 0.05, 0.95),
    "shear_x": Operation(_affine(_shear_x), -0.3, 0.3),
    "shear_y": Operation(_affine(_shear_y), -0.3, 0.3),
    "solarize": Operation(_solarize, 0, 256),
    "translate_x": Operation(_affine(_translation_x), -0.3, 0.3),
    "translate_y": Operation(_affine(_translation_y), -0.3, 0.3),
}
"""Name to operation; each is as likely as any other."""


def cutout(image: Tensor, edge: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Cover a square of each picture with one colour.

    Args:
        image: ``(n, 3, H, W)`` uint8.
        edge: ``(n,)``, the square's edge in pixels.
        x: ``(n,)``, its middle, in pixels from the left; a square that would stick out at the left
            is moved in, one at the right is cut off.
        y: The same from the top.

    Returns:
        A new batch.

    Source:
        WILDS 2.0 and its colour (125, 123, 114), ImageNet's mean. Both ends of the square are
        covered, as Pillow draws it, so even an edge of 0 covers a pixel.
    """
    height, width = image.shape[2:]
    columns, rows = _from_to(x, edge, width), _from_to(y, edge, height)
    hidden = (rows[:, :, None] & columns[:, None, :])[:, None]
    cover = torch.stack([torch.full_like(image[:1, 0], level) for level in (125, 123, 114)], dim=1)
    return torch.where(hidden, cover, image)


def _from_to(middle: Tensor, edge: Tensor, length: int) -> Tensor:
    """Which of ``length`` pixels the square covers, ``(n, length)``."""
    first = (middle - edge / 2).clamp(min=0).floor()[:, None]
    place = torch.arange(length, device=middle.device)
    return (place >= first) & (place <= (first + edge[:, None]).floor())
