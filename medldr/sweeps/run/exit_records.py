"""The log of a member's process, and in words how it ended; see `medldr.folders.exit_record`."""

from __future__ import annotations

import signal
from pathlib import Path

from medldr.folders import provenance
from medldr.folders.exit_record import ExitRecord, write_exit_record
from medldr.folders.files import append_line
from medldr.folders.run_record import starts
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
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    said: list[str] = []
    for line in lines:
        if line.startswith(HEADER):
            said = []
        elif line.startswith("  ") and said and said[-1].startswith("error: "):
            said[-1] += f" {line.strip()}"
        elif line.strip():
            said.append(line.strip())
    errors = [line.removeprefix("error: ") for line in said if line.startswith("error: ")]
    found = (errors or said or [""])[-1]
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]} ..."


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
    record = ExitRecord(code=code, error=error, starts=starts(folder.run(name)))
    write_exit_record(folder, name, record)
    return error
