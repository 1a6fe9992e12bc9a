"""Reading many files in threads, in order, with the progress shown."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from rich.console import Console

from medldr.data.reading.progress import progress
from medldr.folders.provenance import cores

Made = TypeVar("Made")


def in_threads(
    work: Callable[[range], Made], total: int, *, step: int, title: str
) -> Iterator[Made]:
    """``work(range(0, step)), work(range(step, 2 * step)), ...`` up to ``total``, in order.

    Only a few results wait at any time, however large the total. If the iteration is left early,
    calls that have not started never run.

    Args:
        work: Called in threads; must let others run, as reading and decoding do.
        total: Number of images.
        step: Images of each call.
        title: What is being done, for those who watch.
    """
    threads = min(16, 4 * cores())  # they wait for the disk more than they compute
    parts = (range(start, min(start + step, total)) for start in range(0, total, step))
    waiting: collections.deque[tuple[int, Future[Made]]] = collections.deque()
    pool = ThreadPoolExecutor(threads)
    try:
        with progress(Console(stderr=True), title, total) as advance:
            for part in parts:
                waiting.append((len(part), pool.submit(work, part)))
                if len(waiting) > 2 * threads:
                    yield _next(waiting, advance)
            while waiting:
                yield _next(waiting, advance)
    finally:
        pool.shutdown(cancel_futures=True)


def _next(
    waiting: collections.deque[tuple[int, Future[Made]]], advance: Callable[[int], None]
) -> Made:
    count, future = waiting.popleft()
    made = future.result()
    advance(count)
    return made
