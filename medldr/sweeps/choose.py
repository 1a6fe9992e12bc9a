"""The step between the two waves of a search: one setting of each method is chosen, for good."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from medldr.errors import InputError
from medldr.evaluation.setting_choice import RULE, Trial, choose
from medldr.folders.choices_record import Choices, read_choices, write_choices
from medldr.folders.metrics_log import read_log
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import DRAW, Layout, Member, SweepFolder, joined
from medldr.sweeps.plan.expand import Planned, searching
from medldr.sweeps.plan.fresh_seeds import Cell, cell_of
from medldr.sweeps.show import some_runs


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
        choose(*cell, [_trial(folder, member, layout.search) for member in members])
        for cell, members in _cells(planned, layout).items()
    )
    write_choices(folder, RULE, choices)
    return choices


def known_choices(folder: SweepFolder, planned: Sequence[Planned], layout: Layout) -> Choices:
    """What was chosen before; empty if nothing was.

    Raises:
        InputError: If it was chosen from other runs than these, or `choices.json` is damaged.
    """
    choices = read_choices(folder)
    if choices is None:
        return ()
    chosen = {Cell(choice.row, choice.column): choice.runs for choice in choices}
    cells = _cells(planned, layout)
    other = [
        joined(cell._asdict())
        for cell, members in cells.items()
        if chosen.get(cell) != frozenset(member.run for member in members)
    ]
    if other:
        raise InputError(
            f"{folder.choices} was chosen from other runs than this sweep has, for "
            f"{'; '.join(other[:3])}{' and more' if len(other) > 3 else ''}. Add --choose-again to "
            "choose anew, or choose another folder with --out"
        )
    return choices


def stale_runs(folder: SweepFolder, before: Collection[str], now: Sequence[Planned]) -> str | None:
    """A note on finished runs of an earlier choice that a new one leaves out of the tables.

    Args:
        folder: The sweep's folder.
        before: Runs of fresh seeds by the earlier choice.
        now: All runs by the new one.
    """
    kept = {entry.member.run for entry in now}
    stale = [r for r in before if r not in kept and standing_of(folder, r).state == "done"]
    if not stale:
        return None
    return (
        f"stale, because another setting is chosen now; kept, but in no table: {some_runs(stale)}"
    )


def _cells(planned: Sequence[Planned], layout: Layout) -> Mapping[Cell, list[Member]]:
    cells: dict[Cell, list[Member]] = {}
    for entry in searching(planned, layout.fresh_seeds):
        member = entry.member
        cell, _ = cell_of(member.row_values, member.column, layout.search)
        cells.setdefault(cell, []).append(member)
    return cells


def _trial(folder: SweepFolder, member: Member, search: Sequence[str]) -> Trial:
    axes = {key: member.row_values[key] for key in search if key != DRAW}
    _, setting = cell_of(member.row_values, member.column, search)
    done = standing_of(folder, member.run).state == "done"
    log = read_log(folder.run(member.run).metrics)[0] if done else None
    return Trial(member.run, setting, member.seed, {**axes, **member.drawn}, log)
