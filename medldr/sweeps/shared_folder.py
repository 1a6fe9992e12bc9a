"""What several sweep processes in one folder tell each other, each in a folder of its own.

``logs/sweeps/<its own name>/`` exists while a sweep process lives and holds

- ``owner.json``, with the process and its heartbeat;
- ``sweep.json``, its plan: any other plan is refused for that time, since it would change the table
  in between; starts of the same plan may share the folder;
- ``<run>.json`` for each run that it has launched; see `medldr.folders.standing`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from medldr.errors import InputError
from medldr.folders.files import RunFolder, write_json
from medldr.folders.owner import is_owned, owned
from medldr.folders.standing import LaunchRecord, standing_of
from medldr.folders.sweep_record import Sweep, SweepFolder, read_sweep, write_sweep


@contextlib.contextmanager
def at_work(folder: SweepFolder) -> Iterator[Path]:
    """Show that a sweep process is alive while the block runs; yields its own folder."""
    for owner in folder.processes.glob("*/owner.json"):
        with contextlib.suppress(FileNotFoundError):  # its sweep has just ended by itself
            if not is_owned(RunFolder(owner.parent)):  # what a killed process left behind
                shutil.rmtree(owner.parent, ignore_errors=True)
    mine = RunFolder(folder.processes / uuid.uuid4().hex[:12])
    try:
        with owned(mine):
            yield mine.path
    finally:
        shutil.rmtree(mine.path, ignore_errors=True)


def note_plan(mine: Path, record: Sweep) -> None:
    """Show other sweep processes what this one works on.

    Two that start at the same moment cannot miss each other: each shows its plan before it looks
    for others.

    Args:
        mine: The sweep process's folder, from `at_work`.
        record: Its plan.
    """
    write_sweep(SweepFolder(mine), record)


def note_launch(mine: Path, name: str, before: int) -> None:
    """Record that a run is about to be launched.

    Args:
        mine: The sweep process's folder, from `at_work`.
        name: Name of the run.
        before: How often it was started before.
    """
    write_json(mine / f"{name}.json", LaunchRecord(starts=before).written())


def forget_launch(mine: Path, name: str) -> None:
    """Remove the record of a launch, because the process has ended."""
    (mine / f"{name}.json").unlink(missing_ok=True)


def refuse_others(folder: SweepFolder, record: Sweep, mine: Path | None = None) -> None:
    """Refuse a folder with another sweep, another plan at work, or a run.

    Args:
        folder: The sweep's folder.
        record: Its plan.
        mine: The folder of this sweep process, if it is already at work.

    Raises:
        InputError: Naming what the folder contains.
    """
    if folder.path.is_file() or RunFolder(folder.path).run.exists():
        raise InputError(
            f"{folder.path} is a file or a run folder. Choose another folder with --out"
        )
    earlier = _recorded(folder)
    if earlier is not None and earlier.name != record.name:
        raise InputError(
            f"{folder.path} already holds the sweep {earlier.name!r}; this one is {record.name!r}. "
            "Choose another folder with --out"
        )
    for owner in sorted(folder.processes.glob("*/owner.json")):
        process = owner.parent
        if process == mine or not is_owned(RunFolder(process)):
            continue
        other = _recorded(SweepFolder(process))
        # The same runs and the same table are the same plan, in whatever words it was asked for,
        # before and after one of them has chosen settings.
        if other is None:
            continue
        if dataclasses.replace(other.searching, overrides=record.overrides) != record.searching:
            raise InputError(
                f"another plan is running in {folder.path} ({_asked(other)}). Wait for it, or "
                "choose another folder with --out"
            )


def left_behind(folder: SweepFolder, record: Sweep) -> str | None:
    """A note on finished runs that a new plan removes from the table; None if there are none.

    Args:
        folder: The sweep's folder.
        record: The new plan.
    """
    earlier = _recorded(folder)
    if earlier is None:
        return None
    kept = {member.run for member in record.members}
    # Those of fresh seeds are told when settings are chosen again.
    before = earlier.searching if record.following else earlier
    gone = [member.run for member in before.members if member.run not in kept]
    done = sum(standing_of(folder, run).state == "done" for run in gone)
    if not done:
        return None
    return (
        f"finished runs in {folder.path} that this plan leaves out of its table and keeps: {done} "
        f"(the earlier plan was: {_asked(earlier)})"
    )


def _recorded(folder: SweepFolder) -> Sweep | None:
    """The recorded plan; None if there is none, or if it is damaged and to be rewritten."""
    try:
        return read_sweep(folder)
    except InputError:
        return None


def _asked(record: Sweep) -> str:
    """The command line of a sweep, in words."""
    return " ".join(record.overrides) or "the sweep without changes"
