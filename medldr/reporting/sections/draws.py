"""The values of the draws of a random search, as the section on the choice shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from medldr.folders.sweep_record import DRAW, Member
from medldr.reporting.read.settings import show
from medldr.reporting.read.study import Entry, Pick, Study
from medldr.reporting.table import Cell, Row, Table

Values: TypeAlias = Mapping[str, Any]
_Unit: TypeAlias = tuple[str, str]
"""A method in one column."""


def drawn_text(study: Study, pick: Pick) -> str:
    """The values that were drawn for a chosen setting; empty where nothing was.

    Args:
        study: The sweep.
        pick: The choice.
    """
    for entry in study.of(pick.row, pick.column):
        member = entry.member
        own = pick.seed is None or member.seed in (pick.seed, *study.layout.fresh_seeds)
        if entry.setting == pick.setting and own:
            return written(member.drawn)
    return ""


def written(values: Values) -> str:
    """Drawn values as text.

    Example:
        >>> written({"training.lr": 3.2e-05, "model.dropout": 0.1, "training.clip_norm": None})
        'training.lr 3.2e-05, model.dropout 0.1, training.clip_norm unset'
    """
    return ", ".join(f"{key} {show(value)}" for key, value in values.items())


def draw_tables(study: Study) -> list[Table]:
    """The values of every draw; one table for all methods and columns that have the same."""
    units: dict[_Unit, dict[str, Values]] = {}
    for entry in study.every:
        name = _name(entry, study)
        if name and entry.member.drawn and entry.member.seed not in study.layout.fresh_seeds:
            unit = (entry.member.row, entry.member.column)
            units.setdefault(unit, {})[_heading(name, entry.member, study)] = entry.member.drawn
    groups: list[tuple[dict[str, Values], list[_Unit]]] = []
    for unit, found in units.items():
        same = next((members for values, members in groups if values == found), None)
        if same is None:
            groups.append((found, [unit]))
        else:
            same.append(unit)
    every = [members for _, members in groups]
    return [_table(found, _names(members, every)) for found, members in groups]


def _name(entry: Entry, study: Study) -> str:
    """The name of its draw; empty where it has none."""
    place = dict(zip(study.layout.search, entry.setting, strict=False))
    return place.get(DRAW) or entry.member.column_values.get(DRAW, "")


def _heading(name: str, member: Member, study: Study) -> str:
    return f"{name}, seed {member.seed}" if study.layout.search_per_seed else name


def _names(members: list[_Unit], groups: list[list[_Unit]]) -> str:
    """The methods of a group, with the column where that matters."""
    names = []
    for row, column in members:
        several = sum(any(other == row for other, _ in group) for group in groups) > 1
        names.append(f"{row} ({column})" if several else row)
    return ", ".join(dict.fromkeys(names))


def _table(found: Mapping[str, Values], names: str) -> Table:
    keys = list(dict.fromkeys(key for values in found.values() for key in values))
    texts = tuple(range(1, 1 + len(keys)))
    table = Table(f"Values drawn: {names}", ["Draw", *keys], texts=texts, intervals=False)
    for heading in sorted(found, key=_order):
        values = found[heading]
        cells = [Cell(show(values[key])) if key in values else Cell() for key in keys]
        table.rows.append(Row(heading, cells))
    return table


def _order(heading: str) -> tuple[int, int]:
    draw, _, seed = heading.partition(", seed ")
    return int(draw[1:]), int(seed or 0)
