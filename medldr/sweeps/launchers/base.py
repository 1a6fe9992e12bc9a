"""What the scheduler asks of a launcher: start these jobs, and report on each of them."""

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
        command: Its command line.
        log: File that receives its output.
        devices: Accelerators it uses.
        cores: Processor cores it uses.
        processes: Number of processes: several if the run trains on several devices.
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
        """Its exit code, minus the number of the signal that killed it, or None until it ends."""

    def stop(self) -> None:
        """Ask it to save its state and end."""

    def kill(self) -> None:
        """Kill it at once."""


@dataclass(frozen=True)
class Launcher:
    """How processes are started.

    Attributes:
        start: Starts all given jobs and returns a handle for each.
        slots: How many jobs it takes at once; None: all, because it has its own queue.
        pause_s: Seconds between two checks of the handles.
        note: A note for the user about this launcher, or nothing.
        cores: Cores of a job whose configuration does not set the number of threads.
        news: Notes for the user since the last call.
        close: Called once when no more jobs will be started.
    """

    start: Callable[[Sequence[Job]], list[Handle]]
    slots: int | None
    cores: int
    pause_s: float = 0.2
    note: str = ""
    news: Callable[[], Sequence[str]] = tuple
    close: Callable[[], None] = lambda: None
