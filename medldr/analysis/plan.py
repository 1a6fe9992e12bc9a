"""Which runs an analysis looks at, and what they are called, before any latents are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from medldr.analysis.headings import unique_headings
from medldr.analysis.sweep_runs import SweepRuns, runs_of_sweep
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.reporting.read.loose_runs import is_run_folder
from medldr.run import trained


@dataclass(frozen=True)
class PlannedRun:
    """A run to analyse.

    Attributes:
        heading: What tables and figures call it.
        folder: Its folder.
        further: Folders of further seeds of the same method.
    """

    heading: str
    folder: Path
    further: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What an analysis looks at.

    Attributes:
        runs: The runs, the reference first.
        sweeps: The sweep folders.
        notes: What was left out, in words.
    """

    runs: tuple[PlannedRun, ...]
    sweeps: tuple[Path, ...]
    notes: tuple[str, ...]


def plan(folders: Sequence[Path]) -> Plan:
    """Plan an analysis; a run that a sweep holds too is analysed once.

    Args:
        folders: Run folders, the reference first, and sweep folders.

    Raises:
        InputError: If a folder is neither a finished run nor a sweep with one, or is given twice.
    """
    for path in folders:
        if not path.is_dir():
            raise InputError(f"the folder {path} does not exist")
    if twice := [path for i, path in enumerate(folders) if _known(path, folders[:i])]:
        raise InputError(f"the folder {twice[0]} was given twice")
    single = [path for path in folders if is_run_folder(path)]
    sweeps = tuple(path for path in folders if path not in single)
    found: list[tuple[str, list[Path]]] = [("", [path]) for path in single]
    notes: list[str] = []
    for sweep in map(runs_of_sweep, sweeps):
        found += _new(sweep, [path for _, paths in found for path in paths])
        notes += sweep.notes
    first = [paths[0] for _, paths in found]
    configs = [(read_yaml(trained(path).config).values, path) for path in first]
    headings = unique_headings(configs, [title for title, _ in found])
    runs = (
        PlannedRun(heading, paths[0], tuple(paths[1:]))
        for heading, (_, paths) in zip(headings, found, strict=True)
    )
    return Plan(tuple(runs), sweeps, tuple(dict.fromkeys(notes)))


def _new(sweep: SweepRuns, known: Sequence[Path]) -> list[tuple[str, list[Path]]]:
    """The methods of a sweep with those of their runs that were not given already."""
    rows = ((t, [p for p in paths if not _known(p, known)]) for t, paths in sweep.rows.items())
    return [(title, paths) for title, paths in rows if paths]


def _known(path: Path, others: Sequence[Path]) -> bool:
    return path.resolve() in {other.resolve() for other in others}
