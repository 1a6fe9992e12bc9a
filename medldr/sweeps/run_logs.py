"""The log of a run's process, and in words how the process ended."""

from __future__ import annotations

import signal
from pathlib import Path

from medldr.errors import InputError
from medldr.folders import provenance
from medldr.folders.files import append_line, reading
from medldr.folders.standing import write_exit_record
from medldr.folders.sweep_record import SweepFolder

HEADER = "=== "
_TAIL = 1 << 16
_LONGEST = 400


def begin_log(path: Path, command: tuple[str, ...]) -> None:
    """Add a line with the time and the command that a process was started with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, f"{HEADER}{provenance.now()} {' '.join(command)}")


def last_line(path: Path) -> str:
    """The last line of a log that is not blank; empty if its last process printed nothing.

    Our own error message wins over what a library prints after it, and includes its further lines.
    """
    try:
        with reading(path), path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except InputError:
        return ""
    printed: list[str] = []
    for line in lines:
        if line.startswith(HEADER):
            printed = []
        elif line.startswith("  ") and printed and printed[-1].startswith("error: "):
            printed[-1] += f" {line.strip()}"
        elif line.strip():
            printed.append(line.strip())
    errors = [line.removeprefix("error: ") for line in printed if line.startswith("error: ")]
    last = (errors or printed or [""])[-1]
    return last if len(last) <= _LONGEST else f"{last[:_LONGEST]} ..."


def describe(code: int, line: str) -> str:
    """An ending in words.

    Example:
        >>> describe(-9, "epoch 3/12, step 40/160")
        'killed by SIGKILL, often because memory ran out'
        >>> describe(2, "machine.device: there is no cuda device here")
        'machine.device: there is no cuda device here'
    """
    if code >= 0:
        return line or f"ended with exit code {code} without any output"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    cause = ", often because memory ran out" if code == -signal.SIGKILL else ""
    # Its progress does not explain the ending, and is shown elsewhere.
    last = f"; last line of its log: {line}" if line and not line.startswith("epoch ") else ""
    return f"killed by {name}{cause}{last}"


def write_ending(folder: SweepFolder, name: str, code: int) -> str:
    """Record how a member's process ended, and return that in words."""
    error = describe(code, last_line(folder.log(name)))
    write_exit_record(folder, name, code, error)
    return error
