"""Which runs a choice of settings is made from, and which it adds: the chosen ones, fresh seeds.

The seeds that chose a setting must not be the seeds that are reported: the best of many looks
better than it is. So the chosen setting of every method, searched or not, is trained again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from medldr.config import RunConfig
from medldr.folders.choices_record import SettingChoice
from medldr.folders.sweep_record import FOLD, Member, joined
from medldr.reporting.read.searched_settings import method_and_setting
from medldr.sweeps.plan.combinations import Checked


class Cell(NamedTuple):
    """A method in a column: of its settings one is chosen."""

    row: str
    column: str


def cell_of(
    row: Mapping[str, str], column: str, search: Sequence[str]
) -> tuple[Cell, tuple[str, ...]]:
    """The cell of a run and its setting; folds of one method are one.

    Args:
        row: What makes its row, by axis.
        column: Its column.
        search: Axes whose values are settings.

    Example:
        >>> cell_of({"algorithm": "erm", "draw": "d01", "data.fold": "fold-0"}, "derma", ["draw"])
        (Cell(row='erm', column='derma'), ('d01',))
    """
    values, setting = method_and_setting(row, search)
    return Cell(joined({k: v for k, v in values.items() if k != FOLD}), column), setting


def domains_held_out(config: RunConfig) -> tuple[str, ...]:
    """Domains that a run holds out."""
    return tuple(getattr(config.data, "held_out", ()))


def pairs_alone(configs: Sequence[RunConfig]) -> frozenset[tuple[str, ...]]:
    """Pairs of held-out domains each of which other runs held out alone: they choose nothing."""
    held = set(map(domains_held_out, configs))
    alone = {domains for domains in held if len(domains) == 1}
    return frozenset(
        pair for pair in held if len(pair) == 2 and alone.issuperset((d,) for d in pair)
    )


def following_runs(members: Sequence[Member], search: Sequence[str], seeds: int) -> int:
    """How many runs with fresh seeds a choice adds, without those that other runs start from.

    Args:
        members: The runs of the search.
        search: Axes whose values are settings.
        seeds: Number of fresh seeds.
    """
    places = {
        (*method_and_setting(member.row_values, search)[0].items(), member.column)
        for member in members
    }
    return seeds * len(places)


def chosen_cases(
    by_seed: Mapping[int, Sequence[Checked]],
    places: Sequence[tuple[Mapping[str, str], str]],
    search: Sequence[str],
    choices: Sequence[SettingChoice],
) -> Iterator[tuple[int, Checked]]:
    """The chosen cases and those that they start from, in their order, with their places.

    Args:
        by_seed: The checked cases of each seed; draws may differ between seeds.
        places: What makes the row of each case, and its column.
        search: Axes whose values are settings.
        choices: What was chosen.
    """
    chosen = {(choice.row, choice.column): (choice.setting, choice.seed) for choice in choices}
    first, *_ = by_seed.values()
    numbers = {checked.case.label: number for number, checked in enumerate(first)}
    wanted: dict[int, int] = {}
    for number, (row, column) in enumerate(places):
        cell, setting = cell_of(row, column, search)
        of_cell, seed = chosen.get(cell, (None, None))
        if setting != of_cell or seed is None:
            continue
        before: int | None = number
        while before is not None:
            wanted.setdefault(before, seed)
            label = first[before].case.before
            before = None if label is None else numbers[label]
    for number in sorted(wanted):
        yield number, by_seed[wanted[number]][number]
