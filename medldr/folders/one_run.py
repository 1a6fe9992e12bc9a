"""The one run that is meant, by the folder of a run, of a sweep or of several runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medldr.errors import InputError, did_you_mean, some
from medldr.folders.files import RunFolder
from medldr.folders.lifecycle import run_folders

_HASH: Final = re.compile(r"-[0-9a-f]{8}(?=-s\d+$)")


def one_run(folder: Path | str, name: str | None = None, *, otherwise: str = "") -> RunFolder:
    """The run that a folder is, or the one of that name in it.

    Args:
        folder: A run folder; or the folder of a sweep, or of several runs.
        name: Which one; as `named` takes it.
        otherwise: What else may be done with several runs, for the message.

    Raises:
        InputError: If it is not clear which run is meant; names some and how to pick one.
    """
    folder = Path(folder).expanduser()
    runs = run_folders(folder)
    if not runs:
        raise InputError(
            f"{folder} is not a run folder: it has no run.json, nor has a folder in it. Give the "
            "folder that `medldr train` printed"
        )
    names = [run.path.resolve().name for run in runs]
    if name is not None:
        return runs[names.index(named(name, names, str(folder)))]
    if runs[0].path != folder:
        raise InputError(
            f"{folder} is a folder of runs: {some(names, most=3)}. Give the folder of one of "
            f"them{otherwise}"
        )
    return runs[0]


def named(name: str, names: Sequence[str], whose: str) -> str:
    """The run that a name means: its own, its label and seed, its label, or a part of these.

    Args:
        name: For example ``erm-3f2a9c81-s0``, ``erm-s0`` or ``erm``.
        names: Names of runs.
        whose: What they are the runs of, for messages.

    Raises:
        InputError: If it means none of them, or several.

    Example:
        >>> runs = ["erm-3f2a9c81-s0", "erm-3f2a9c81-s1", "coral-77aa77aa-s0"]
        >>> named("erm-s1", runs, "study.yaml"), named("coral", runs, "study.yaml")
        ('erm-3f2a9c81-s1', 'coral-77aa77aa-s0')
    """
    short = {run: _HASH.sub("", run) for run in names}
    labels = {run: text.rpartition("-s")[0] for run, text in short.items()}
    found = (
        [run for run in names if name in (run, short[run])]
        or [run for run in names if name == labels[run]]
        or [run for run in names if name in run or name in short[run]]
    )
    if len(found) == 1:
        return found[0]
    if found:
        meant = some(short[run] for run in found)
        raise InputError(f"--run={name}: {len(found)} runs of {whose} are meant: {meant}. Name one")
    near = did_you_mean(name, [*short.values(), *labels.values()])
    raise InputError(f"--run={name}: {whose} has no such run.{near} Runs: {some(short.values())}")
