"""What the loaders of training and evaluation share: how a batch is made of stored pixels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.loading import samples as _samples
from medldr.data.loading.pixel_store import Pixels
from medldr.data.loading.workers import ahead
from medldr.transforms import Pipeline
from medldr.transforms.base import memory_format
from medldr.types import Batch


@dataclass(frozen=True)
class Columns:
    """What is known of each row of the table besides its image, on a device."""

    label: Tensor
    domain: Tensor
    group: Tensor

    def to(self, device: torch.device) -> Columns:
        """The same on another device."""
        return Columns(self.label.to(device), self.domain.to(device), self.group.to(device))


class Loader:
    """One split's images and columns, and how a batch is made of them."""

    def __init__(
        self,
        pixels: Pixels,
        columns: Columns,
        pipeline: Pipeline,
        *,
        split: str,
        rows: NDArray[np.int64],
        device: torch.device,
        rank: int,
        world: int,
        workers: int,
    ) -> None:
        self.pipeline = pipeline
        self.device = device
        self.rank = rank
        self.world = world
        self.workers = workers
        self.rows = rows
        self._pixels = pixels
        self._split = split
        self._columns = columns.to(device)

    def _batch(self, image: Tensor, rows: Tensor, views: dict[str, Tensor] | None = None) -> Batch:
        columns = self._columns
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
        augmented: NDArray[np.bool_] | None = None,
        views: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> Iterator[Batch]:
        """Batches by the pixel rule alone, on the device.

        Args:
            positions: Places in `rows`, in the order of the batches.
            parts: Which of these each batch holds.
            train: Whether these are training batches.
            uniform: ``(len(positions), draws)``, where the rule draws.
            augmented: ``(len(positions),)``, which samples of evaluation go through the rule as in
                training.
            views: Numbers of each extra view, by its name.
        """
        index = torch.from_numpy(self.rows[positions]).to(self.device)
        drawn = None if uniform is None else torch.from_numpy(uniform).to(self.device)
        of_views = {
            name: torch.from_numpy(numbers).to(self.device)
            for name, numbers in (views or {}).items()
        }
        stored = self._pixels.batches(
            self._split,
            self.rows,
            positions,
            parts,
            device=self.device,
            workers=self.workers,
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

    def _sampled(
        self, keys: Sequence[_samples.Key], parts: list[slice], *, train: bool
    ) -> Iterator[list[Tensor]]:
        """Images and views of batches by a list of transforms, sample by sample."""
        return ahead(
            _samples.Samples(self._pixels, self.pipeline, train=train),
            [keys[part] for part in parts],
            self.workers,
            pin=self.device.type == "cuda",
        )
