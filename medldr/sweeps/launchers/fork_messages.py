"""What a sweep and the server that forks its members say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Start:
    """Asks for a member.

    Attributes:
        number: What the sweep calls it on this connection.
        words: What follows ``medldr`` on its command line.
        log: File that gets what it prints.
    """

    number: int
    words: tuple[str, ...]
    log: Path


@dataclass(frozen=True)
class Signal:
    """Asks for a signal to a member, or to it and all that it started."""

    number: int
    signum: int
    to_group: bool = False


@dataclass(frozen=True)
class Close:
    """Nothing more will be asked for: the server ends when its members have ended."""


@dataclass(frozen=True)
class Ready:
    """Everything is imported; from here on the server outlives SIGTERM."""


@dataclass(frozen=True)
class Unfit:
    """The server cannot be used, and has ended."""

    reason: str


@dataclass(frozen=True)
class Started:
    """A member is at work as the process `pid`; None where the system refused one."""

    number: int
    pid: int | None


@dataclass(frozen=True)
class Ended:
    """A member's exit code, or minus the signal that killed it."""

    number: int
    code: int
