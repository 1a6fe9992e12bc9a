"""What may share a sweep folder: starts of the same plan, one after another or at the same time.

A sweep process keeps its plan as `sweep.json` in its own folder, `logs/sweeps/<its own name>/`,
while it lives. Any other plan is refused for that time: it would change the table in between.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.sweep_record import Sweep, SweepFolder, read_sweep, write_sweep
from medldr.sweeps.run.launches import living
from medldr.sweeps.status import standing_of


def note_plan(mine: Path, record: Sweep) -> None:
    """Show other sweep processes what this one works on.

    Two that start at the same moment cannot miss each other: each shows its plan before it looks
    for others.

    Args:
        mine: The sweep process's folder, from `at_work`.
        record: Its plan.
    """
    write_sweep(SweepFolder(mine), record)


def refuse_others(folder: SweepFolder, record: Sweep, mine: Path | None = None) -> None:
    """Refuse a folder with another sweep, another plan at work, or a run.

    Args:
        folder: The sweep's folder.
        record: Its plan.
        mine: The folder of this sweep process, if it is already at work.

    Raises:
        InputError: Naming what the folder contains.
    """
    if folder.path.is_file():
        raise InputError(f"{folder.path} is a file. Choose another folder with --out")
    if RunFolder(folder.path).run.exists():
        raise InputError(f"{folder.path} is a run folder. Choose another folder with --out")
    there = _recorded(folder)
    if there is not None and there.name != record.name:
        raise InputError(
            f"{folder.path} already holds the sweep {there.name!r}; this one is {record.name!r}. "
            "Choose another folder with --out"
        )
    for process in living(folder):
        other = _recorded(SweepFolder(process)) if process != mine else None
        if other is not None and not _same(other, record):
            raise InputError(
                f"another plan is running in {folder.path} ({_described(other)}). Wait for it, "
                "or choose another folder with --out"
            )


def left_behind(folder: SweepFolder, record: Sweep) -> str | None:
    """A note on finished runs that a new plan removes from the table; None if there are none.

    Args:
        folder: The sweep's folder.
        record: The new plan.
    """
    there = _recorded(folder)
    if there is None:
        return None
    kept = {member.run for member in record.members}
    gone = [member.run for member in there.members if member.run not in kept]
    done = sum(standing_of(folder, run).state == "done" for run in gone)
    if not done:
        return None
    runs, do = ("1 finished run", "does") if done == 1 else (f"{done} finished runs", "do")
    kept_as = "it is" if done == 1 else "they are"
    before = " ".join(there.overrides) or "the sweep without changes"
    return (
        f"{runs} in {folder.path} {do} not belong to this plan; {kept_as} kept, but left out of "
        f"its table (the earlier plan was: {before})"
    )


def _recorded(folder: SweepFolder) -> Sweep | None:
    """The recorded plan; None if there is none, or if it is damaged or old and to be rewritten."""
    try:
        return read_sweep(folder)
    except InputError:
        return None


def _same(one: Sweep, other: Sweep) -> bool:
    """Whether two plans have the same runs and the same table, whatever their overrides."""
    return dataclasses.replace(one, overrides=()) == dataclasses.replace(other, overrides=())


def _described(record: Sweep) -> str:
    count = len(record.members)
    words = " ".join(record.overrides) or "the sweep without changes"
    return f"{count} run{'s' * (count != 1)}: {words}"
