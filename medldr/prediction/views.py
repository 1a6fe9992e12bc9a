"""Test-time augmentation: views of one image whose probabilities are averaged.

Source:
    Our choice: mirrors and quarter turns only, which move pixels without changing any, and only
    those that training had seen. Every combination of the named ones counts once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from medldr.errors import InputError, did_you_mean
from medldr.transforms._scan_changes import DIRECTIONS

View = Callable[[Tensor], Tensor]
"""From images ``(B, C, *S)`` to images of the same shape."""

TURNS: Final = "quarter_turns"


def check_views(names: Sequence[str], transform: Mapping[str, Any], size: Sequence[int]) -> None:
    """Refuse what training did not show the network.

    Args:
        names: Directions that are mirrored, and ``quarter_turns``.
        transform: The section ``transform`` of the run.
        size: Of the network's input.

    Raises:
        InputError: Naming what may be asked for.
    """
    flip = transform.get("flip") or ()
    # Presets for photographs mirror a share of them, always sideways.
    seen = ["left_right"] if isinstance(flip, float | int) else list(flip)
    if transform.get("rotate_quarter_turns"):
        seen.append(TURNS)
    for name in names:
        if name not in seen:
            raise InputError(
                f"--tta={name}: the network was not trained with this view, so its answers to it "
                f"mean nothing.{did_you_mean(name, seen)} Views it saw: {', '.join(seen) or 'none'}"
            )
    if TURNS in names and size[0] != size[1]:
        raise InputError(f"--tta={TURNS}: its first two axes must be equally long")


def views_of(names: Sequence[str], axes: int) -> list[View]:
    """Every combination of some mirrors and turns, the image itself first.

    Args:
        names: As `check_views` allows.
        axes: 2 for pictures, 3 for volumes, 0 for stored latents, of which there is one view.

    Example:
        >>> image = torch.arange(4).view(1, 1, 2, 2)
        >>> [view(image).flatten().tolist() for view in views_of(["left_right"], 2)]
        [[0, 1, 2, 3], [1, 0, 3, 2]]
        >>> len(views_of(["left_right", "up_down", "quarter_turns"], 2))
        8
    """
    if not axes:
        return [lambda latents: latents]
    directions = DIRECTIONS[axes]
    mirrored = [2 + directions.index(name) for name in names if name != TURNS]
    turns = range(4) if TURNS in names else range(1)
    distinct: dict[tuple[int, ...], View] = {}
    probe = torch.arange(2 * 2 * 2 if axes == 3 else 4).view(1, 1, *(2,) * axes)
    for count in range(len(mirrored) + 1):
        for flips in itertools.combinations(mirrored, count):
            for turn in turns:
                view = _view(flips, turn)
                # Two mirrors are half a turn: what moves pixels alike counts once.
                distinct.setdefault(tuple(view(probe).flatten().tolist()), view)
    return list(distinct.values())


def _view(flips: tuple[int, ...], turn: int) -> View:
    def view(image: Tensor) -> Tensor:
        flipped = image.flip(flips) if flips else image
        return torch.rot90(flipped, turn, dims=(2, 3)) if turn else flipped

    return view
