"""Which training rows make each batch: a pure function of (seed, epoch), with no state.

A sampler gives one epoch's order; `Batches` cuts it into global batches and gives each process its
equal part. So resuming needs no saved sampler, and one and four processes see the same global
batches. No sampler can hang or yield an empty batch, because the number of batches is fixed before
the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from medldr.data.loading.batches import Batches, Order, plan
from medldr.data.loading.domain_blocks import build_domain_blocks
from medldr.errors import InputError, did_you_mean

SAMPLERS = ("shuffle", "weighted", "domains")


class Sampler(Protocol):
    """One epoch's order, as positions within the training rows.

    Attributes:
        batches: How the order is cut; `order` has ``batches.total`` entries.
    """

    batches: Batches

    def order(self, epoch: int) -> Order:
        """Positions 0..n-1 within the training rows, global batch after global batch."""
        ...


@dataclass
class Shuffle:
    """Every row once per epoch, in random order."""

    rows: int
    batches: Batches
    seed: int

    def order(self, epoch: int) -> Order:
        """A permutation, cut to the epoch's whole batches."""
        generator = np.random.default_rng([self.seed, epoch, 0])
        return generator.permutation(self.rows)[: self.batches.total]


class Weighted:
    """Rows drawn with replacement, every class present equally often.

    Args:
        labels: ``(n,)`` classes of the rows actually used.
        batches: How the order is cut.
        seed: The run's seed.
    """

    def __init__(self, labels: NDArray[np.int64], batches: Batches, seed: int) -> None:
        self.batches = batches
        self.seed = seed
        _, number, counts = np.unique(labels, return_inverse=True, return_counts=True)
        self.weights: NDArray[np.float64] = 1.0 / (len(counts) * counts[number])

    def order(self, epoch: int) -> Order:
        """Independent draws, as many as the epoch's batches hold."""
        generator = np.random.default_rng([self.seed, epoch, 1])
        drawn: Order = generator.choice(len(self.weights), self.batches.total, p=self.weights)
        return drawn


def build_sampler(
    name: str,
    *,
    labels: NDArray[np.int64] | NDArray[np.float32],
    domains: NDArray[np.int64],
    batch_size: int,
    drop_last: bool,
    seed: int,
    world: int = 1,
    domain_names: Sequence[str] = (),
    domains_per_batch: int | None = None,
    batches_per_step: int = 1,
    batch_per_domain: int | None = None,
) -> Sampler:
    """The sampler of this name over the training rows actually used.

    Args:
        name: ``shuffle``, ``weighted`` or ``domains``.
        labels: ``(n,)`` classes, or ``(n, L)`` multi-label.
        domains: ``(n,)`` numbers of the source domains; all -1 where there are none.
        batch_size: `training.batch_size`.
        drop_last: Whether an epoch's partial batch is dropped.
        seed: The run's seed.
        world: Number of processes.
        domain_names: Of the source domains, by number, for messages.
        domains_per_batch: With ``domains``: how many of them each batch holds, drawn for each
            batch; None for all.
        batches_per_step: A global batch has ``batch_size`` times this many rows; the length
            of an epoch does not change.
        batch_per_domain: `training.batch_per_domain`: rows of each domain in a batch; overrides
            ``batch_size``.

    Raises:
        InputError: If the name is unknown, or the data or batch size do not allow it.
    """
    if name not in SAMPLERS:
        raise InputError(
            f"training.sampler: unknown sampler {name!r}.{did_you_mean(name, SAMPLERS)} "
            f"Known: {', '.join(SAMPLERS)}"
        )
    if name == "domains":
        return build_domain_blocks(
            domains,
            names=domain_names,
            batch_size=batch_size,
            drop_last=drop_last,
            seed=seed,
            world=world,
            domains_per_batch=domains_per_batch,
            batches_per_step=batches_per_step,
            batch_per_domain=batch_per_domain,
        )
    if batch_per_domain is not None:
        raise InputError(
            f"training.batch_per_domain: {batch_per_domain} needs blocks of domains, but the "
            f"sampler is {name}. Set training.sampler: domains"
        )
    rows_per_step = batch_size * batches_per_step
    batches = plan(len(labels), rows_per_step, drop_last=drop_last, world=world)
    if name == "shuffle":
        return Shuffle(len(labels), batches, seed)
    if labels.ndim == 2:
        raise InputError(
            "training.sampler: weighted balances classes, but these labels are multi-label, where "
            "an image has several labels or none. Use shuffle."
        )
    return Weighted(labels.astype(np.int64), batches, seed)
