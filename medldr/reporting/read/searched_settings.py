"""One setting of each row where a sweep searches among several, chosen without the test split.

For each method and column, the main tables show the setting whose runs have the highest validation
accuracy, as a user would have chosen it; the section on the choice has the others. Where each seed
has draws of its own, that is one setting per seed, and means over seeds are over these. It also has
runs that held out two domains, each of which other runs held out alone: they serve
cross-validation, and would otherwise make a column per pair.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from medldr.config.sections import held_out
from medldr.folders.metrics_log import LogRow, last_stage
from medldr.folders.sweep_record import DRAW, joined
from medldr.reporting.read.study import Entry, Pick, Setting

KEYS: Final = {
    "val/domain_accuracy": "training-domain validation",
    "val/accuracy": "accuracy on the validation split",
}
"""What a choice is based on: the first that every finished run of a cell has logged."""
_Cell: TypeAlias = tuple[str, str, int | None]


def method_and_setting(
    row: Mapping[str, str], search: Sequence[str]
) -> tuple[dict[str, str], Setting]:
    """What makes a row without its settings, and these.

    Example:
        >>> row = {"algorithm": "erm", "training.lr": "lr-0.1", "data.held_out": "photo"}
        >>> method_and_setting(row, ["training.lr"])
        ({'algorithm': 'erm', 'data.held_out': 'photo'}, ('lr-0.1',))
    """
    kept = {axis: value for axis, value in row.items() if axis not in search}
    return kept, tuple(value for axis, value in row.items() if axis in search)


def chosen_settings(
    entries: Sequence[Entry], search: Sequence[str], *, per_seed: bool = False
) -> tuple[list[Entry], list[Entry], list[Pick]]:
    """Entries of the chosen settings, all others, and what was chosen; rows become methods.

    Args:
        entries: All runs, rows named as in the sweep file.
        search: Axes of the rows whose values are settings.
        per_seed: Whether each seed has settings of its own, of which one is chosen for it.
    """
    cells: dict[_Cell, dict[Setting, list[Entry]]] = {}
    placed: list[Entry] = []
    others: list[Entry] = []
    alone = {domains for entry in entries if len(domains := held_out(entry.config)) == 1}
    for entry in entries:
        values, setting = method_and_setting(entry.member.row_values, search)
        row, domains = joined(values), held_out(entry.config)
        member = replace(entry.member, row=row, row_values=values)
        own = replace(entry, member=member, setting=setting)
        if len(domains) == 2 and alone.issuperset((domain,) for domain in domains):
            others.append(own)
            continue
        placed.append(own)
        cells.setdefault(_cell(own, per_seed), {}).setdefault(setting, []).append(own)
    chosen = {cell: _pick(cell, found) for cell, found in cells.items()}
    shown: list[Entry] = []
    for own in placed:
        picked = own.setting == chosen[_cell(own, per_seed)].setting
        (shown if picked else others).append(own)
    if DRAW in search:  # all methods of a draw start before the next: what was chosen is no order
        order = list(dict.fromkeys(_cell(own, False) for own in placed))
        shown.sort(key=lambda own: order.index(_cell(own, False)))
    return shown, others, list(chosen.values())


def _cell(entry: Entry, per_seed: bool) -> _Cell:
    """Row and column of an entry, and its seed where each has a choice of its own."""
    member = entry.member
    return member.row, member.column, member.seed if per_seed else None


def _pick(cell: _Cell, settings: dict[Setting, list[Entry]]) -> Pick:
    row, column, seed = cell
    logs = {name: [log for entry in of for log in entry.logs] for name, of in settings.items()}
    # A setting that lacks a seed must not win by chance.
    done = {name for name, of in settings.items() if all(e.files is not None for e in of)}
    whole = {name: found for name, found in logs.items() if name in done}
    lacking = tuple(name for name in settings if name not in whole)
    for key, said in KEYS.items():
        best = {name: [_highest(log, key) for log in found] for name, found in whole.items()}
        means = {
            name: statistics.fmean(value for value in values if value is not None)
            for name, values in best.items()
            if None not in values
        }
        if best and means.keys() == best.keys():
            name = max(means, key=means.__getitem__)  # the first of equals
            return Pick(row, column, name, len(settings), said, lacking, seed)
    most = max(settings, key=lambda name: len(logs[name]))
    return Pick(row, column, most, len(settings), "", lacking, seed)


def _highest(log: Sequence[LogRow], key: str) -> float | None:
    """The best evaluation of the stage whose weights the run reports."""
    rows = last_stage(log)
    found = [float(row[key]) for row in rows if isinstance(row.get(key), int | float)]
    return max(filter(math.isfinite, found), default=None)
