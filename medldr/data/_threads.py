"""Reading many files in threads, in order, with a progress bar on a terminal."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_THREADS = min(16, 4 * (os.cpu_count() or 1))  # they wait for the disk more than they compute

Made = TypeVar("Made")


def in_threads(
    work: Callable[[range], Made], total: int, *, step: int, title: str
) -> Iterator[Made]:
    """``work(range(0, step)), work(range(step, 2 * step)), ...`` up to ``total``, in order.

    Few results wait at any time, however many there are in all. When the iteration is left early,
    what has not begun never does.

    Args:
        work: Called in threads; must let others run, as reading and decoding do.
        total: Number of items.
        step: Items of each call.
        title: What the progress bar says.
    """
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    parts = (range(start, min(start + step, total)) for start in range(0, total, step))
    waiting: collections.deque[tuple[int, Future[Made]]] = collections.deque()
    pool = ThreadPoolExecutor(_THREADS)
    try:
        with bar:
            task = bar.add_task(title, total=total)
            for part in parts:
                waiting.append((len(part), pool.submit(work, part)))
                if len(waiting) > 2 * _THREADS:
                    yield _next(waiting, bar, task)
            while waiting:
                yield _next(waiting, bar, task)
    finally:
        pool.shutdown(cancel_futures=True)


def _next(
    waiting: collections.deque[tuple[int, Future[Made]]], bar: Progress, task: TaskID
) -> Made:
    count, future = waiting.popleft()
    made = future.result()
    bar.update(task, advance=count)
    return made
