"""How an epoch's order is cut into global batches, and these into equal parts of the processes.

Source:
    Our choice. In training only, a last batch that would leave a process with a single image is
    left out, because batch norm cannot be computed on one; a training set smaller than a batch is
    one batch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError

Order = NDArray[np.int64]
"""One epoch's order, as positions within the training rows."""


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
        """Positions in the epoch's order of this process's rows of a batch."""
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
            f"training.batch_size: {batch_size} is divided evenly among {world} processes, so "
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
                f"{rows} training images in batches of {size} leave a last batch of one, which "
                "batch norm cannot use: each epoch skips it."
            )
        steps, last = rows // size + (rest > 0), rest or size
    if size // world == 1:
        notes.append(
            "each process trains on one image at a time; a network with batch norm fails if its "
            "last stage is one pixel wide. Choose a larger training.batch_size."
        )
    return Batches(steps, size, last, tuple(notes))
