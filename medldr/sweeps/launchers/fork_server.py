"""The process from which the runs of a sweep are forked, with everything imported already.

``python -m medldr.sweeps.launchers.fork_server FD PROGRAM MODULE ...`` imports the modules, then
forks a child for each member that the sweep requests over the connection FD. Importing takes longer
than many a small run; forked members share it. The sweep itself could not fork: it may have
threads, or have used an accelerator.

Forking is safe here because this process has a single Python thread, computes nothing (torch has
not yet started its thread pool) and never touches an accelerator. The only other threads belong to
libraries that take care of a fork themselves: OpenBLAS, which NumPy brings, stops its threads at
each fork, and jemalloc, which pandas brings where pyarrow is installed, starts its housekeeping
thread again in the child.

A child is equivalent to a fresh process in everything that a run depends on: it has its own
session, log, random state and signal handlers, ends with its parent, and runs the program
(`medldr.cli`) as ``python -m`` would. Two things are worth knowing. A member runs the code of
medldr as it was when the sweep began, even if files have been changed since; outside plug-ins are
imported by each member itself. And warnings that Python issues during imports are not in the logs.

`medldr.sweeps.launchers.forked` is the sweep's end of the connection.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from medldr.folders.signals import SIGNALS
from medldr.sweeps.launchers.dies_with_parent import end_with
from medldr.sweeps.launchers.forked import Close, Ended, Signal, Start, Started, Unfit


class Server:
    """Forks members and reports their endings.

    Args:
        sweep: The connection to the sweep.
    """

    def __init__(self, sweep: Connection) -> None:
        self._sweep: Connection | None = sweep
        self._members: dict[int, int] = {}  # process -> number
        self._wake, self._woken = os.pipe()
        for end in (self._wake, self._woken):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)

    def serve(self) -> Start | None:
        """Work until the sweep is done or gone.

        Returns:
            In a child: the member that it will become. In the server: None.
        """
        closing = False
        while not (closing and not self._members):
            wait([self._wake] if self._sweep is None else [self._wake, self._sweep])
            try:
                self._report_endings()
                while self._sweep is not None and self._sweep.poll():
                    asked = self._sweep.recv()
                    if isinstance(asked, Start) and self._fork(asked):
                        return asked
                    if isinstance(asked, Signal):
                        self._signal(asked)
                    closing = closing or isinstance(asked, Close)
            except (EOFError, OSError):
                if not closing:
                    return None  # the sweep is gone, and the system signals its members to end
                self._sweep = None  # no more requests, but its members may be saving their state
        return None

    def become_child(self) -> None:
        """Drop what belongs only to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if self._sweep is not None:
            self._sweep.close()
        os.close(self._wake)
        os.close(self._woken)

    def _fork(self, asked: Start) -> bool:
        """Make a child; true in it."""
        try:
            pid = os.fork()
        except OSError:
            self._say(Started(asked.number, None))
            return False
        if pid == 0:
            return True
        self._members[pid] = asked.number
        self._say(Started(asked.number, pid))
        return False

    def _say(self, message: Started | Ended) -> None:
        if self._sweep is not None:
            self._sweep.send(message)

    def _signal(self, asked: Signal) -> None:
        # It is reaped only when its ending is reported, so the process number is still its own.
        for pid, number in self._members.items():
            if number == asked.number:
                try:
                    kills = asked.signum == signal.SIGKILL
                    (os.killpg if kills else os.kill)(pid, asked.signum)
                except ProcessLookupError:  # it has not created its session yet
                    os.kill(pid, asked.signum)

    def _report_endings(self) -> None:
        try:
            while os.read(self._wake, 512):
                pass
        except BlockingIOError:
            pass
        while self._members:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._say(Ended(self._members.pop(pid), os.waitstatus_to_exitcode(status)))


def main(descriptor: int, program: str, modules: Sequence[str]) -> None:
    """Import the modules and serve; in a child, run the member that it has become."""
    connection = Connection(descriptor)
    reason = prepare(modules)
    if reason:
        connection.send(Unfit(reason))
        os._exit(1)  # at once: threads may be what made it unfit
    server = Server(connection)
    # From here on the server outlives SIGTERM: it lives as long as its connection. A child accepts
    # signals again once it is ready.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    gc.collect()
    gc.freeze()  # the collector would write to, and thereby copy, every page that children share
    parent = os.getpid()
    member = server.serve()
    if member is None:
        os._exit(0)  # at once: there is nothing to clean up
    server.become_child()
    become(member, program, parent)


def prepare(modules: Sequence[str]) -> str:
    """Import the modules.

    Returns:
        Why it is unsafe to fork from this process, or nothing.
    """
    try:
        for name in modules:
            importlib.import_module(name)
    except Exception as error:  # a member started by itself reports it, if it matters
        return f"{type(error).__name__}: {error}"
    others = [thread.name for thread in threading.enumerate()[1:]]
    if others:
        return f"imports started threads: {', '.join(others)}"
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "imports initialised CUDA"
    return ""


def become(member: Start, program: str, parent: int) -> None:
    """Turn a forked child into a member and run it; ends with `SystemExit`."""
    os.setsid()
    log = os.open(member.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    end_with(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    # Python and torch start afresh in the child; NumPy would give every child the same numbers.
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
    sys.argv[1:] = member.words
    runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
