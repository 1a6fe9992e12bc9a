"""Work on batches ahead of time, in worker processes; a user's error comes back as it was."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from medldr.errors import InputError
from medldr.folders.signals import SIGNALS

Key = TypeVar("Key")
Made = TypeVar("Made")


class _Failed:
    """An `InputError` on its way from a worker; raised there, it would come as a traceback."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Batches(Dataset[Any]):
    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.work(key)
        except InputError as error:
            return _Failed(str(error))


@contextlib.contextmanager
def _signals_unchanged() -> Iterator[None]:
    """Restore the signal handler that torch replaced for its workers, which would stay otherwise.

    It raises in the middle of whatever is being computed, far from here; without it a dead worker
    is noticed within seconds, where its batch is awaited.
    """
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGCHLD) if main and sys.platform != "win32" else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGCHLD, before)


def _was_killed(workers: Collection[BaseProcess]) -> bool:
    """Whether a signal ended one of some workers, perhaps this moment."""
    if workers:
        multiprocessing.connection.wait([worker.sentinel for worker in workers], timeout=1)
    return any((worker.exitcode or 0) < 0 for worker in workers)


def _as_it_is(made: Any) -> Any:
    return made


def _leave_signals_to_the_run(worker: int) -> None:
    """Have a worker outlive what a closing terminal or SLURM sends to every process of a job."""
    for number in SIGNALS:
        if number.name in ("SIGHUP", "SIGUSR1"):
            signal.signal(number, signal.SIG_IGN)


def ahead(
    work: Callable[[Key], Made], keys: Sequence[Key], workers: int, *, pin: bool = False
) -> Iterator[Made]:
    """``work(key)`` for each key, in order, from 0 or more worker processes.

    The workers end when the iteration ends, whether exhausted, left early or interrupted.

    Args:
        work: What to do; it is copied into the workers by forking, at no cost.
        keys: One per batch.
        workers: Number of processes; with 0 each batch is made when it is asked for.
        pin: Whether tensors shall be in memory from which a graphics card copies faster.

    Raises:
        InputError: What ``work`` raised, with its own message; or if a worker was killed.
    """
    count = min(workers, len(keys))
    with warnings.catch_warnings():
        # More workers than cores is the user's own choice of machine.workers.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        # Workers only compute on the CPU, with one thread each, so forking is safe for them; it
        # shares the images at no cost, where another start would copy them all.
        warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork")
        loader = DataLoader(
            _Batches(work),
            sampler=keys,
            batch_size=None,  # a key is a whole batch
            num_workers=count,
            collate_fn=_as_it_is,
            worker_init_fn=_leave_signals_to_the_run,
            pin_memory=pin,
            # Otherwise starting would draw a number from torch's own generator.
            generator=torch.Generator().manual_seed(0),
            multiprocessing_context="fork" if count and sys.platform == "linux" else None,
        )
        others = set(multiprocessing.active_children())
        with _signals_unchanged():
            iterator = iter(loader)
        started = set(multiprocessing.active_children()) - others
    killed = False
    try:
        for made in iterator:
            if isinstance(made, _Failed):
                raise InputError(made.text)
            yield made
    except Exception as error:
        # A worker that is gone shows as an error of torch, or of a connection that broke.
        gone = isinstance(error, (RuntimeError, OSError, EOFError))
        killed = gone and _was_killed(started)
        if not killed:
            traceback.clear_frames(error.__traceback__)  # they would keep the workers
            raise
    finally:
        del iterator  # asks its workers to end, and waits for them
    if killed:  # said here, because the error of torch would keep its workers
        raise InputError(
            "a worker process was killed, most often because memory ran out. Run the same command "
            "again to resume; fewer workers (machine.workers, or --workers of "
            "`medldr data pack`) need less memory"
        )
