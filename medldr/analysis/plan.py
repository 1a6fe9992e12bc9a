"""Which runs an analysis looks at, and what they are called, before any latents are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medldr.config.method import Config, method_title, row_titles
from medldr.config.sections import dataset_name, held_out
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.folders.files import require_folder
from medldr.folders.lifecycle import is_done
from medldr.folders.sweep_record import Member, SweepFolder, read_sweep
from medldr.reporting.read.loose_runs import is_run_folder, lay_out
from medldr.reporting.read.study import printed_titles
from medldr.run import trained

MOST_ROWS: Final = 8
"""Methods of one page; more panels side by side could not be read."""


@dataclass(frozen=True)
class SweepRuns:
    """Finished runs of one column of a sweep.

    Attributes:
        rows: The run folders of each method, by the title of its row, the reference first; of
            each the one that is analysed in detail first, whose seed is the same in all methods
            where they share any, and then by seed.
        notes: What was left out, in words.
    """

    rows: dict[str, list[Path]]
    notes: tuple[str, ...]


def runs_of_sweep(folder: Path) -> SweepRuns:
    """Finished runs of the first column of a sweep that has any.

    Where some runs have kept their latents, the others are left out: they were not asked for.

    Raises:
        InputError: If the folder is no sweep, or no run of it has finished.
    """
    files = SweepFolder(folder)
    sweep = read_sweep(files) or lay_out(files)[0]
    done = [member for member in sweep.members if is_done(files.run(member.run))]
    if not done:
        raise InputError(f"no run of {folder} has finished yet. `medldr sweep status` shows them")
    kept = [member for member in done if files.run(member.run).latents.is_file()]
    notes = []
    if kept and len(kept) < len(done):
        notes.append(
            f"{len(kept)} of {len(done)} finished runs kept their latents (evaluation.latents) and "
            "are analysed"
        )
    found = kept or done
    columns = list(dict.fromkeys(member.column for member in found))
    if len(columns) > 1:
        name = columns[0].replace("held_out-", "held out: ")  # as sweeps name such columns
        notes.append(f"the sweep has {len(columns)} columns; the latents are of one, {name}")
    rows: dict[str, list[Member]] = {}
    for member in found:
        if member.column == columns[0]:
            rows.setdefault(member.row, []).append(member)
    first = sweep.layout.reference
    if first is not None and first not in rows:
        notes.append(f"the reference of the sweep, {first}, is not among these runs")
    names = sorted(rows, key=lambda name: name != first)
    if len(names) > MOST_ROWS:
        notes.append(f"latents of the first {MOST_ROWS} of {len(names)} methods are analysed")
    shown = {name: sorted(rows[name], key=lambda m: m.seed) for name in names[:MOST_ROWS]}
    shared = set.intersection(*({m.seed for m in members} for members in shown.values()))
    if not shared:
        notes.append("no seed has finished with every method, so methods are shown by others")
    seed = min(shared, default=None)
    by_row = {member.row: member.row_values.values() for member in sweep.members}
    titles = printed_titles(by_row, {**row_titles(), **sweep.layout.titles}, ())
    return SweepRuns(
        {
            titles[name]: [files.run(m.run).path for m in _seed_first(members, seed)]
            for name, members in shown.items()
        },
        tuple(notes),
    )


def _seed_first(members: Sequence[Member], seed: int | None) -> list[Member]:
    return sorted(members, key=lambda member: (member.seed != seed, member.seed))


def unique_headings(runs: Sequence[tuple[Config, Path]], titles: Sequence[str] = ()) -> list[str]:
    """What to call runs: by title or method, and by what tells runs that share it apart.

    Args:
        runs: Plain configuration and folder of each; all folders are different.
        titles: One per run, empty for those to be called by their method; unset: all are.

    Returns:
        One heading per run, all different.
    """
    plain = [config for config, _ in runs]
    given = titles or [""] * len(plain)
    parts = [[title or method_title(config)] for title, config in zip(given, plain, strict=True)]
    more = (
        [f"{', '.join(held_out(config))} held out" if held_out(config) else "" for config in plain],
        [dataset_name(config, {}) for config in plain],
        [str(config.get("label", "")) for config in plain],
        [f"seed {config.get('seed', 0)}" for config in plain],
        [path.resolve().parent.name for _, path in runs],
        [path.name for _, path in runs],
        [str(path.resolve()) for _, path in runs],
    )
    for words in more:
        names = [", ".join(part) for part in parts]
        for name in {name for name in names if names.count(name) > 1}:
            same = [i for i, other in enumerate(names) if other == name]
            if len({words[i] for i in same}) > 1:
                for i in same:
                    parts[i] += [words[i]] if words[i] else []
    return [", ".join(part) for part in parts]


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
        require_folder(path)
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
