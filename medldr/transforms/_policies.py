"""Policies that change a stored picture by a few operations: AutoAugment (CIFAR-10), RandAugment.

Source:
    AutoAugment: Cubuk et al. 2019, the 25 sub-policies that it found on CIFAR-10. RandAugment:
    Cubuk et al. 2020, with torchvision's 14 operations and its magnitudes of 0 to 30. Ranges, and
    where they differ from torchvision's: `medldr.transforms._policy_operations`.
    What a rotation, shear or translation uncovers is mid-grey (128) in AutoAugment, as in the code
    that the long-tail releases share, and black in RandAugment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from medldr.transforms._policy_operations import Choice, operate

SUB_POLICIES: Final = (
    (("invert", 0.1, 7), ("contrast", 0.2, 6)),
    (("rotate", 0.7, 2), ("translate_x", 0.3, 9)),
    (("sharpness", 0.8, 1), ("sharpness", 0.9, 3)),
    (("shear_y", 0.5, 8), ("translate_y", 0.7, 9)),
    (("autocontrast", 0.5, 8), ("equalize", 0.9, 2)),
    (("shear_y", 0.2, 7), ("posterize", 0.3, 7)),
    (("colour", 0.4, 3), ("brightness", 0.6, 7)),
    (("sharpness", 0.3, 9), ("brightness", 0.7, 9)),
    (("equalize", 0.6, 5), ("equalize", 0.5, 1)),
    (("contrast", 0.6, 7), ("sharpness", 0.6, 5)),
    (("colour", 0.7, 7), ("translate_x", 0.5, 8)),
    (("equalize", 0.3, 7), ("autocontrast", 0.4, 8)),
    (("translate_y", 0.4, 3), ("sharpness", 0.2, 6)),
    (("brightness", 0.9, 6), ("colour", 0.2, 8)),
    (("solarize", 0.5, 2), ("invert", 0.0, 3)),
    (("equalize", 0.2, 0), ("autocontrast", 0.6, 0)),
    (("equalize", 0.2, 8), ("equalize", 0.6, 4)),
    (("colour", 0.9, 9), ("equalize", 0.6, 6)),
    (("autocontrast", 0.8, 4), ("solarize", 0.2, 8)),
    (("brightness", 0.1, 3), ("colour", 0.7, 0)),
    (("solarize", 0.4, 5), ("autocontrast", 0.9, 3)),
    (("translate_y", 0.9, 9), ("translate_y", 0.7, 9)),
    (("autocontrast", 0.9, 2), ("solarize", 0.8, 3)),
    (("equalize", 0.8, 8), ("invert", 0.1, 3)),
    (("translate_y", 0.7, 9), ("autocontrast", 0.9, 1)),
)
"""Two operations each, with their probability and their level of 0 to 9."""

RANDOM_POOL: Final = (
    *("identity", "shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness"),
    *("colour", "contrast", "sharpness", "posterize", "solarize", "autocontrast", "equalize"),
)
"""RandAugment's operations, in torchvision's order."""

LARGEST: Final = 30
"""RandAugment's largest magnitude."""


class AutoAugment:
    """One of the 25 sub-policies: two operations, each with its own probability."""

    draws = 5
    fill = 128

    def choose(self, numbers: Sequence[float]) -> list[Choice | None]:
        """What happens to a picture, one after another.

        Args:
            numbers: ``draws`` from [0, 1): which sub-policy, then whether each of its operations
                happens, then the direction of each.

        Example:
            >>> AutoAugment().choose([0.05, 0.0, 0.5, 0.9, 0.0])
            [Choice(operation='rotate', strength=0.2222222222222222, sign=1), None]
        """
        pair = SUB_POLICIES[_index(numbers[0], len(SUB_POLICIES))]
        return [
            Choice(name, level / 9, _sign(towards)) if drawn < probability else None
            for (name, probability, level), drawn, towards in zip(
                pair, numbers[1:3], numbers[3:5], strict=True
            )
        ]


class RandAugment:
    """Some operations of 14, all of one strength.

    Args:
        operations: How many per picture; the same one may come twice.
        magnitude: Their strength, from 0 to `LARGEST`.
    """

    fill = 0

    def __init__(self, operations: int, magnitude: int) -> None:
        self.operations = operations
        self.strength = magnitude / LARGEST
        self.draws = 2 * operations

    def choose(self, numbers: Sequence[float]) -> list[Choice | None]:
        """What happens to a picture, one after another.

        Args:
            numbers: ``draws`` from [0, 1): which operations, then the direction of each.
        """
        which, towards = numbers[: self.operations], numbers[self.operations :]
        return [
            Choice(RANDOM_POOL[_index(number, len(RANDOM_POOL))], self.strength, _sign(side))
            for number, side in zip(which, towards, strict=True)
        ]


def _index(number: float, length: int) -> int:
    return min(int(number * length), length - 1)


def _sign(number: float) -> int:
    return -1 if number < 0.5 else 1


def change(image: Tensor, uniform: Tensor, policy: AutoAugment | RandAugment) -> Tensor:
    """Each picture after its own operations.

    Args:
        image: ``(n, 3, H, W)`` uint8.
        uniform: ``(n, policy.draws)`` from [0, 1), on any device.
        policy: Decides what happens to each.

    Returns:
        A new tensor of the same shape.
    """
    image = image.clone()
    chosen = [policy.choose(numbers) for numbers in uniform.tolist()]
    for choices in zip(*chosen, strict=True):
        # Pictures of one operation and strength go together: a few kernels for all, not for each.
        groups: dict[Choice, list[int]] = {}
        for row, choice in enumerate(choices):
            if choice is not None:
                groups.setdefault(choice, []).append(row)
        for choice, found in groups.items():
            rows = torch.tensor(found, device=image.device)
            image[rows] = operate(image[rows], choice, policy.fill)
    return image
