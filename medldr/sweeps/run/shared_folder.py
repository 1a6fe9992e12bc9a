"""What may share the folder of a sweep: starts of one plan, one after another or side by side.

A sweep process keeps its plan as `sweep.json` in its own folder, `logs/sweeps/<its own name>/`,
for as long as it lives. Another plan is refused till then: it would change the table under it.
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

    Two that start in the same moment cannot miss each other: each shows its plan before it looks
    for others.

    Args:
        mine: The sweep process's folder, from `at_work`.
        record: Its plan.
    """
    write_sweep(SweepFolder(mine), record)


def refuse_others(folder: SweepFolder, record: Sweep, mine: Path | None = None) -> None:
    """Keep two sweeps, two plans at work, or a sweep and a run, out of one folder.

    Args:
        folder: Where the sweep goes.
        record: Its plan.
        mine: The folder of the asking sweep process, if it is at work already.

    Raises:
        InputError: Naming what is there.
    """
    if folder.path.is_file():
        raise InputError(f"{folder.path} is a file. Choose another folder with --out")
    if RunFolder(folder.path).run.exists():
        raise InputError(f"{folder.path} is the folder of a run. Choose another one with --out")
    there = _recorded(folder)
    if there is not None and there.name != record.name:
        raise InputError(
            f"{folder.path} holds the sweep {there.name!r}, and this one is {record.name!r}. "
            "Choose another folder with --out"
        )
    for process in living(folder):
        other = _recorded(SweepFolder(process)) if process != mine else None
        if other is not None and not _same(other, record):
            raise InputError(
                f"{folder.path} is at work with another plan ({_described(other)}); wait for it, "
                "or name another folder with --out"
            )


def left_behind(folder: SweepFolder, record: Sweep) -> str | None:
    """A note on finished runs that a new plan takes out of the table; None: there are none.

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
    runs, they = ("1 finished run", "is") if done == 1 else (f"{done} finished runs", "are")
    stays = "it stays" if done == 1 else "they stay"
    before = " ".join(there.overrides) or "the sweep without changes"
    return (
        f"{runs} in {folder.path} {they} not of this plan; {stays}, but not in its table (it was: "
        f"{before})"
    )


def _recorded(folder: SweepFolder) -> Sweep | None:
    """The plan on record; None where there is none, or a damaged or old one to be written anew."""
    try:
        return read_sweep(folder)
    except InputError:
        return None


def _same(one: Sweep, other: Sweep) -> bool:
    """Whether two plans have the same runs and the same table, by whatever words."""
    return dataclasses.replace(one, overrides=()) == dataclasses.replace(other, overrides=())


def _described(record: Sweep) -> str:
    count = len(record.members)
    words = " ".join(record.overrides) or "the sweep without changes"
    return f"{count} run{'s' * (count != 1)}: {words}"
