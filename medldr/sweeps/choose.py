"""The step between the two waves of a search: one setting of each method is chosen, for good."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.data.counting import some
from medldr.errors import InputError
from medldr.evaluation.setting_choice import RULE, Trial, choose, method_and_setting, trials_of
from medldr.folders.choices_record import Choices, read_choices, write_choices
from medldr.folders.metrics_log import read_log
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import JOINT, Layout, Member, SweepFolder
from medldr.sweeps.plan.expand import Planned, choosing


def unsettled(folder: SweepFolder, members: Sequence[Member]) -> list[str]:
    """Runs that are neither done nor failed, nor wait for one that failed.

    Args:
        folder: The sweep's folder.
        members: All runs of the search, each after what it waits for.
    """
    open_runs, lost = list[str](), set[str]()
    for member in members:
        state = standing_of(folder, member.run).state
        if state == "failed" or lost.intersection(member.after):
            lost.add(member.run)
        elif state != "done":
            open_runs.append(member.run)
    return open_runs


def choose_settings(folder: SweepFolder, planned: Sequence[Planned], layout: Layout) -> Choices:
    """Choose a setting of each method in each column, from what its runs logged, and keep it.

    Args:
        folder: The sweep's folder, which receives `choices.json`.
        planned: All runs of the sweep.
        layout: How the sweep is laid out, which says what its settings are.
    """
    choices = tuple(
        choose(*cell, [t for member in members for t in _trials(folder, member, layout.search)])
        for cell, members in choosing(planned, layout).items()
    )
    write_choices(folder, RULE, choices)
    return choices


def known_choices(folder: SweepFolder, planned: Sequence[Planned], layout: Layout) -> Choices:
    """What was chosen before; empty if nothing was.

    Raises:
        InputError: If it was chosen from other runs than these, or `choices.json` is damaged.
    """
    choices = read_choices(folder)
    chosen = {(c.row, c.column): {run for t in c.tried for run in t.runs} for c in choices or ()}
    cells = {cell: {m.run for m in of} for cell, of in choosing(planned, layout).items()}
    other = [JOINT.join(cell) for cell, runs in cells.items() if chosen.get(cell) != runs]
    if choices is not None and other:
        raise InputError(
            f"{folder.choices} was chosen from other runs than this sweep has, for "
            f"{some(other, 3)}. Add --choose-again to choose again, or name another folder with "
            "--out"
        )
    return choices or ()


def stale_runs(folder: SweepFolder, planned: Sequence[Planned]) -> list[str]:
    """Finished runs of an earlier choice, or of other draws, that are in no table now."""
    kept = {entry.member.run for entry in planned}
    names = sorted(path.stem for path in folder.configs.glob("*.yaml") if path.stem not in kept)
    return [name for name in names if standing_of(folder, name).state == "done"]


def _trials(folder: SweepFolder, member: Member, search: Sequence[str]) -> list[Trial]:
    _, setting = method_and_setting(member.row_values, search)
    done = standing_of(folder, member.run).state == "done"
    log = read_log(folder.run(member.run).metrics)[0] if done else None
    return trials_of(member, setting, search, [log])
