"""Which training rows make each batch: a pure function of (seed, epoch), with no state.

A sampler gives one epoch's order; `Batches` cuts it into global batches and gives each process its
equal part. So resuming needs no saved sampler, and one and four processes see the same global
batches. No sampler can hang or yield an empty batch, because the number of batches is fixed before
the first one.

Source:
    Our choice. In training only, a last batch that would leave a process with a single image is
    left out, because batch norm cannot be computed on one; a training set smaller than a batch is
    one batch.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError, did_you_mean

Order = NDArray[np.int64]
SAMPLERS = ("shuffle", "weighted", "domains")


class Batches(NamedTuple):
    """How an epoch's order is cut.

    Attributes:
        steps: Batches per epoch, at least one.
        size: Rows of each global batch.
        last: Rows of the last one.
        notes: What differs from what the configuration asked for.
    """

    steps: int
    size: int
    last: int
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Rows drawn per epoch."""
        return (self.steps - 1) * self.size + self.last

    def part(self, step: int, rank: int, world: int) -> slice:
        """Where in the epoch's order this process's rows of a batch stand."""
        rows = (self.last if step == self.steps - 1 else self.size) // world
        start = step * self.size + rank * rows
        return slice(start, start + rows)


def plan(rows: int, batch_size: int, *, drop_last: bool, world: int = 1) -> Batches:
    """Cut ``rows`` rows into global batches that divide among ``world`` processes.

    Raises:
        InputError: If the batch does not divide, or there are fewer rows than processes.

    Example:
        >>> plan(33, 4, drop_last=False)[:3]  # the lone 33rd is left out, in training only
        (8, 4, 4)
        >>> plan(34, 4, drop_last=False)[:3]
        (9, 4, 2)
        >>> plan(8, 32, drop_last=True)
        Batches(steps=1, size=8, last=8, notes=('training.batch_size is 32, but there are 8 \
training images: each step uses 8.',))
    """
    if batch_size % world:
        below = batch_size - batch_size % world
        raise InputError(
            f"training.batch_size: {batch_size} is shared out evenly among {world} processes, so "
            f"it must be a multiple of {world}, such as {below or world} or {below + world}"
        )
    if rows < world:
        raise InputError(
            f"there are {rows} training images for {world} processes; use machine.devices={rows}"
            if rows
            else "there are no training images"
        )
    notes = []
    if rows < batch_size:
        size = rows - rows % world
        notes.append(
            f"training.batch_size is {batch_size}, but there are {rows} training images: each "
            f"step uses {size}."
        )
        steps, last = 1, size
    else:
        size = batch_size
        rest = 0 if drop_last else rows % size - rows % size % world
        if rest // world == 1 and size // world > 1:
            rest = 0
            notes.append(
                f"{rows} training images in batches of {size} leave one alone, which batch norm "
                "cannot use: each epoch leaves out its last one."
            )
        steps, last = rows // size + (rest > 0), rest or size
    if size // world == 1:
        notes.append(
            "each process trains on one image at a time; a network with batch norm fails where "
            "its last stage is one pixel wide. Choose a larger training.batch_size."
        )
    return Batches(steps, size, last, tuple(notes))


class Sampler(Protocol):
    """One epoch's order, as positions within the training rows.

    Attributes:
        batches: How the order is cut; `order` has ``batches.total`` entries.
    """

    batches: Batches

    def order(self, epoch: int) -> Order:
        """Positions 0..n-1 within the training rows, global batch after global batch."""
        ...


class Shuffle:
    """Every row once per epoch, in random order."""

    def __init__(self, rows: int, batches: Batches, seed: int) -> None:
        self.rows = rows
        self.batches = batches
        self.seed = seed

    def order(self, epoch: int) -> Order:
        """A permutation, cut to the epoch's whole batches."""
        generator = np.random.default_rng([self.seed, epoch, 0])
        return generator.permutation(self.rows)[: self.batches.total]


class Weighted:
    """Rows drawn with replacement so that every class present comes equally often.

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


class DomainBlocks:
    """Equal blocks of every source domain in each global batch and on every process.

    An epoch is as long as with `Shuffle`. A domain with fewer rows than that begins again, in a
    new order; one with more shows part of its rows.

    Args:
        domains: ``(n,)`` domain number of the rows used.
        batches: How the order is cut; its size is a multiple of domains x processes.
        seed: The run's seed.
        world: Number of processes.
    """

    def __init__(
        self, domains: NDArray[np.int64], batches: Batches, seed: int, world: int = 1
    ) -> None:
        self.batches = batches
        self.seed = seed
        self.world = world
        self.members = [np.flatnonzero(domains == d) for d in np.unique(domains)]

    def order(self, epoch: int) -> Order:
        """Per batch: process after process, and within each domain after domain."""
        steps, size = self.batches.steps, self.batches.size
        block = size // (len(self.members) * self.world)
        streams = [
            self._stream(d, epoch, steps * self.world * block).reshape(steps, self.world, block)
            for d in range(len(self.members))
        ]
        return np.stack(streams, axis=2).reshape(-1)

    def _stream(self, domain: int, epoch: int, length: int) -> Order:
        rows = self.members[domain]
        generator = np.random.default_rng([self.seed, epoch, 2, domain])
        passes = -(-length // len(rows))
        return np.concatenate([generator.permutation(rows) for _ in range(passes)])[:length]


def build_sampler(
    name: str,
    *,
    labels: NDArray[np.int64] | NDArray[np.float32],
    domains: NDArray[np.int64],
    batch_size: int,
    drop_last: bool,
    seed: int,
    world: int = 1,
) -> Sampler:
    """The sampler of this name over the training rows actually used.

    Args:
        name: ``shuffle``, ``weighted`` or ``domains``.
        labels: ``(n,)`` classes, or ``(n, L)`` multi-label.
        domains: ``(n,)`` numbers of the source domains; all -1 where there are none.
        batch_size: Rows of a global batch.
        drop_last: Whether an epoch's partial batch is dropped.
        seed: The run's seed.
        world: Number of processes.

    Raises:
        InputError: If the name is unknown, or the data or batch size do not allow it.
    """
    if name not in SAMPLERS:
        raise InputError(
            f"training.sampler: there is no sampler {name!r}.{did_you_mean(name, SAMPLERS)} "
            f"Known: {', '.join(SAMPLERS)}"
        )
    if name == "domains":
        return _domain_blocks(domains, batch_size, drop_last, seed, world)
    batches = plan(len(labels), batch_size, drop_last=drop_last, world=world)
    if name == "shuffle":
        return Shuffle(len(labels), batches, seed)
    if labels.ndim == 2:
        raise InputError(
            "training.sampler: weighted balances classes, but these labels are multi-label, where "
            "a row has several or none. Use shuffle."
        )
    return Weighted(labels.astype(np.int64), batches, seed)


def _domain_blocks(
    domains: NDArray[np.int64], batch_size: int, drop_last: bool, seed: int, world: int
) -> DomainBlocks:
    if not len(domains) or (domains < 0).any():
        raise InputError(
            "training.sampler: domains needs a domain for every training row, and this dataset "
            "has none. Use shuffle."
        )
    number = len(np.unique(domains))
    unit = number * world
    if batch_size < unit:
        raise InputError(
            f"training.batch_size: {batch_size} is too small for one image of each of {number} "
            f"source domains on each of {world} processes; the least is {unit}"
        )
    size = max(unit, min(batch_size, len(domains)) // unit * unit)
    steps = len(domains) // size if drop_last else -(-len(domains) // size)
    notes = []
    if size != batch_size:
        notes.append(
            f"training.batch_size is {batch_size}; each step uses {size}: {size // number} from "
            f"each of {number} source domains."
        )
    return DomainBlocks(domains, Batches(max(1, steps), size, size, tuple(notes)), seed, world)
