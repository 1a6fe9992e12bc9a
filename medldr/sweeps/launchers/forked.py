"""The sweep's side of its fork server: which members it starts, and how each of them is doing.

The server saves each member the seconds of importing. It is optional: whatever it cannot start, and
everything after it has ended, is started as a new process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from medldr.plugins import SINGULAR
from medldr.sweeps.launchers.base import Job
from medldr.sweeps.launchers.dies_with_parent import dies_with_parent

PROGRAM: Final = "medldr.cli"
"""The module that a member runs."""

SHARED: Final = (
    "medldr.run",
    "medldr.training.machine.fabric_parts",
    "medldr.reporting",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "jinja2",
    "safetensors.torch",
    "sklearn.metrics",
    "torchvision.models",
    "rich.progress",
    "typer.core",
)
"""What most runs import sooner or later; a missing name costs time, a superfluous one memory."""

_GONE: Final = "the process that forked the runs has ended: each run now starts as a new process"
_UNFIT: Final = "runs cannot be forked, so each starts as a new process, which takes longer: {}"


@dataclass(frozen=True)
class Start:
    """Asks the server for a member.

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
    """Asks the server for a signal to a member; SIGKILL goes to everything that it started too."""

    number: int
    signum: int


@dataclass(frozen=True)
class Close:
    """No more members will be requested: the server ends when its members have ended."""


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


class ForkServer:
    """Starts members by forking; the server process starts with the first of them.

    It takes members that run our own program as one process without a CUDA device, on Linux, in
    the environment and working directory that the server started in. Everything else starts as a
    new process. The reasons: system libraries of macOS do not survive a fork; a run on several
    devices starts its other processes from its command line, which a forked one does not have; and
    on a GPU, where a few seconds rarely matter, drivers would be one more thing to go wrong,
    although the server never initialises CUDA.

    Args:
        program: The module that members run.
        modules: What they share; unset: what our program needs, and the plug-ins of this sweep.
    """

    def __init__(self, program: str = PROGRAM, modules: Sequence[str] | None = None) -> None:
        self._program = program
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._began_in: tuple[dict[str, str], str] | None = None
        self._members: list[ForkedMember] = []
        self._notes: list[str] = []
        self._closed = False
        self.ended = False

    def takes(self, job: Job) -> bool:
        """Whether this server can start a job."""
        if sys.platform != "linux" or self.ended or self._closed:
            return False
        ours = job.command[:3] == (sys.executable, "-m", self._program)
        here = self._began_in in (None, _place())
        return ours and here and job.processes == 1

    def start(self, job: Job) -> ForkedMember:
        """Fork a member; whether that worked is known only later, see `ForkedMember.lost`."""
        if self._process is None:
            self._begin()
        member = ForkedMember(self, len(self._members))
        self._members.append(member)
        self.ask(Start(member.number, job.command[3:], job.log))
        return member

    def ask(self, request: Start | Signal | Close) -> None:
        """Send a request; `listen` notices if it could not arrive."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.send(request)

    def listen(self) -> None:
        """Process the server's messages since the last call."""
        try:
            while self._connection is not None and self._connection.poll():
                message = self._connection.recv()
                if isinstance(message, Started):
                    self._members[message.number].began(message.pid)
                elif isinstance(message, Ended):
                    self._members[message.number].code = message.code
                elif isinstance(message, Unfit):
                    self._end(_UNFIT.format(message.reason))
        except (EOFError, OSError):
            self._end(None if self._closed else _GONE)

    def interrupt(self) -> None:
        """Do not wait for a server that is still importing; without effect once it is ready."""
        if self._process is not None:
            self._process.terminate()

    def news(self) -> list[str]:
        """Notes for the user since the last call."""
        self.listen()
        notes, self._notes = self._notes, []
        return notes

    def close(self) -> None:
        """No more members will be started; those still running are followed as before."""
        self._closed = True
        self.ask(Close())
        self.listen()
        if self._process is not None and not any(member.runs for member in self._members):
            self.interrupt()
            self._process.wait()

    def _begin(self) -> None:
        modules = (*SHARED, *loaded_plugins()) if self._modules is None else self._modules
        self._began_in = _place()
        self._connection, theirs = Pipe()
        command = [
            sys.executable,
            "-m",
            "medldr.sweeps.launchers.fork_server",
            str(theirs.fileno()),
            self._program,
            *modules,
        ]
        with theirs:
            self._process = subprocess.Popen(
                dies_with_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(os.environ),  # leaves out variables that C libraries have set
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def _end(self, note: str | None) -> None:
        assert self._process is not None
        self.ended = True
        self._connection = None
        self._process.wait()
        self._notes += [] if note is None else [note]


class ForkedMember:
    """A member that the server was asked to start.

    Attributes:
        number: Its number on the connection.
        code: Its exit code, minus the number of the signal that killed it, once known.
    """

    def __init__(self, server: ForkServer, number: int) -> None:
        self.number = number
        self.code: int | None = None
        self._server = server
        self._pid: int | None = None
        self._refused = False
        self._stopped = False

    def began(self, pid: int | None) -> None:
        """The server has forked it, or could not."""
        self._pid = pid
        self._refused = pid is None

    def poll(self) -> int | None:
        """Its exit code, minus the number of the signal that killed it, or None while it runs."""
        self._server.listen()
        if self.code is None and self._stopped and self._is_over():
            self.code = -signal.SIGTERM  # the server that knew it is gone
        return self.code

    @property
    def runs(self) -> bool:
        """Whether it has not ended, as far as the server has said."""
        return self.code is None and not self._refused

    @property
    def lost(self) -> bool:
        """Whether it never started, or ended together with its server before it was done."""
        return self.code is None and not self._stopped and self._is_over()

    def send_signal(self, signum: int) -> None:
        """Send a signal to it; SIGKILL to everything it started as well."""
        self._stopped = True
        self._server.interrupt()
        if not self._server.ended:
            self._server.ask(Signal(self.number, signum))
        elif self._pid is not None and _is_alive(self._pid):
            (os.killpg if signum == signal.SIGKILL else os.kill)(self._pid, signum)

    def _is_over(self) -> bool:
        """Whether it has ended, even if its exit code is unknown."""
        if self._refused:
            return True
        return self._server.ended and not (self._pid is not None and _is_alive(self._pid))


def loaded_plugins() -> list[str]:
    """Our plug-ins that this process has imported: those that the members of its sweep use.

    Outside plug-ins are left out, because the side effects of importing them are unknown.
    """
    kinds = tuple(f"medldr.{kind}." for kind in SINGULAR)
    return sorted(name for name in sys.modules if name.startswith(kinds))


def _place() -> tuple[dict[str, str], str]:
    """What a process inherits from the one that starts it."""
    return dict(os.environ), str(Path.cwd())


def _is_alive(pid: int) -> bool:
    """Whether a process that is not our child is still running."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"
