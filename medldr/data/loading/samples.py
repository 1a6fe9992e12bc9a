"""Per-sample transforms: what a worker process computes for each batch, and from which numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.loading import sample_rng as _random
from medldr.data.loading.pixel_store import Pixels
from medldr.errors import InputError
from medldr.transforms import Pipeline


class Key(NamedTuple):
    """One sample to compute: which row, and the randomness of each of its views."""

    row: int
    uniform: tuple[Sequence[float] | NDArray[np.float32], ...]
    entropy: tuple[tuple[int, ...], ...]


class Samples:
    """Stored images through rule and chain, batch by batch, for `workers.ahead`.

    Args:
        pixels: Of the whole table.
        pipeline: Rule and chains.
        train: Whether these are training samples.
    """

    def __init__(self, pixels: Pixels, pipeline: Pipeline, *, train: bool) -> None:
        self.pixels = pixels
        self.pipeline = pipeline
        self.train = train

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
        _random.uniform(seed, epoch, rows, total=total, draws=needed, view=view)
        for view, needed in enumerate(draws)
    ]
    again = _random.repetitions(rows).tolist()
    return [
        Key(
            row,
            tuple(of_view[place] for of_view in numbers),
            tuple(_random.entropy(seed, epoch, row, again[place], v) for v in range(len(draws))),
        )
        for place, row in enumerate(rows.tolist())
    ]


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
