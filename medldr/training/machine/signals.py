"""Stopping on request: SIGINT and SIGTERM end a run at its next step, resumable."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class SignalWatch:
    """Within it, the first SIGINT or SIGTERM is only noted; the second has its usual effect.

    Outside the main thread Python allows no handlers, and signals are not watched.

    Attributes:
        received: Number of the signal that came, or 0.

    Example:
        >>> with SignalWatch() as watch:
        ...     signal.raise_signal(signal.SIGTERM)
        >>> watch.received == signal.SIGTERM
        True
    """

    def __init__(self) -> None:
        self.received = 0
        self._previous: dict[signal.Signals, Any] = {}

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.received = signum
        self._give_back()

    def _give_back(self) -> None:
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def __enter__(self) -> SignalWatch:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        self._give_back()
