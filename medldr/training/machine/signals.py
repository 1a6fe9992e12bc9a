"""Stopping on request: a signal ends a run at its next step, resumable."""

from __future__ import annotations

import contextlib
from types import FrameType

from medldr.folders.signals import SIGNALS, handling


class SignalWatch:
    """Within it, the first of `SIGNALS` is only noted; the second has its usual effect.

    Outside the main thread Python allows no handlers, and signals are not watched.

    Attributes:
        received: Number of the signal that came, or 0.

    Example:
        >>> import signal
        >>> with SignalWatch() as watch:
        ...     signal.raise_signal(signal.SIGTERM)
        >>> watch.received == signal.SIGTERM
        True
    """

    def __init__(self) -> None:
        self.received = 0
        self._handled = contextlib.ExitStack()

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.received = signum
        self._handled.close()

    def __enter__(self) -> SignalWatch:
        self._handled.enter_context(handling(SIGNALS, self._note))
        return self

    def __exit__(self, *error: object) -> None:
        self._handled.close()
