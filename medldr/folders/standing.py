"""The state of each run of a sweep, from the files of its folder: one reading for all commands.

`sweep` decides by it what to start, `sweep status` shows it, and reports name it where a run has no
result. Besides the run's own folder, two small files of the sweep count:

- ``logs/sweeps/<sweep process>/<run>.json``, while a sweep process has launched the run but the run
  does not own its folder yet: it imports for seconds, or queues for hours. The file is valid as
  long as that sweep process lives, which the ``owner.json`` next to it shows, on other hosts too.
- ``logs/<run>.json``, how its process ended, if its own folder does not say: a process that is
  killed, or ends before it owns its folder, leaves no error in ``run.json``.

Both hold how often the run had been started before; they no longer count once it has started again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from medldr.errors import InputError
from medldr.folders.files import RunFolder, write_json
from medldr.folders.lifecycle import read_current
from medldr.folders.owner import is_owned
from medldr.folders.records import Record, read_record
from medldr.folders.run_record import RunRecord, starts
from medldr.folders.sweep_record import SweepFolder

State = Literal["done", "running", "launched", "interrupted", "failed", "waiting", "unreadable"]

AT_WORK: Final[tuple[State, ...]] = ("running", "launched")
"""States of a run that another process takes care of."""

CURE: Final = "Remove it"


class LaunchRecord(Record):
    """The launch of a run.

    Attributes:
        starts: How often the run had been started before.
    """

    starts: int


class ExitRecord(Record):
    """How a process ended.

    Attributes:
        code: Its exit code, or minus the number of the signal that killed it.
        error: The same in words, with the last line that it printed.
        starts: How often the run had been started by then.
    """

    code: int
    error: str
    starts: int = 0


@dataclass(frozen=True)
class Standing:
    """The state of a run.

    Attributes:
        state: ``done``, ``running`` (somewhere), ``launched`` (its process is starting, or its job
            is queued), ``interrupted`` (resumes at the next start), ``failed``, ``waiting`` (never
            started) or ``unreadable``.
        error: Why it failed or cannot be read; for an interrupted one, what stopped it, if that
            was not the user.
        resumes: Whether the next start of the sweep resumes it without being asked to.
        record: Its `run.json`, with the status that it has by now; None if there is none.
    """

    state: State
    error: str = ""
    resumes: bool = False
    record: RunRecord | None = field(default=None, compare=False)


def standing_of(folder: SweepFolder, name: str) -> Standing:
    """The state of a run of a sweep; damaged files make it unreadable."""
    try:
        return recorded_standing(folder, name, read_current(folder.run(name)))
    except InputError as error:
        return Standing("unreadable", str(error))


def recorded_standing(folder: SweepFolder, name: str, record: RunRecord | None) -> Standing:
    """The state of a run of which `run.json` has been read.

    Args:
        folder: The sweep's folder.
        name: Name of the run.
        record: Its `run.json`, from `medldr.folders.lifecycle.read_current`.

    Raises:
        InputError: If another of its files is damaged.
    """
    run = folder.run(name)
    started = 0 if record is None else record.times.starts
    if record is not None and record.status == "done":
        if run.evaluation.exists() and run.model.exists():
            return Standing("done", record=record)
        return Standing("interrupted", resumes=True, record=record)  # it has to be opened again
    if record is not None and record.status == "running":
        return Standing("running", record=record)
    if _is_launched(folder, name, started):
        return Standing("launched", record=record)
    # An exit record comes from a later process than what the run's own folder says.
    exited = _exit(folder, name, started)
    if exited is not None:
        # A mistake would only repeat; a run that a signal ended may succeed next time.
        return Standing("failed", exited.error, resumes=exited.code < 0, record=record)
    if record is None:
        return Standing("waiting", resumes=True)
    if record.status == "failed":
        return Standing("failed", record.error or "no error recorded", record=record)
    error = record.error or "its process was killed"
    by_the_user = error.startswith("stopped by")
    return Standing("interrupted", "" if by_the_user else error, resumes=True, record=record)


def write_exit_record(folder: SweepFolder, name: str, code: int, error: str) -> None:
    """Record how the process of a run ended: its exit code, and the same in words."""
    record = ExitRecord(code=code, error=error, starts=starts(folder.run(name)))
    write_json(folder.ending(name), record.written())


def _exit(folder: SweepFolder, name: str, started: int) -> ExitRecord | None:
    if not folder.ending(name).exists():
        return None
    record = read_record(folder.ending(name), ExitRecord, CURE)
    return record if record.starts == started else None


def _is_launched(folder: SweepFolder, name: str, started: int) -> bool:
    """Whether a live sweep process has launched the run, which has not started since."""
    if not folder.processes.is_dir():
        return False
    for process in folder.processes.iterdir():
        path = process / f"{name}.json"
        if not path.is_file():
            continue
        try:
            launch = read_record(path, LaunchRecord, CURE)
        except InputError:
            if path.is_file():
                raise
            continue  # its process has just ended
        if launch.starts == started and is_owned(RunFolder(process)):
            return True
    return False
