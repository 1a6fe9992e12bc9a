"""Batches for training and for evaluation.

Without lists of MONAI transforms, images are indexed and put through the pixel rule on the
training device, a batch at a time, as extra views are; with them, each sample goes through its
chain on the CPU, in `machine.workers` processes, as does each training picture that keeps the size
of its file. These also read pictures that are not in memory.
Batches and their order are the same in every case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.loading.pixels import Pixels
from medldr.data.loading.samplers import Sampler
from medldr.data.loading.samples import Key, Samples, repetitions, training_keys, uniform_numbers
from medldr.data.loading.workers import ahead
from medldr.errors import InputError
from medldr.transforms import Pipeline
from medldr.transforms.base import memory_format
from medldr.types import Batch

__all__ = ["Columns", "EvalLoader", "TrainLoader"]

BAG_LATENTS = 1 << 16
"""Latents that are evaluated at once, unless a single bag has more."""


@dataclass(frozen=True)
class Columns:
    """What is known of each row of the table besides its image, on a device."""

    label: Tensor
    domain: Tensor
    group: Tensor

    def to(self, device: torch.device) -> Columns:
        """The same on another device."""
        return Columns(self.label.to(device), self.domain.to(device), self.group.to(device))


class Stored(NamedTuple):
    """Images, the rows of a split in them, and places in these rows."""

    pixels: Pixels
    rows: NDArray[np.int64]
    places: NDArray[np.int64]


@dataclass(kw_only=True, eq=False)
class Loader:
    """One split's images and columns, and how a batch is made of them.

    Attributes:
        pixels: Of the whole table.
        columns: Of the whole table.
        pipeline: From stored pixels to the network's input.
        split: Name of the split.
        rows: Row numbers of the split.
        device: Where batches are needed.
        rank: Number of this process.
        world: Number of processes.
        workers: Processes that read or transform ahead of time.
        seed: The run's.
    """

    pixels: Pixels
    columns: Columns
    pipeline: Pipeline
    split: str
    rows: NDArray[np.int64]
    device: torch.device
    rank: int = 0
    world: int = 1
    workers: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        self.columns = self.columns.to(self.device)

    def _batch(self, image: Tensor, rows: Tensor, views: dict[str, Tensor] | None = None) -> Batch:
        columns = self.columns
        return Batch(
            image=self._placed(image),
            label=columns.label[rows],
            domain=columns.domain[rows],
            group=columns.group[rows],
            index=rows,
            views={name: self._placed(view) for name, view in (views or {}).items()},
        )

    def _placed(self, image: Tensor) -> Tensor:
        return image.to(self.device, non_blocking=True).contiguous(
            memory_format=memory_format(image.ndim - 2)
        )

    def _ruled(
        self,
        positions: NDArray[np.int64],
        parts: list[slice],
        *,
        train: bool,
        uniform: NDArray[np.float32] | None,
        epoch: int = 0,
        augmented: NDArray[np.bool_] | None = None,
        views: Mapping[str, NDArray[np.float32]] | None = None,
        keys: Sequence[tuple[int, ...]] | None = None,
    ) -> Iterator[Batch]:
        """Batches by the pixel rule alone, on the device.

        Args:
            positions: Places in `rows`, in the order of the batches.
            parts: Which of these each batch holds.
            train: Whether these are training batches.
            uniform: ``(len(positions), draws)``, where the rule draws.
            epoch: Number of the epoch.
            augmented: ``(len(positions),)``, which samples of evaluation go through the rule as in
                training.
            views: Numbers of each extra view, by its name.
            keys: See `Pixels.batches`.
        """
        index = torch.from_numpy(self.rows[positions]).to(self.device)
        drawn = None if uniform is None else torch.from_numpy(uniform).to(self.device)
        of_views = {
            name: torch.from_numpy(numbers).to(self.device)
            for name, numbers in (views or {}).items()
        }
        pixels, rows, places = self._stored(epoch, positions)
        stored = pixels.batches(
            self.split, rows, places, parts, device=self.device, workers=self.workers, keys=keys
        )
        for part, image in zip(parts, stored, strict=True):
            placed = image.to(self.device, non_blocking=True)
            numbers = None if drawn is None else drawn[part]
            ruled = self.pipeline.rule(placed, train=train, uniform=numbers)
            if augmented is not None and numbers is not None and augmented[part].any():
                some = torch.from_numpy(np.flatnonzero(augmented[part])).to(self.device)
                ruled[some] = self.pipeline.rule(placed[some], train=True, uniform=numbers[some])
            made = {
                name: self.pipeline.views.rule(placed, train=True, uniform=numbers[part])
                for name, numbers in of_views.items()
            }
            yield self._batch(ruled, index[part], made)

    def _stored(self, epoch: int, positions: NDArray[np.int64]) -> Stored:
        """Where the images of some places in `rows` are stored."""
        return Stored(self.pixels, self.rows, positions)

    def _sampled(
        self, keys: Sequence[Key], parts: list[slice], *, pixels: Pixels, train: bool
    ) -> Iterator[list[Tensor]]:
        """Images and views of batches by a list of transforms, sample by sample."""
        return ahead(
            Samples(pixels, self.pipeline, train=train),
            [keys[part] for part in parts],
            self.workers,
            pin=self.device.type == "cuda",
        )

    def _uniform(self, epoch: int, rows: NDArray[np.int64], view: int = 0) -> NDArray[np.float32]:
        """The numbers that the pixel rule, or that of a view, needs for rows in their order."""
        rule = self.pipeline.views.rule if view else self.pipeline.rule
        return uniform_numbers(
            self.seed, epoch, rows, total=len(self.pixels), draws=rule.draws, view=view
        )


@dataclass(kw_only=True, eq=False)
class TrainLoader(Loader):
    """Batches of the training rows, epoch by epoch; `batches` depends on (seed, epoch) alone.

    Attributes:
        sampler: The order of each epoch, and how it is cut.
        views: Names of extra augmented views of each image.
        augmented: Stored versions of the images of the whole table, which are seen in their place,
            one after the other from epoch to epoch; see `medldr.data.image_table.ImageTable`.
    """

    sampler: Sampler
    augmented: Pixels | None = None
    views: tuple[str, ...] = ()
    split: str = "train"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.views and not self.pipeline.views.random:
            place = "transform.views" if self.pipeline.has_own_views else "transform"
            raise InputError(
                f"the algorithm needs extra views ({', '.join(self.views)}), but {place} has no "
                f"random transform to make them differ. Name one in {place}.train, such as "
                "RandFlip, or choose a preset that augments training images, such as scan or "
                "rand_augment."
            )

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch, at least one."""
        return self.sampler.batches.steps

    @property
    def batch_size(self) -> int:
        """Rows of a global batch, over all processes."""
        return self.sampler.batches.size

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from what the configuration asked for."""
        return self.sampler.batches.notes

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
        if chained or self.pixels.own_size:  # pictures of different sizes make no batch
            return self._chained(epoch, positions, parts)
        rows = self.rows[positions]
        uniform = self._uniform(epoch, rows) if self.pipeline.rule.draws else None
        views = {
            name: self._uniform(epoch, rows, view) for view, name in enumerate(self.views, start=1)
        }
        keys = None
        if self.pixels.bags is not None and self.pixels.bags.most is not None:
            places = zip(rows.tolist(), repetitions(rows).tolist(), strict=True)
            keys = [(self.seed, epoch, row, again) for row, again in places]
        return self._ruled(
            positions, parts, train=True, uniform=uniform, epoch=epoch, views=views, keys=keys
        )

    def _stored(self, epoch: int, positions: NDArray[np.int64]) -> Stored:
        """Of stored versions that of the epoch's number; an image that it repeats has the next."""
        if self.augmented is None:
            return super()._stored(epoch, positions)
        versions = len(self.augmented) // len(self.pixels)
        rows = (np.arange(versions)[:, None] * len(self.pixels) + self.rows).ravel()
        version = (epoch + repetitions(positions)) % versions
        return Stored(self.augmented, rows, version * len(self.rows) + positions)

    def _chained(
        self, epoch: int, positions: NDArray[np.int64], parts: list[slice]
    ) -> Iterator[Batch]:
        rows = self.rows[positions]
        keys = training_keys(
            rows,
            seed=self.seed,
            epoch=epoch,
            total=len(self.pixels),
            draws=[
                self.pipeline.rule.draws,
                *[self.pipeline.views.rule.draws] * len(self.views),
            ],
        )
        stored = self._stored(epoch, positions)
        at = stored.rows[stored.places].tolist()
        keys = [key._replace(row=row) for key, row in zip(keys, at, strict=True)]
        index = torch.from_numpy(rows).to(self.device)
        loaded = self._sampled(keys, parts, pixels=stored.pixels, train=True)
        for part, (image, *views) in zip(parts, loaded, strict=True):
            yield self._batch(image, index[part], dict(zip(self.views, views, strict=True)))


@dataclass(kw_only=True, eq=False)
class EvalLoader(Loader):
    """All rows of a split in row order, this process's contiguous part, none twice.

    Attributes:
        batch_size: Rows of a batch; of bags fewer, see `parts_of_bags`.
        augmented: ``(len(rows),)``, which rows the pixel rule changes as in training, by numbers
            that depend on (seed, 0, row) alone; None for none. Without lists of transforms only.
        mine: Places in `rows` of this process's part.
        parts: Which of these each batch holds.
    """

    batch_size: int
    augmented: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mine = np.array_split(np.arange(len(self.rows)), self.world)[self.rank]
        bags = self.pixels.bags
        self.parts = (
            [slice(n, n + self.batch_size) for n in range(0, len(self.mine), self.batch_size)]
            if bags is None
            else parts_of_bags(bags.sizes[self.rows[self.mine]].tolist(), self.batch_size)
        )

    def __len__(self) -> int:
        """Number of batches of this process."""
        return len(self.parts)

    def __iter__(self) -> Iterator[Batch]:
        parts = self.parts
        rows = self.rows[self.mine]
        uniform = augmented = None
        if self.pipeline.eval is None and self.augmented is not None and self.augmented.any():
            augmented = self.augmented[self.mine]
            uniform = self._uniform(0, rows)
        if self.pipeline.eval is None and (augmented is None or not self.pixels.own_size):
            yield from self._ruled(
                self.mine, parts, train=False, uniform=uniform, augmented=augmented
            )
            return
        keys = [Key(row, ((),), ((),)) for row in rows.tolist()]
        if uniform is not None and augmented is not None:
            for place in np.flatnonzero(augmented).tolist():
                keys[place] = keys[place]._replace(uniform=(uniform[place],))
        index = torch.from_numpy(rows).to(self.device)
        loaded = self._sampled(keys, parts, pixels=self.pixels, train=False)
        for part, (image,) in zip(parts, loaded, strict=True):
            yield self._batch(image, index[part])


def parts_of_bags(sizes: Sequence[int], most: int, latents: int = BAG_LATENTS) -> list[slice]:
    """Bags one after the other in batches, none of which is large once its bags are padded.

    Args:
        sizes: Latents of each bag.
        most: Bags of a batch.
        latents: Latents of a batch with padding, unless a single bag has more.

    Example:
        >>> parts_of_bags([2, 2, 9, 1], most=2, latents=8)
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    parts, start, longest = [], 0, 0
    for place, size in enumerate(sizes):
        longest = max(longest, size)
        count = place + 1 - start
        if count > 1 and (count > most or count * longest > latents):
            parts.append(slice(start, place))
            start, longest = place, size
    return [*parts, slice(start, len(sizes))] if len(sizes) else []
