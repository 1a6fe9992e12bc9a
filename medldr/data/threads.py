"""Work on many images in threads, in order, with its progress shown."""

from __future__ import annotations

import collections
import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import TypeVar

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

from medldr.console import Console, say
from medldr.folders.provenance import cores

Made = TypeVar("Made")

_LINE_EVERY_S = 30.0


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


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Images per second."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


@contextlib.contextmanager
def progress(console: Console, title: str, rows: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of work over ``rows`` images; a terminal's bar is removed at the end.

    Args:
        console: Where to show it.
        title: What is being done.
        rows: Images in all.

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
            transient=True,
        )
        with bar:
            task = bar.add_task(title, total=rows)
            yield lambda more: bar.advance(task, more)
        return
    start = reported = time.monotonic()
    done = 0

    def advance(more: int) -> None:
        nonlocal done, reported
        done += more
        now = time.monotonic()
        if now - reported < _LINE_EVERY_S or done >= rows:
            return
        reported = now
        rate = done / (now - start)
        left = timedelta(seconds=round((rows - done) / rate))
        say(f"{title}: {done:,} of {rows:,} images, {rate:,.0f}/s, {left} left", console)

    yield advance
