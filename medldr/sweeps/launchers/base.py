"""What the scheduler asks of a launcher: start these, and tell how each of them is doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Job:
    """A process to start.

    Attributes:
        name: Name of the run.
        command: Its words.
        log: File that gets what it prints.
        devices: Accelerators it uses.
        cores: Processor cores it uses.
        processes: Processes it becomes: several where a run trains on several devices.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    devices: int = 0
    cores: int = 1
    processes: int = 1


class Handle(Protocol):
    """A process that was started, here or elsewhere."""

    def poll(self) -> int | None:
        """Its exit code, minus the signal that killed it, or None while it runs or waits."""

    def stop(self) -> None:
        """Ask it to save its state and end."""

    def kill(self) -> None:
        """End it at once."""


@dataclass(frozen=True)
class Launcher:
    """How processes are started.

    Attributes:
        start: Starts all of some jobs and returns a handle for each.
        slots: How many jobs it takes at once; None: all, because it has a queue of its own.
        pause_s: Seconds between two looks at the handles.
        note: What the user should know of it, or nothing.
        cores: Cores a job has when its configuration asks for no number of threads.
        news: What the user should know since the last call.
        close: Called once when nothing more is to be started.
    """

    start: Callable[[Sequence[Job]], list[Handle]]
    slots: int | None
    cores: int
    pause_s: float = 0.2
    note: str = ""
    news: Callable[[], Sequence[str]] = tuple
    close: Callable[[], None] = lambda: None
