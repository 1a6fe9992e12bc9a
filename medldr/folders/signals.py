"""The signals that ask a process to save and end, and handling them within a block."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Final

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
SIGNALS: Final = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""From the keyboard, a scheduler, a terminal that closes, and ``sbatch --signal``."""


@contextlib.contextmanager
def handling(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Have these signals call the handler; no effect outside the main thread, which alone may.

    A SIGHUP that is ignored stays so: `nohup` asks for that.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, signal.SIG_DFL if earlier is None else earlier)
