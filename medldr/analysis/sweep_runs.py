"""Which runs of a sweep are analysed in detail, and which give the mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medldr.config.method import row_titles
from medldr.errors import InputError
from medldr.folders.lifecycle import is_done
from medldr.folders.sweep_record import Member, SweepFolder, read_sweep
from medldr.reporting.read.loose_runs import lay_out
from medldr.reporting.read.study import printed_titles

MOST_ROWS: Final = 8
"""Methods of one page; more panels side by side could not be read."""


@dataclass(frozen=True)
class SweepRuns:
    """Finished runs of one column of a sweep.

    Attributes:
        column: The column, such as the domain that was held out; empty where there is only one.
        rows: The run folders of each method, by the title of its row, the reference first; of
            each the one that is analysed in detail first, whose seed is the same in all methods
            where they share any, and then by seed.
        notes: What was left out, in words.
    """

    column: str
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
        notes.append(f"latents are those of {columns[0]}; the sweep has {len(columns)} columns")
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
        columns[0] if len(columns) > 1 else "",
        {
            titles[name]: [files.run(m.run).path for m in _seed_first(members, seed)]
            for name, members in shown.items()
        },
        tuple(notes),
    )


def _seed_first(members: Sequence[Member], seed: int | None) -> list[Member]:
    return sorted(members, key=lambda member: (member.seed != seed, member.seed))
