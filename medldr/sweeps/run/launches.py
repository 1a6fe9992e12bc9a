"""Which members a live sweep has launched, before their processes own their folders.

A process imports for seconds, and a job may queue for hours, before it owns its run's folder. Until
then the sweep process that launched it records this: `logs/sweeps/<its own name>/<run>.json` holds
``{"starts"}``, how often the run had been started before. The record is valid as long as that
process lives, which the `owner.json` next to it shows, on other hosts too.
"""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from medldr.errors import InputError
from medldr.folders.files import RunFolder, write_json
from medldr.folders.owner import is_owned, owned
from medldr.folders.records import Record, read_record
from medldr.folders.run_record import starts
from medldr.folders.sweep_record import SweepFolder

CURE = "Remove it"


class LaunchRecord(Record):
    """The launch of a member.

    Attributes:
        starts: How often its run had been started before.
    """

    starts: int


@contextlib.contextmanager
def at_work(folder: SweepFolder) -> Iterator[Path]:
    """Show that a sweep process is alive while the block runs; yields its own folder."""
    _remove_leftovers(folder)
    mine = RunFolder(_all(folder) / uuid.uuid4().hex[:12])
    try:
        with owned(mine):
            yield mine.path
    finally:
        shutil.rmtree(mine.path, ignore_errors=True)


def note_launch(mine: Path, name: str, before: int) -> None:
    """Record that a member is about to be launched.

    Args:
        mine: The sweep process's folder, from `at_work`.
        name: The member's run.
        before: How often it was started before.
    """
    write_json(mine / f"{name}.json", LaunchRecord(starts=before).written())


def forget_launch(mine: Path, name: str) -> None:
    """Remove the record of a launch, because the process has ended."""
    (mine / f"{name}.json").unlink(missing_ok=True)


def is_launched(folder: SweepFolder, name: str) -> bool:
    """Whether a live sweep process has launched a member whose run has not started since.

    Raises:
        InputError: If the record of a launch, or the run's `run.json`, is damaged.
    """
    if not _all(folder).is_dir():
        return False
    for other in _all(folder).iterdir():
        path = other / f"{name}.json"
        if not path.is_file():
            continue
        try:
            launch = read_record(path, LaunchRecord, CURE)
        except InputError:
            if path.is_file():
                raise
            continue  # its process has just ended
        if launch.starts == starts(folder.run(name)) and is_owned(RunFolder(other)):
            return True
    return False


def living(folder: SweepFolder) -> list[Path]:
    """The folders of the sweep processes that are at work in this sweep folder."""
    owners = sorted(_all(folder).glob("*/owner.json"))
    return [owner.parent for owner in owners if is_owned(RunFolder(owner.parent))]


def _remove_leftovers(folder: SweepFolder) -> None:
    """Remove what killed sweep processes left behind."""
    for owner in _all(folder).glob("*/owner.json"):
        with contextlib.suppress(FileNotFoundError):  # its sweep has just ended by itself
            # An empty file is just being written.
            if owner.stat().st_size and not is_owned(RunFolder(owner.parent)):
                shutil.rmtree(owner.parent, ignore_errors=True)


def _all(folder: SweepFolder) -> Path:
    return folder.logs / "sweeps"
