"""Batches for training and for evaluation.

Without lists of MONAI transforms, images are indexed and put through the pixel rule on the
training device, a batch at a time, as extra views are; with them, each sample goes through its
chain on the CPU, in `machine.workers` processes, as does each training picture that keeps the size
of its file. These also read pictures that are not in memory.
Batches and their order are the same in every case.
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
        if views and not pipeline.views.random:
            place = "transform.views" if pipeline.has_own_views else "transform"
            raise InputError(
                f"the algorithm needs extra views ({', '.join(views)}), but {place} has no random "
                f"transform to make them differ. Name one in {place}.train, such as RandFlip, or "
                "choose a preset that augments training images, such as scan or rand_augment."
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
        of_views = self.pipeline.views
        chained = self.pipeline.train is not None or (self.views and of_views.chain is not None)
        if chained or self._pixels.own_size:  # pictures of different sizes make no batch
            return self._chained(epoch, positions, parts)
        draws = self.pipeline.rule.draws
        uniform = self._uniform(epoch, positions, draws) if draws else None
        views = {
            name: self._uniform(epoch, positions, of_views.rule.draws, view)
            for view, name in enumerate(self.views, start=1)
        }
        return self._ruled(positions, parts, train=True, uniform=uniform, views=views)

    def _uniform(
        self, epoch: int, positions: NDArray[np.int64], draws: int, view: int = 0
    ) -> NDArray[np.float32]:
        rows, total = self.rows[positions], len(self._pixels)
        return _random.uniform(self.seed, epoch, rows, total=total, draws=draws, view=view)

    def _chained(
        self, epoch: int, positions: NDArray[np.int64], parts: list[slice]
    ) -> Iterator[Batch]:
        rows = self.rows[positions]
        keys = _samples.training_keys(
            rows,
            seed=self.seed,
            epoch=epoch,
            total=len(self._pixels),
            draws=[
                self.pipeline.rule.draws,
                *[self.pipeline.views.rule.draws] * len(self.views),
            ],
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
        rows = self.rows[self.mine]
        uniform = augmented = None
        if self.pipeline.eval is None and self.augmented is not None and self.augmented.any():
            augmented = self.augmented[self.mine]
            draws, total = self.pipeline.rule.draws, len(self._pixels)
            uniform = _random.uniform(self.seed, 0, rows, total=total, draws=draws)
        if self.pipeline.eval is None and (augmented is None or not self._pixels.own_size):
            yield from self._ruled(
                self.mine, parts, train=False, uniform=uniform, augmented=augmented
            )
            return
        keys = [_samples.Key(row, ((),), ((),)) for row in rows.tolist()]
        if uniform is not None and augmented is not None:
            for place in np.flatnonzero(augmented).tolist():
                keys[place] = keys[place]._replace(uniform=(uniform[place],))
        index = torch.from_numpy(rows).to(self.device)
        loaded = self._sampled(keys, parts, train=False)
        for part, (image,) in zip(parts, loaded, strict=True):
            yield self._batch(image, index[part])
