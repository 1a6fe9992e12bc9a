"""Messages between a sweep and the server that forks its members."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Start:
    """Asks for a member.

    Attributes:
        number: Its number on this connection.
        words: What follows ``medldr`` on its command line.
        log: File that receives its output.
    """

    number: int
    words: tuple[str, ...]
    log: Path


@dataclass(frozen=True)
class Signal:
    """Asks for a signal to a member, or to it and everything it started."""

    number: int
    signum: int
    to_group: bool = False


@dataclass(frozen=True)
class Close:
    """No more members will be requested: the server ends when its members have ended."""


@dataclass(frozen=True)
class Ready:
    """Everything is imported; from here on the server outlives SIGTERM."""


@dataclass(frozen=True)
class Unfit:
    """The server cannot be used, and has ended."""

    reason: str


@dataclass(frozen=True)
class Started:
    """A member runs as process `pid`; None if the system refused to fork."""

    number: int
    pid: int | None


@dataclass(frozen=True)
class Ended:
    """A member's exit code, or minus the number of the signal that killed it."""

    number: int
    code: int
