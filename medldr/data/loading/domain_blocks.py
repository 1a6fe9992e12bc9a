"""The sampler `domains`: every batch holds equal blocks of some or all source domains.

Source:
    DomainBed's loop takes as many images of every source domain in each step; the group loader of
    WILDS draws some of the domains for each batch, uniformly and each at most once. Both draw the
    images of a batch without replacement. DomainBed reshuffles each domain when it is used up,
    WILDS before each batch; here each domain is reshuffled when it is used up, so within an epoch
    no image is repeated before all images of its domain have been shown.
    Our choice: an epoch shows as many images as there are training rows, whatever the domains'
    sizes, and the blocks of a batch are in the order of the domain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from medldr.data.loading.batches import Batches, Order
from medldr.errors import InputError

_OFTEN = 2.0
"""From this many repeats per epoch on, a note says that a domain's images are repeated."""


class DomainBlocks:
    """Equal blocks of the domains drawn for each global batch, on every process.

    A domain with fewer rows than it gives in an epoch begins again, in a new order; one with more
    shows part of its rows. No batch holds a row twice.

    Args:
        domains: ``(n,)`` domain number of the rows used.
        batches: How the order is cut; its size is a multiple of domains per batch x processes, and
            no domain has fewer rows than its share of a batch.
        seed: The run's seed.
        world: Number of processes.
        domains_per_batch: How many domains, drawn for each batch; None for all.

    Attributes:
        share: Rows that each domain of a global batch gives, over all processes.
    """

    def __init__(
        self,
        domains: NDArray[np.int64],
        batches: Batches,
        seed: int,
        world: int = 1,
        domains_per_batch: int | None = None,
    ) -> None:
        self.batches = batches
        self.seed = seed
        self.world = world
        self.members = [np.flatnonzero(domains == d) for d in np.unique(domains)]
        self.domains_per_batch = domains_per_batch or len(self.members)
        self.share = batches.size // self.domains_per_batch

    def drawn(self, epoch: int) -> NDArray[np.int64]:
        """Which domains each batch holds: ``(steps, domains per batch)``, ascending in a row.

        A row depends on (seed, epoch, step) alone, and not on how many steps there are.
        """
        number, steps = len(self.members), self.batches.steps
        if self.domains_per_batch == number:
            return np.tile(np.arange(number), (steps, 1))
        generator = np.random.default_rng([self.seed, epoch, 3])
        shuffled = generator.random((steps, number)).argsort(axis=1)
        return np.sort(shuffled[:, : self.domains_per_batch], axis=1)

    def order(self, epoch: int) -> Order:
        """Per batch: process after process, and within each domain after domain."""
        drawn = self.drawn(epoch)
        block = self.share // self.world
        order = np.empty((*drawn.shape, self.world, block), dtype=np.int64)
        for domain in range(len(self.members)):
            here = drawn == domain
            order[here] = self._stream(domain, epoch, int(here.sum())).reshape(
                -1, self.world, block
            )
        return order.swapaxes(1, 2).reshape(-1)

    def _stream(self, domain: int, epoch: int, batches: int) -> Order:
        """The rows that a domain gives to so many batches, one after the other."""
        rows, share = self.members[domain], self.share
        generator = np.random.default_rng([self.seed, epoch, 2, domain])
        passes: list[Order] = []
        given = 0
        while given < batches * share:
            shuffled = generator.permutation(rows)
            begun = given % share
            if begun:  # the batch that the last pass began must not get its rows again
                fresh = shuffled[~np.isin(shuffled, passes[-1][-begun:])][: share - begun]
                shuffled = np.concatenate([fresh, shuffled[~np.isin(shuffled, fresh)]])
            passes.append(shuffled)
            given += len(rows)
        return np.concatenate(passes or [rows])[: batches * share]


def build_domain_blocks(
    domains: NDArray[np.int64],
    *,
    names: Sequence[str],
    batch_size: int,
    drop_last: bool,
    seed: int,
    world: int,
    domains_per_batch: int | None,
    batches_per_step: int,
    batch_per_domain: int | None = None,
) -> DomainBlocks:
    """The sampler, after checking that every batch can be filled.

    The arguments are those of `medldr.data.loading.samplers.build_sampler`.

    Raises:
        InputError: Naming the domain or the key, and the cure.
    """
    if not len(domains) or (domains < 0).any():
        raise InputError(
            "training.sampler: domains needs a domain for every training row, and this dataset "
            "has none. Use shuffle."
        )
    present, counts = np.unique(domains, return_counts=True)
    number = len(present)
    chosen = domains_per_batch or number
    if chosen > number:
        raise InputError(
            f"the algorithm needs {chosen} source domains in each batch, but there are {number}"
        )
    titles = [names[d] if d < len(names) else f"number {d}" for d in present.tolist()]
    have = dict(zip(titles, counts.tolist(), strict=True))
    notes = []
    size = _rows_per_batch(have, chosen, world, batch_size, batches_per_step, batch_per_domain)
    if batch_per_domain is None and size != batch_size * batches_per_step:
        times = f", {batches_per_step} times in a step" if batches_per_step > 1 else ""
        of = f" of the {number}" if chosen < number else ""
        notes.append(
            f"training.batch_size is {batch_size}{times}; each step uses {size}: "
            f"{size // chosen} from each of {chosen}{of} source domains."
        )
    steps = max(1, len(domains) // size if drop_last else -(-len(domains) // size))
    repeats = steps * size / number / counts
    often = [
        f"{title} {repeat:.0f} times"
        for title, repeat in zip(titles, repeats.tolist(), strict=True)
        if repeat >= _OFTEN
    ]
    if often:
        notes.append(
            "training.sampler: domains draws equally many images from every source domain, so an "
            f"epoch repeats those of small ones: each image of {', of '.join(often)}."
        )
    batches = Batches(steps, size, size, tuple(notes))
    return DomainBlocks(domains, batches, seed, world, chosen)


def _rows_per_batch(
    have: dict[str, int],
    chosen: int,
    world: int,
    batch_size: int,
    batches_per_step: int,
    batch_per_domain: int | None,
) -> int:
    """Rows of a batch: what was asked for, in equal blocks, and no more than there are."""
    if batch_per_domain is not None:
        key, given, size = "batch_per_domain", batch_per_domain, batch_per_domain * chosen
        if batch_per_domain % world:
            raise InputError(
                f"training.batch_per_domain: {batch_per_domain} images of each domain cannot be "
                f"divided evenly among {world} processes; use a multiple of {world}"
            )
    else:
        key, given, unit = "batch_size", batch_size, chosen * world
        wanted = batch_size * batches_per_step
        if wanted < unit:
            raise InputError(
                f"training.batch_size: {batch_size} is too small for one image of each of {chosen} "
                f"source domains on each of {world} processes; the minimum is "
                f"{-(-unit // batches_per_step)}"
            )
        size = max(unit, min(wanted, sum(have.values())) // unit * unit)
    share = size // chosen
    short = {title: count for title, count in have.items() if count < share}
    if not short:
        return size
    counts = ", ".join(f"{title} has {count}" for title, count in short.items())
    largest, others = min(short.values()) // world * world, ""
    if batch_per_domain is None:
        largest = largest * chosen // batches_per_step
        if largest * batches_per_step < chosen * world:  # not one image of each domain
            largest = 0
        others = ", or, where the algorithm allows it, set training.sampler: shuffle"
    smaller = (
        f"Set training.{key} to {largest} or less"
        if largest
        else "Use fewer processes (machine.devices)"
    )
    raise InputError(
        f"training.{key}: with {given}, a batch takes {share} images from each of its source "
        f"domains, but of the training images {counts}. {smaller}, "
        f"leave the domain out of training (data.held_out, or its items in data.exclude){others}"
    )
