"""How a member's process ended, where the run's own folder cannot say so.

A process that is killed, or ends before it owns its folder, leaves no error in `run.json`. Then
`logs/<run>.json` holds ``{"code", "error", "starts"}``: exit code (minus the signal's number),
the last line it printed, and how often the run had been started, by which an old record is told.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from medldr.errors import InputError
from medldr.folders import provenance
from medldr.folders.files import RunFolder, append_line, read_json, write_json
from medldr.folders.sweep_record import SweepFolder

HEADER = "=== "
_TAIL = 1 << 16
_LONGEST = 400


def begin_log(path: Path, command: tuple[str, ...]) -> None:
    """Add a line that says when and by which words a process was started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    append_line(path, f"{HEADER}{provenance.now()} {' '.join(command)}")


def last_line(path: Path) -> str:
    """The last line of a log that says something; empty if its last process said nothing.

    A message of ours wins over what a library prints after it, and comes with its further lines.
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
        'killed by SIGKILL, often for want of memory'
        >>> describe(2, "machine.device: there is no cuda device here")
        'machine.device: there is no cuda device here'
    """
    if code >= 0:
        return line or f"ended with exit code {code} and said nothing"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    cause = ", often for want of memory" if code == -signal.SIGKILL else ""
    # How far it was does not explain it, and is told elsewhere.
    last = f"; its last line: {line}" if line and not line.startswith("epoch ") else ""
    return f"killed by {name}{cause}{last}"


def write_ending(folder: SweepFolder, name: str, code: int) -> str:
    """Record how a member's process ended, and return that in words."""
    error = describe(code, last_line(folder.log(name)))
    record = {"code": code, "error": error, "starts": starts(folder.run(name))}
    write_json(folder.ending(name), record)
    return error


def read_ending(folder: SweepFolder, name: str) -> tuple[int, str] | None:
    """Code and error of a record that still holds; None if there is none.

    One that was written before the run was started once more, by whomever, holds no longer.
    """
    path = folder.ending(name)
    if not path.exists():
        return None
    try:
        record: dict[str, Any] = read_json(path)
        if record.get("starts", 0) != starts(folder.run(name)):
            return None
        return int(record["code"]), str(record["error"])
    except (InputError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}. Remove it") from error


def starts(run: RunFolder) -> int:
    """How often a run was started, as its `run.json` counts; 0 where there is none.

    Raises:
        InputError: If that is damaged.
    """
    if not run.run.exists():
        return 0
    try:
        return int((read_json(run.run).get("times") or {}).get("starts", 0))
    except (AttributeError, TypeError, ValueError) as error:
        raise damaged(run, error) from error


def damaged(run: RunFolder, error: Exception) -> InputError:
    """What to say of a `run.json` whose entries make no sense."""
    return InputError(
        f"{run.run} is damaged: {error}. Put the file back, or begin the run anew with "
        "`medldr train ... --restart`"
    )
