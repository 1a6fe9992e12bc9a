"""Latents of images and of their augmented versions, made when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.data import Data
from medldr.data.image_table import LazyImages
from medldr.data.loading.samples import Samples, training_keys, uniform_numbers
from medldr.encoding.encoder import Encoder
from medldr.errors import InputError


class LatentImages(LazyImages):
    """Latents of a data set's images, as evaluation sees these.

    Args:
        data: The images.
        encoder: What makes their latents.
        batch_size: Images that pass at once.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, data: Data, encoder: Encoder, batch_size: int) -> None:
        self.shape = (len(data.table), encoder.model.dim)
        self.stamp = getattr(data.table.images, "stamp", "")
        self._pixels, self._encoder, self._batch_size = data.pixels, encoder, batch_size
        self._ids = data.table.ids

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[Any]:
        """Latents ``(D,)`` of one row or ``(n, D)`` of several.

        Raises:
            InputError: If one is not finite; names its image.
        """
        if isinstance(rows, int | np.integer):
            found: NDArray[Any] = self[np.array([rows])][0]
            return found
        numbers = np.arange(len(self))[rows]
        latents = np.empty((len(numbers), self.shape[1]), np.float32)
        for start in range(0, len(numbers), self._batch_size):
            part = numbers[start : start + self._batch_size]
            latents[start : start + len(part)] = self._latents(part)
        if len(bad := np.flatnonzero(~np.isfinite(latents).all(1))):
            raise InputError(
                f"{self._ids[numbers[bad[0]] % len(self._ids)]}: its latent holds NaN or infinity. "
                "Look at the image, or use --precision float32 or bfloat16"
            )
        return latents

    def _latents(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._encoder.latents(self._of_rows(rows))

    def _of_rows(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return torch.stack([self._pixels.row(row) for row in rows.tolist()])


class LatentViews(LatentImages):
    """Latents of augmented versions: row ``v * N + i`` is image ``i`` as epoch ``v`` sees it.

    The random numbers are those of a run with this seed, whatever its splits.

    Args:
        data: The ``N`` images; their `pipeline` augments.
        encoder: What makes their latents.
        batch_size: Images that pass at once.
        views: Versions of each image.
        seed: The run's seed.
    """

    def __init__(
        self, data: Data, encoder: Encoder, batch_size: int, *, views: int, seed: int
    ) -> None:
        super().__init__(data, encoder, batch_size)
        self._images, self._pipeline, self._seed = len(data.table), data.pipeline, seed
        self.shape = (views * self._images, encoder.model.dim)

    def _latents(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        latents = np.empty((len(rows), self.shape[1]), np.float32)
        views, images = np.divmod(rows, self._images)
        for view in np.unique(views).tolist():
            seen = self._augmented(view, images[views == view])
            latents[views == view] = self._encoder.of_input(seen)
        return latents

    def _augmented(self, view: int, rows: NDArray[np.int64]) -> torch.Tensor:
        """As `medldr.data.loading.loaders.TrainLoader` makes them in the epoch of this number."""
        rule, of = self._pipeline.rule, {"epoch": view, "total": self._images}
        if self._pipeline.train is not None or self._pixels.own_size:
            keys = training_keys(rows, seed=self._seed, draws=[rule.draws], **of)
            return Samples(self._pixels, self._pipeline, train=True)(keys)[0]
        device = self._encoder.device
        uniform = None
        if rule.draws:
            numbers = uniform_numbers(self._seed, rows=rows, draws=rule.draws, **of)
            uniform = torch.from_numpy(numbers).to(device)
        return rule(self._of_rows(rows).to(device), train=True, uniform=uniform)
