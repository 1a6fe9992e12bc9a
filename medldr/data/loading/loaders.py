"""Batches for training and for evaluation.

Without lists of MONAI transforms, images are indexed and put through the pixel rule on the
training device, a batch at a time; with them, each sample goes through its chain on the CPU, in
`machine.workers` processes. These also read pictures that are not in memory. Batches and their
order are the same in every case.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.data.loading import sample_rng as _random
from medldr.data.loading import samples as _samples
from medldr.data.loading.batch_maker import Columns, Loader
from medldr.data.loading.pixel_store import Pixels
from medldr.data.loading.samplers import Sampler
from medldr.errors import InputError
from medldr.transforms import Pipeline
from medldr.types import Batch

__all__ = ["Columns", "EvalLoader", "TrainLoader"]


class TrainLoader(Loader):
    """Batches of the training rows, epoch by epoch; `batches` depends on (seed, epoch) alone.

    Attributes:
        steps_per_epoch: Batches per epoch, at least one.
        batch_size: Rows of a global batch, over all processes.
        notes: What differs from what the configuration asked for.
    """

    def __init__(
        self,
        pixels: Pixels,
        columns: Columns,
        pipeline: Pipeline,
        sampler: Sampler,
        *,
        rows: NDArray[np.int64],
        seed: int,
        device: torch.device,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        views: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            pixels,
            columns,
            pipeline,
            split="train",
            rows=rows,
            device=device,
            rank=rank,
            world=world,
            workers=workers,
        )
        if views and (pipeline.train is None or not pipeline.train.random):
            raise InputError(
                f"the algorithm needs extra views ({', '.join(views)}), but transform.train "
                "has no random transform to make them differ. Name one there, such as RandFlip."
            )
        self.sampler = sampler
        self.seed = seed
        self.views = views
        self.steps_per_epoch = sampler.batches.steps
        self.batch_size = sampler.batches.size
        self.notes = sampler.batches.notes

    def batches(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """This process's part of each global batch of an epoch, from position ``start`` on.

        Args:
            epoch: Number of the epoch, from 0.
            start: Batches to leave out at the beginning, when resuming within an epoch.
        """
        positions = self.sampler.order(epoch)
        parts = [
            self.sampler.batches.part(step, self.rank, self.world)
            for step in range(start, self.steps_per_epoch)
        ]
        if self.pipeline.train is not None:
            return self._chained(epoch, positions, parts)
        draws = self.pipeline.rule.draws
        uniform = None
        if draws:
            uniform = _random.uniform(
                self.seed,
                epoch,
                self.rows[positions],
                total=len(self._pixels),
                draws=draws,
            )
        return self._ruled(positions, parts, train=True, uniform=uniform)

    def _chained(
        self, epoch: int, positions: NDArray[np.int64], parts: list[slice]
    ) -> Iterator[Batch]:
        rows = self.rows[positions]
        keys = _samples.training_keys(
            rows,
            seed=self.seed,
            epoch=epoch,
            total=len(self._pixels),
            draws=self.pipeline.rule.draws,
            views=len(self.views),
        )
        index = torch.from_numpy(rows).to(self.device)
        loaded = self._sampled(keys, parts, train=True)
        for part, (image, *views) in zip(parts, loaded, strict=True):
            yield self._batch(image, index[part], dict(zip(self.views, views, strict=True)))


class EvalLoader(Loader):
    """All rows of a split in row order, this process's contiguous part, none twice.

    Args:
        augmented: ``(len(rows),)``, which rows the pixel rule changes as in training, by numbers
            that depend on (seed, 0, row) alone; None for none. Without lists of transforms only.
        seed: The run's seed, for these.

    Attributes:
        split: Name of the split.
        rows: Row numbers of this process's part.
    """

    def __init__(
        self,
        pixels: Pixels,
        columns: Columns,
        pipeline: Pipeline,
        *,
        split: str,
        rows: NDArray[np.int64],
        batch_size: int,
        device: torch.device,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        augmented: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            pixels,
            columns,
            pipeline,
            split=split,
            rows=rows,
            device=device,
            rank=rank,
            world=world,
            workers=workers,
        )
        self.split = split
        self.mine = np.array_split(np.arange(len(rows)), world)[rank]
        self.batch_size = batch_size
        self.augmented = augmented
        self.seed = seed

    def __len__(self) -> int:
        """Number of batches of this process."""
        return -(-len(self.mine) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        size = self.batch_size
        parts = [slice(start, start + size) for start in range(0, len(self.mine), size)]
        if self.pipeline.eval is None:
            uniform = augmented = None
            if self.augmented is not None and self.augmented.any():
                augmented = self.augmented[self.mine]
                uniform = _random.uniform(
                    self.seed,
                    0,
                    self.rows[self.mine],
                    total=len(self._pixels),
                    draws=self.pipeline.rule.draws,
                )
            yield from self._ruled(
                self.mine, parts, train=False, uniform=uniform, augmented=augmented
            )
            return
        rows = self.rows[self.mine]
        keys = [_samples.Key(row, ((),), ((),)) for row in rows.tolist()]
        index = torch.from_numpy(rows).to(self.device)
        loaded = self._sampled(keys, parts, train=False)
        for part, (image,) in zip(parts, loaded, strict=True):
            yield self._batch(image, index[part])
