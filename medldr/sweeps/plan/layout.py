"""The place of each run in the table; no two share a cell, no run has two labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from medldr.config import RunConfig
from medldr.config.sections import dataset_name
from medldr.errors import did_you_mean
from medldr.folders.sweep_record import Layout
from medldr.folders.table_names import DATA, JOINT, joined
from medldr.sweeps.plan.cases import Case
from medldr.sweeps.plan.check_cases import Checked
from medldr.sweeps.plan.labels import last_word
from medldr.sweeps.plan.parts import SweepFile
from medldr.sweeps.plan.table import known_names, methods, side_values


class Place(NamedTuple):
    """The place of a case in the table: the name of its value on each axis, by axis."""

    row: Mapping[str, str]
    column: Mapping[str, str]

    @property
    def texts(self) -> tuple[str, str]:
        """Names of the row and of the column."""
        return joined(self.row), joined(self.column)


def place(case: Case, config: RunConfig, sweep: SweepFile) -> Place:
    """Row and column of a case."""
    row, column = (
        {key: case.names[key] for key in keys or ()}
        for keys in (sweep.table.rows, sweep.table.columns)
    )
    return Place(row, column or {DATA: dataset_name(config.model_dump(mode="json"), {})})


def check_places(sweep: SweepFile, found: Sequence[Checked], places: Sequence[Place]) -> list[str]:
    """One line per pair of cases that share a cell of the table, and per title of nothing."""
    problems: dict[tuple[str, ...], str] = {}
    owners: dict[tuple[str, str], Case] = {}
    texts = [at.texts for at in places]
    for checked, at in zip(found, texts, strict=True):
        one, two = owners.setdefault(at, checked.case), checked.case
        if one is not two:
            keys = tuple(key for key in two.names if one.names[key] != two.names[key])
            problems.setdefault(
                keys,
                f"{one.label} and {two.label} share one cell of the table, row {at[0]!r} and "
                f"column {at[1]!r}: add {' or '.join(keys)} to table.rows or table.columns",
            )
    return [*problems.values(), *_titles_of_nothing(sweep, [column for _, column in texts])]


def same_runs(found: Sequence[tuple[str, str]]) -> list[str]:
    """One line per group of labels that mean the same run.

    Args:
        found: Label and hash of the members of one seed.

    Example:
        >>> same_runs([("erm", "0a1b2c3d"), ("latentdr", "1"), ("plain", "0a1b2c3d")])[0][:41]
        'erm and plain are the same run (0a1b2c3d)'
    """
    labels: dict[str, list[str]] = {}
    for label, digits in found:
        labels.setdefault(digits, []).append(label)
    return [
        f"{' and '.join(named)} are the same run ({digits}); the location of the data and the "
        "section machine do not distinguish runs. Leave one out"
        for digits, named in labels.items()
        if len(named) > 1
    ]


def layout(sweep: SweepFile) -> Layout:
    """How the report lays out the table."""
    table = sweep.table
    names = sweep.names
    sides = [side_values(side, names) for side in (methods(table), table.columns) if side]
    titles = {**table.titles}
    for parts in itertools.chain(*sides):
        name = JOINT.join(parts)
        if name not in titles and any(part in titles for part in parts):
            titles[name] = JOINT.join(titles.get(part, part) for part in parts)
    return Layout(
        title=sweep.title,
        rows=_heading(methods(table)),
        columns=_heading(table.columns) or DATA,
        reference=table.reference,
        controls=table.controls,
        contrasts=table.contrasts,
        metrics=table.metrics,
        titles=titles,
        remark=table.remark,
        search=tuple(key for key in table.rows or () if key in table.search),
        search_per_seed=sweep.search is not None and sweep.search.per_seed,
    )


def _titles_of_nothing(sweep: SweepFile, columns: Sequence[str]) -> Iterator[str]:
    known = {*known_names(sweep.table, sweep.names), *columns}
    if sweep.overrides and not sweep.table.columns:
        return  # data sets that only the unchanged file has may have titles; unknown here
    for name in sweep.table.titles:
        if name not in known and name not in sweep.gone:
            near = did_you_mean(name, sorted(known))
            yield f"table.titles.{name} ({sweep.source}): no row or column has this name.{near}"


def _heading(keys: Sequence[str] | None) -> str:
    return JOINT.join(last_word(key) for key in keys or ())
