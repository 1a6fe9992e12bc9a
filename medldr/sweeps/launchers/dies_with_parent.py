"""Become another program, one that does not outlive the process that started it.

``python -m medldr.sweeps.launchers.dies_with_parent PID WORD ...`` turns into the command WORD ...,
which the system stops with SIGTERM as soon as process PID is gone (on Linux; elsewhere it keeps
running): a run of a killed sweep saves its state and ends. SIGUSR2, with which schedulers announce
the end of the time limit, is ignored: the parent gets it too, and stops the run properly.

This is a separate small program, because code between fork and exec is unsafe with threads around.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def dies_with_parent(command: Sequence[str]) -> list[str]:
    """The command that runs `command` for at most as long as this process lives.

    Example:
        >>> dies_with_parent(["echo", "hello"])[-2:]
        ['echo', 'hello']
    """
    return [
        sys.executable,
        "-m",
        "medldr.sweeps.launchers.dies_with_parent",
        str(os.getpid()),
        *command,
    ]


def become(parent: int, command: Sequence[str]) -> None:
    """Turn this process into the command; returns only if that fails.

    Raises:
        SystemExit: If the parent is gone already.
        OSError: If the program does not exist.
    """
    if hasattr(signal, "SIGUSR2"):
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    end_with(parent)
    os.execvp(command[0], list(command))


def end_with(parent: int) -> None:
    """Have the system send SIGTERM to this process when its parent ends (Linux only).

    Raises:
        SystemExit: If the parent is gone already.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it was gone before the line above
            raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
