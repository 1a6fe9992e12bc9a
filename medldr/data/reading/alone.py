"""Work on the cache by one process at a time: the runs of a sweep start together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console


@contextlib.contextmanager
def alone(place: Path | None, what: str) -> Iterator[None]:
    """Hold the lock of a file of the cache; where there are no locks, work is done twice.

    Args:
        place: The file; its lock lies beside it. None: nothing is kept, so nothing is held.
        what: What another process is doing that holds it, for those who wait.
    """
    if place is None:
        yield
        return
    lock = FileLock(place.with_suffix(".lock"))
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say(f"another process is {what}; waiting for it")
            lock.acquire()
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        lock.release()


def say(text: str) -> None:
    """One line for those who watch."""
    Console(stderr=True).print(text, soft_wrap=True, markup=False, highlight=False)
