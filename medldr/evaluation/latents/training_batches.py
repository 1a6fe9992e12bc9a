"""Random batches of training rows, as the sampler of a run draws them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.folders.latents_record import Latents

Rows = NDArray[np.int64]

FEWEST = 2
"""Training rows that mixing needs: with one alone a latent has no other to be mixed with."""
TOO_FEW = f"there are fewer than {FEWEST} latents of training images to mix with"


@dataclass(frozen=True)
class TrainingBatches:
    """How a run drew the batches that it trained on.

    Attributes:
        size: Rows of a batch.
        sampler: ``shuffle``, ``weighted`` (classes) or ``domains``, as ``training.sampler``.
        domains: With ``domains``: how many source domains a batch holds; None for all.

    Source:
        The samplers of `medldr.data.loading.samplers`. With ``weighted``, training draws row by
        row, each class as likely; here a batch holds equally many rows of each class, give or take
        one, which is that on average. Of more classes or domains than a batch has rows, it holds
        one row each of as many as fit. Both are our choice.
    """

    size: int
    sampler: str = "shuffle"
    domains: int | None = None

    def blocks(self, latents: Latents, rows: Rows) -> list[Rows]:
        """The rows of each class or domain, if batches hold equally many of each; else one block.

        Args:
            latents: The latents that batches are drawn from.
            rows: Positions of training rows, at least one.
        """
        kind: NDArray[Any]
        if self.sampler == "domains":
            kind = latents.domain[rows]
        elif self.sampler == "weighted":
            kind = latents.label[rows]
        else:
            return [rows]
        return [rows[kind == name] for name in np.unique(kind)]

    def draw(self, blocks: list[Rows], rng: np.random.Generator) -> Rows:
        """Positions of one random batch of training rows, in random order.

        Args:
            blocks: The training rows, as `blocks` parts them.
            rng: Draws the batch.
        """
        chosen = rng.permutation(len(blocks)).tolist()
        drawn = [
            rng.choice(block, self._most(share, block), replace=self._again)
            for share, block in zip(self._shares(blocks), (blocks[b] for b in chosen), strict=False)
        ]
        return rng.permutation(np.concatenate(drawn))

    def every(self, blocks: list[Rows], rng: np.random.Generator) -> Iterator[Rows]:
        """Batches until each of these training rows was in one; later ones repeat rows.

        The arguments are those of `draw`.
        """
        blocks = [rng.permutation(block) for block in blocks]
        shares, sizes = self._shares(blocks), np.array([len(block) for block in blocks])
        given = np.zeros(len(blocks), np.int64)
        while (given < sizes).any():
            # Where a batch has no room for all blocks, those that have rows left come first.
            order = np.lexsort((rng.random(len(blocks)), given >= sizes)).tolist()
            batch = []
            for share, b in zip(shares, order, strict=False):
                places = given[b] + np.arange(self._most(share, blocks[b]))
                batch.append(blocks[b][places % len(blocks[b])])
                given[b] += len(places)
            yield rng.permutation(np.concatenate(batch))

    @property
    def _again(self) -> bool:
        """Whether a batch may hold a row twice."""
        return self.sampler == "weighted"

    def _most(self, share: int, block: Rows) -> int:
        return share if self._again else min(share, len(block))

    def _shares(self, blocks: list[Rows]) -> list[int]:
        """How many rows each of the blocks of one batch gives."""
        number = min(self.domains or len(blocks), len(blocks), self.size)
        return [self.size // number + (place < self.size % number) for place in range(number)]


def training_rows(latents: Latents) -> Rows:
    """Positions of the training rows.

    Raises:
        InputError: If there are too few to mix.
    """
    if not can_mix(latents):
        raise InputError(TOO_FEW)
    return np.flatnonzero(latents.split == "train")


def can_mix(latents: Latents) -> bool:
    """Whether there are enough training rows to degrade and restore with."""
    return int((latents.split == "train").sum()) >= FEWEST
