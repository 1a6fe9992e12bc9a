"""Per-sample transforms: what a worker process computes for each batch, and from which numbers.

The randomness of a sample is a function of (seed, epoch, index) and of nothing else: neither the
batch, the process, the loader's worker nor a resumption can change it. Samplers that draw a row
several times in an epoch, and extra views of it, add the number of the repetition and of the view,
so a repeated image is augmented differently each time.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.loading.pixels import Pixels
from medldr.errors import InputError
from medldr.transforms import Pipeline


class Key(NamedTuple):
    """One sample to compute: which row, and the randomness of each of its views."""

    row: int
    uniform: tuple[Sequence[float] | NDArray[np.float32], ...]
    entropy: tuple[tuple[int, ...], ...]


@dataclass
class Samples:
    """Stored images through rule and chain, batch by batch, for `workers.ahead`.

    Args:
        pixels: Of the whole table.
        pipeline: Rule and chains.
        train: Whether these are training samples.
    """

    pixels: Pixels
    pipeline: Pipeline
    train: bool

    def __call__(self, keys: Sequence[Key]) -> list[Tensor]:
        """The images of a batch and each of its extra views, all ``(B, C, [D,] H, W)`` float32.

        Raises:
            InputError: If a file cannot be read, or the chain gives images of different shapes.
        """
        name = "transform.train" if self.train else "transform.eval"
        return _stack([self._sample(key) for key in keys], name)

    def _sample(self, key: Key) -> tuple[Tensor, ...]:
        augmented = not self.train and len(key.uniform[0]) > 0
        stored = self.pixels.row(key.row, train=self.train or augmented)
        drawn = [torch.tensor(numbers) if len(numbers) else None for numbers in key.uniform]
        if augmented:  # by the rule alone, as where pictures of one size are batched
            uniform = torch.tensor(key.uniform[0])[None]
            return (self.pipeline.rule(stored[None], train=True, uniform=uniform)[0].contiguous(),)
        image = self.pipeline.sample(
            stored, train=self.train, uniform=drawn[0], entropy=key.entropy[0]
        )
        views = zip(drawn[1:], key.entropy[1:], strict=True)
        return image, *(self.pipeline.views(stored, uniform=u, entropy=e) for u, e in views)


def training_keys(
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    *,
    seed: int,
    epoch: int,
    total: int,
    draws: Sequence[int],
) -> list[Key]:
    """Keys of an epoch's order: each view of each sample has its own randomness.

    Args:
        rows: Row numbers in the epoch's order, all of it.
        seed: The run's seed.
        epoch: Number of the epoch.
        total: Rows of the whole table.
        draws: Uniform numbers that the pixel rule needs for the image and for each extra view.
    """
    numbers = [
        uniform_numbers(seed, epoch, rows, total=total, draws=needed, view=view)
        for view, needed in enumerate(draws)
    ]
    again = repetitions(rows).tolist()
    return [
        Key(
            row,
            tuple(of_view[place] for of_view in numbers),
            tuple((seed, epoch, row, again[place], view) for view in range(len(draws))),
        )
        for place, row in enumerate(rows.tolist())
    ]


def repetitions(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each entry has occurred before.

    Example:
        >>> repetitions(np.array([5, 2, 5, 5, 2])).tolist()
        [0, 0, 1, 2, 1]
    """
    by_value = np.argsort(order, kind="stable")
    ordered = order[by_value]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else by_value
    counts = np.diff(np.r_[first, len(order)])
    result = np.empty(len(order), dtype=np.int64)
    result[by_value] = np.arange(len(order)) - np.repeat(first, counts)
    return result


def uniform_numbers(
    seed: int,
    epoch: int,
    rows: NDArray[np.int64],
    *,
    total: int,
    draws: int,
    view: int = 0,
) -> NDArray[np.float32]:
    """Numbers from [0, 1) for each entry of an epoch's order.

    A row's first occurrence gets the row's numbers; a repetition gets those of its place in the
    order, which is itself a function of (seed, epoch).

    Args:
        seed: The run's seed.
        epoch: Number of the epoch.
        rows: Row numbers in the epoch's order, all of it.
        total: Rows of the whole table.
        draws: Numbers per sample.
        view: 0 for the image itself, 1, 2, ... for extra views.

    Returns:
        ``(len(rows), draws)``.
    """
    by_row = _numbers(seed, epoch, view, 0, total, draws)[rows]
    again = repetitions(rows) > 0
    if again.any():
        by_row[again] = _numbers(seed, epoch, view, 1, len(rows), draws)[again]
    return by_row


@functools.lru_cache(maxsize=1)  # stored latents of an epoch are made a few images at a time
def _numbers(
    seed: int, epoch: int, view: int, kind: int, length: int, draws: int
) -> NDArray[np.float32]:
    numbers: Sequence[int] = (seed, epoch, view, kind, 3)
    return np.random.default_rng(numbers).random((length, draws), dtype=np.float32)


def _stack(samples: Sequence[tuple[Tensor, ...]], list_name: str) -> list[Tensor]:
    """Each view, stacked.

    Raises:
        InputError: If the chain gives images of different shapes.
    """
    stacked = []
    for view in zip(*samples, strict=True):
        first = tuple(view[0].shape)
        other = next((tuple(image.shape) for image in view if image.shape != view[0].shape), None)
        if other is not None:
            raise InputError(
                f"{list_name} gives images of different shapes, such as {first} and {other}. "
                "End the list with Resize or ResizeWithPadOrCrop."
            )
        stacked.append(torch.stack(view))
    return stacked
