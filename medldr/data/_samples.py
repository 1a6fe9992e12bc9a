"""Per-sample transforms in worker processes: what each worker computes, and how it starts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from medldr.data import _random
from medldr.errors import InputError
from medldr.transforms import Pipeline


class Key(NamedTuple):
    """One sample to compute: which row, and the randomness of each of its views."""

    row: int
    uniform: tuple[tuple[float, ...], ...]
    entropy: tuple[tuple[int, ...], ...]


class Samples(Dataset[tuple[Tensor, ...]]):
    """Stored images through rule and chain, one at a time.

    Args:
        images: ``(N, C, [D,] H, W)`` uint8 on the CPU, of the whole table.
        pipeline: Rule and chains.
        train: Whether these are training samples.
    """

    def __init__(self, images: Tensor, pipeline: Pipeline, *, train: bool) -> None:
        self.images = images
        self.pipeline = pipeline
        self.train = train

    def __getitem__(self, key: Key) -> tuple[Tensor, ...]:
        """The image and its extra views, each ``(C, [D,] H, W)`` float32."""
        image = self.images[key.row]
        return tuple(
            self.pipeline.sample(
                image,
                train=self.train,
                uniform=torch.tensor(numbers) if numbers else None,
                entropy=entropy,
            )
            for numbers, entropy in zip(key.uniform, key.entropy, strict=True)
        )


def training_keys(
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    *,
    seed: int,
    epoch: int,
    total: int,
    draws: int,
    views: int,
) -> list[Key]:
    """Keys of an epoch's order: each view of each sample has randomness of its own.

    Args:
        rows: Row numbers in the epoch's order, all of it.
        seed: The run's seed.
        epoch: Number of the epoch.
        total: Rows of the whole table.
        draws: Uniform numbers that the pixel rule needs per sample.
        views: Number of extra views.
    """
    numbers = [
        _random.uniform(seed, epoch, rows, total=total, draws=draws, view=view).tolist()
        for view in range(views + 1)
    ]
    again = _random.repetitions(rows).tolist()
    return [
        Key(
            row,
            tuple(tuple(of_view[place]) for of_view in numbers),
            tuple(_random.entropy(seed, epoch, row, again[place], v) for v in range(views + 1)),
        )
        for place, row in enumerate(rows.tolist())
    ]


def _stack(samples: Sequence[tuple[Tensor, ...]]) -> list[Tensor | list[tuple[int, ...]]]:
    """Each view stacked, or the shapes of its samples where they differ."""
    stacked: list[Tensor | list[tuple[int, ...]]] = []
    for view in zip(*samples, strict=True):
        shapes = [tuple(image.shape) for image in view]
        stacked.append(torch.stack(view) if len(set(shapes)) == 1 else shapes)
    return stacked


def load(
    samples: Samples, batches: list[list[Key]], workers: int, *, pin: bool
) -> Iterator[list[Tensor]]:
    """The images of each batch, and of its views, from 0 or more worker processes.

    The workers end when the iteration ends, whether it is used up, left early or broken off.

    Raises:
        InputError: If the chain gives images of different shapes.
    """
    count = min(workers, len(batches))
    with warnings.catch_warnings():
        # More workers than cores is the user's own choice of machine.workers.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        # Workers only compute on the CPU, with one thread each, so forking is safe for them; it
        # shares the images at no cost, where another start would copy them all.
        warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork")
        loader = DataLoader(
            samples,
            batch_sampler=batches,
            num_workers=count,
            collate_fn=_stack,
            pin_memory=pin,
            # Otherwise starting would draw a number from torch's own generator.
            generator=torch.Generator().manual_seed(0),
            multiprocessing_context="fork" if count and sys.platform == "linux" else None,
        )
        iterator = iter(loader)
    try:
        for stacked in iterator:
            for view in stacked:
                if not isinstance(view, Tensor):
                    list_name = "transform.train" if samples.train else "transform.eval"
                    first, other = view[0], next(s for s in view if s != view[0])
                    raise InputError(
                        f"{list_name} gives images of different shapes, such as {first} and "
                        f"{other}. End the list with Resize or ResizeWithPadOrCrop."
                    )
            yield stacked
    finally:
        del iterator  # its workers are told to end, and waited for
