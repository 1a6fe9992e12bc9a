"""`logs/<run>.json` of a sweep: how a member's process ended, if its own folder does not say.

A process that is killed, or ends before it owns its folder, leaves no error in `run.json`.
"""

from __future__ import annotations

from medldr.folders.files import write_json
from medldr.folders.records import Record, read_record
from medldr.folders.run_record import starts
from medldr.folders.sweep_record import SweepFolder

CURE = "Remove it"


class ExitRecord(Record):
    """How a process ended.

    Attributes:
        code: Its exit code, or minus the number of the signal that killed it.
        error: The same in words, with the last line that it printed.
        starts: How often the run had been started by then; a later start invalidates the record.
    """

    code: int
    error: str
    starts: int = 0


def read_exit_record(folder: SweepFolder, name: str) -> ExitRecord | None:
    """The valid record of a member; None if there is none.

    A record from before the latest start of the run is no longer valid.

    Raises:
        InputError: If the record, or the run's `run.json`, is damaged.
    """
    path = folder.ending(name)
    if not path.exists():
        return None
    record = read_record(path, ExitRecord, CURE)
    return record if record.starts == starts(folder.run(name)) else None


def write_exit_record(folder: SweepFolder, name: str, record: ExitRecord) -> None:
    """Write the record of a member, whole or not at all."""
    write_json(folder.ending(name), record.written())
