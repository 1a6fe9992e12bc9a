"""Work on a pack block by block, in several processes, and how far it is."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from medldr.data._workers import ahead
from medldr.errors import InputError

T = TypeVar("T")

BLOCK_BYTES = 1 << 24
_LINE_EVERY_S = 30.0


@dataclass(frozen=True)
class Blocks:
    """How the rows of an array fall into blocks.

    Attributes:
        rows: Rows of the array.
        each: Rows per block; the last one may be shorter.

    Example:
        >>> blocks = Blocks(rows=10, each=4)
        >>> len(blocks), blocks[2]
        (3, slice(8, 10, None))
    """

    rows: int
    each: int

    @classmethod
    def of(cls, shape: Sequence[int]) -> Blocks:
        """Blocks of about 16 MiB: some hundred pictures, and a second's work at most."""
        return cls(shape[0], max(1, BLOCK_BYTES // max(1, math.prod(shape[1:]))))

    def __len__(self) -> int:
        return -(-self.rows // self.each)

    def __getitem__(self, number: int) -> slice:
        start = number * self.each
        return slice(start, min(start + self.each, self.rows))

    def size(self, number: int) -> int:
        """Rows of one block."""
        return min(self.each, self.rows - number * self.each)


def hash_block(images: NDArray[np.uint8], rows: slice) -> str:
    """sha256 of some rows' pixels."""
    return hashlib.sha256(np.ascontiguousarray(images[rows]).data).hexdigest()


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_parallel(work: Callable[[int], T], numbers: Sequence[int], workers: int) -> Iterator[T]:
    """What ``work`` returns for each number, in order.

    Processes, because decoding pictures in threads gains half as much: with two cores 1.9 against
    1.5 times one, and more threads than cores lose again (Pillow frees the interpreter's lock only
    while it decodes).

    Args:
        work: Called in the workers; what it returns travels back, so it is small.
        numbers: What to call it with.
        workers: Processes; 0 works in this one.

    Raises:
        InputError: What ``work`` raised, or if a worker is killed.
    """
    try:
        yield from ahead(work, numbers, workers, pin=False)
    except RuntimeError as error:
        if "exited unexpectedly" not in str(error):
            raise
        raise InputError(
            "a worker process was killed, most often because memory ran out. The same command "
            "goes on where it stopped; fewer --workers need less memory"
        ) from error


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Images per second."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


@contextlib.contextmanager
def progress(console: Console, title: str, rows: int) -> Iterator[Callable[[int], None]]:
    """Show how far a work over ``rows`` images is: a bar on a terminal, now and then a line else.

    Yields:
        Function to call with the number of images done since the last call.
    """
    if console.is_terminal:
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("images"),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            refresh_per_second=4,
        )
        with bar:
            task = bar.add_task(title, total=rows)
            yield lambda more: bar.advance(task, more)
        return
    start = said = time.monotonic()
    done = 0

    def advance(more: int) -> None:
        nonlocal done, said
        done += more
        now = time.monotonic()
        if now - said < _LINE_EVERY_S or done >= rows:
            return
        said = now
        rate = done / (now - start)
        left = timedelta(seconds=round((rows - done) / rate))
        console.print(
            f"{title}: {done:,} of {rows:,} images, {rate:,.0f}/s, {left} left",
            soft_wrap=True,
            highlight=False,
        )

    yield advance
