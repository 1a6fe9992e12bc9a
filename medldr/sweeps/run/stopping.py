"""Stopping a sweep: the first SIGINT or SIGTERM asks, the second one forces it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from medldr.training.machine.signals import SIGNALS


class SweepStopped(BaseException):
    """A signal stopped the sweep; finished runs stay finished.

    Attributes:
        signum: Number of the signal.
    """

    def __init__(self, signum: int, done: int, interrupted: int) -> None:
        super().__init__(
            f"stopped: {done} done, {interrupted} interrupted. Run the same command to resume"
        )
        self.signum = signum


class StopWatch:
    """Counts signals that ask to stop.

    Attributes:
        received: Number of the first one, or 0.
        count: How many have arrived.
    """

    def __init__(self) -> None:
        self.received = 0
        self.count = 0

    def note(self, signum: int, frame: FrameType | None = None) -> None:
        """Record a signal."""
        self.received = self.received or signum
        self.count += 1

    def wait(self, seconds: float) -> None:
        """Wait, but stop soon after a signal (its handler must not wait for a lock)."""
        end = time.monotonic() + seconds
        while not self.received and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    @contextlib.contextmanager
    def watching(self) -> Iterator[StopWatch]:
        """Handle SIGINT and SIGTERM within the block; only the main thread can.

        Example:
            >>> with StopWatch().watching() as watch:
            ...     signal.raise_signal(signal.SIGTERM)
            >>> watch.received == signal.SIGTERM, watch.count
            (True, 1)
        """
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self.note) for number in SIGNALS}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
