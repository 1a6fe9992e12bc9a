"""One setting of each row where a sweep searches among several, chosen without the test split.

For each method and column, the main tables show the setting whose runs have the highest validation,
as a user would have chosen it; the section on the choice has the others. Where it was trained again
with fresh seeds, they show these runs alone, of what `choices.json` says. Where each seed has draws
of its own, it is one setting per seed, and means over seeds are over these. A sweep also has runs
that held out two domains, each of which other runs held out alone: they serve cross-validation, and
would otherwise make a column per pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from medldr.config.sections import held_out
from medldr.evaluation.setting_choice import Trial, are_pairs, choose, method_and_setting, trials_of
from medldr.folders.choices_record import Choices, SettingChoice
from medldr.folders.sweep_record import DRAW, JOINT, Layout, joined
from medldr.reporting.read.study import Entry, Pick, Setting

FRESH: Final = "fresh seeds"
"""Names the row of fresh seeds where another one has the seeds that chose."""
_Cell: TypeAlias = tuple[str, str, int | None]


class Shown(NamedTuple):
    """What the main tables show of a search, and what they leave out.

    Attributes:
        entries: Runs of the tables.
        others: All other runs.
        picks: What was chosen, and from what.
        untested: Rows whose runs chose their setting among several and are reported.
    """

    entries: list[Entry]
    others: list[Entry]
    picks: list[Pick]
    untested: frozenset[str] = frozenset()


def chosen_settings(
    entries: Sequence[Entry], layout: Layout, choices: Choices | None = None
) -> Shown:
    """What was chosen, and which runs the tables show; rows become methods.

    Args:
        entries: All runs, rows named as in the sweep file.
        layout: How the sweep is laid out.
        choices: What it chose for fresh seeds; None where it has not chosen yet.
    """
    pairs = are_pairs([held_out(entry.config) for entry in entries])
    placed: list[Entry] = []
    fresh: list[Entry] = []
    others: list[Entry] = []
    for entry, pair in zip(entries, pairs, strict=True):
        values, setting = method_and_setting(entry.member.row_values, layout.search)
        member = replace(entry.member, row=joined(values), row_values=values)
        later = member.seed in layout.fresh_seeds
        (others if pair else fresh if later else placed).append(
            replace(entry, member=member, setting=setting)
        )
    if choices is None:
        shown = _reported(placed, layout)
        return shown._replace(others=[*others, *shown.others, *fresh])
    again = _trained_again(placed, fresh, layout, choices)
    if not layout.as_published:
        return again._replace(others=[*others, *placed, *again.others])
    published = _reported(placed, layout)
    order = list(dict.fromkeys(own.member.row for own in published.entries))
    both = sorted([*published.entries, *again.entries], key=lambda own: order.index(own.member.row))
    return Shown(
        [_fresh_row(own) if own.member.seed in layout.fresh_seeds else own for own in both],
        [*others, *published.others, *again.others],
        [*published.picks, *(p._replace(row=fresh_name(p.row)) for p in again.picks)],
        published.untested,
    )


def _reported(placed: Sequence[Entry], layout: Layout) -> Shown:
    """The runs that chose, as they are reported without fresh seeds."""
    cells: dict[_Cell, list[Entry]] = {}
    for own in placed:
        cells.setdefault(_cell(own, layout.search_per_seed), []).append(own)
    chosen = {cell: _pick(cell, found, layout) for cell, found in cells.items()}
    shown: list[Entry] = []
    others: list[Entry] = []
    for own in placed:
        picked = own.setting == chosen[_cell(own, layout.search_per_seed)].setting
        (shown if picked else others).append(own)
    if DRAW in layout.search:  # all methods of a draw start before the next: that is no order
        order = list(dict.fromkeys(_cell(own, False) for own in placed))
        shown.sort(key=lambda own: order.index(_cell(own, False)))
    picks = list(chosen.values())
    return Shown(shown, others, picks, frozenset(p.row for p in picks if p.settings > 1))


def _trained_again(
    placed: Sequence[Entry], fresh: Sequence[Entry], layout: Layout, choices: Choices
) -> Shown:
    """The runs of the fresh seeds; a place without one says so."""
    made = {(*_cell(own, True), own.setting): own for own in fresh}
    examples = {_cell(own, False): own for own in reversed(placed)}
    shown: list[Entry] = []
    picks: list[Pick] = []
    for choice in choices:
        example = examples.get((choice.row, choice.column, None))
        if example is None:
            continue
        setting = choice.setting or example.setting
        for seed in layout.fresh_seeds:
            missing = replace(example.member, run=f"{example.member.label}-s{seed}", seed=seed)
            lost = Entry(missing, "not run", planned=example.config, setting=setting)
            shown.append(made.pop((choice.row, choice.column, seed, setting), lost))
        picks.append(_as_pick(choice, setting, choice.seed if layout.search_per_seed else None))
    return Shown(shown, list(made.values()), picks)


def _fresh_row(entry: Entry) -> Entry:
    """A run of a fresh seed in a row beside that of the seeds that chose."""
    values = {**entry.member.row_values, FRESH: FRESH}
    return replace(entry, member=replace(entry.member, row=joined(values), row_values=values))


def fresh_name(row: str) -> str:
    """Name of the row of fresh seeds beside a row of the seeds that chose.

    Example:
        >>> fresh_name("erm")
        'erm, fresh seeds'
    """
    return f"{row}{JOINT}{FRESH}"


def _cell(entry: Entry, per_seed: bool) -> _Cell:
    """Row and column of an entry, and its seed where each has a choice of its own."""
    member = entry.member
    return member.row, member.column, member.seed if per_seed else None


def _pick(cell: _Cell, entries: Sequence[Entry], layout: Layout) -> Pick:
    trials = list[Trial]()
    for entry in entries:
        logs = entry.logs if entry.files is not None else [None]
        trials += trials_of(entry.member, entry.setting, layout.search, logs)
    choice = choose(cell[0], cell[1], trials)
    if choice.setting is not None:
        return _as_pick(choice, choice.setting, cell[2])
    runs = [trial.setting for trial in trials if trial.log is not None]
    most = max(dict.fromkeys(trial.setting for trial in trials), key=runs.count)
    return _as_pick(choice, most, cell[2])


def _as_pick(choice: SettingChoice, setting: Setting, seed: int | None) -> Pick:
    count, by = len(choice.tried), choice.by
    return Pick(choice.row, choice.column, setting, count, by, choice.incomplete, seed, choice)
