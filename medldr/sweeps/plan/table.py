"""Rows and columns of a sweep's table, by name, before anything is expanded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence

from medldr.config.yaml import KeyPath
from medldr.errors import did_you_mean
from medldr.folders.fold_axis import FOLD
from medldr.folders.table_names import DRAW, JOINT, RUN
from medldr.metrics import ALIASES, METRICS
from medldr.sweeps.plan.labels import last_word
from medldr.sweeps.plan.schema import TableContent

Names = Mapping[str, Sequence[str]]
Report = Callable[[KeyPath, str], None]


def with_draws(table: TableContent) -> TableContent:
    """The table of a random search: its draws are settings, unless they make the columns.

    Example:
        >>> with_draws(TableContent(search="algorithm.dropout")).search
        ('algorithm.dropout', 'draw')
    """
    if DRAW in (*table.search, *(table.columns or ())):
        return table
    return table.model_copy(update={"search": (*table.search, DRAW)})


def with_sides(table: TableContent, names: Names) -> TableContent:
    """The table with its rows, and with its columns unless these are the data sets.

    Args:
        table: As in the file.
        names: Names of the values of each axis, and under ``run`` the labels of the entries.

    If the file does not choose, an axis over data makes the columns; otherwise the entries do if
    axes make rows; otherwise each run appears under its data set. Everything left over makes the
    rows, as do the axes under ``search``, whose values the report removes from the rows again, and
    ``data.fold``, whose runs it pools unless they make the columns.

    Example:
        >>> names = {"algorithm": ["erm", "mixup"], "run": ["a", "b"]}
        >>> found = with_sides(TableContent(), names)
        >>> found.rows, found.columns
        (('algorithm',), ('run',))
        >>> found = with_sides(TableContent(), {"run": ["a", "b"]})
        >>> found.rows, found.columns
        (('run',), ())
    """
    axes = [key for key in names if key != RUN]
    several = [RUN] if len(names[RUN]) > 1 else []
    columns = table.columns
    if columns is None:
        free = [key for key in [*axes, *several] if key not in (table.rows or ())]
        if "data" in free:
            columns = ("data",)
        else:
            of_rows = [key for key in axes if key not in table.search]  # settings make none
            columns = (RUN,) if RUN in free and (table.rows or of_rows) else ()
    left = tuple(key for key in [*several, *axes] if key not in columns)
    rows = table.rows or left or (RUN,)
    pooled = [FOLD] if FOLD in names and FOLD not in columns else []
    aside = (*table.search, *pooled)
    rows += tuple(key for key in aside if key not in rows)
    if all(key in aside for key in rows):
        rows = (RUN, *rows)
    return table.model_copy(update={"columns": columns, "rows": rows})


def methods(table: TableContent) -> tuple[str, ...]:
    """What makes the rows once one setting of each is chosen and folds are pooled.

    Example:
        >>> names = {"algorithm": ["erm"], "training.lr": ["a", "b"], "run": ["x"]}
        >>> table = with_sides(TableContent(search="training.lr"), names)
        >>> table.rows, methods(table)
        (('algorithm', 'training.lr'), ('algorithm',))
    """
    return tuple(key for key in table.rows or () if key not in (*table.search, FOLD))


def side_values(keys: Sequence[str], names: Names) -> list[tuple[str, ...]]:
    """The values that make each row, or each column."""
    return list(itertools.product(*(names[key] for key in keys)))


def side_names(keys: Sequence[str], names: Names) -> list[str]:
    """Names of all rows, or of all columns.

    Example:
        >>> side_names(["algorithm", "training.lr"], {"algorithm": ["erm"], "training.lr": "ab"})
        ['erm, a', 'erm, b']
    """
    return [JOINT.join(chosen) for chosen in side_values(keys, names)]


def known_names(table: TableContent, names: Names) -> set[str]:
    """Everything that can be given a title, apart from data sets."""
    sides = [
        side_names(side, names) for side in (table.rows, table.columns, methods(table)) if side
    ]
    return {name for group in [*sides, *names.values()] for name in group}


def check_sides(table: TableContent, names: Names, report: Report) -> None:
    """Report rows and columns that are not axes."""
    for side in ("rows", "columns", "search"):
        keys = getattr(table, side) or ()
        for number, key in enumerate(keys):
            if key in keys[:number]:
                said = f"{key!r} appears twice"
            elif key not in names:
                near = [name for name in names if last_word(name) == key]
                hint = f" Did you mean {near[0]!r}?" if near else did_you_mean(key, names)
                said = f"{key!r} is not an axis of this sweep.{hint} Known: {', '.join(names)}"
            elif side != "columns" and key == FOLD:
                said = (
                    f"{key!r} makes no {side}: its folds are pooled for each method. Leave it out, "
                    f"or set table.columns: {key} to show each fold by itself"
                )
            elif side == "columns" and key in (table.rows or ()):
                said = f"{key!r} already makes the rows"
            elif side == "search" and key in (table.columns or ()):
                said = f"{key!r} makes the columns and cannot be a setting of a row as well"
            else:
                continue
            report(("table", side), said)


def settled_rows(
    table: TableContent, rows: Sequence[str], gone: Collection[str], report: Report
) -> tuple[TableContent, tuple[str, ...]]:
    """The table without the rows that the command line removed, and a note if there were any.

    Args:
        table: With its sides.
        rows: The existing rows.
        gone: Rows of the file that no longer exist.
        report: Called for each row that never existed.
    """
    left_out: list[str] = []

    def holds(key: str, number: int | None, named: Sequence[str]) -> bool:
        path: KeyPath = ("table", key) if number is None else ("table", key, number)
        missing = [name for name in named if name not in rows]
        for name in missing:
            if name not in gone:
                near = did_you_mean(name, rows)
                report(path, f"{name!r} is not a row of this sweep.{near} Rows: {'; '.join(rows)}")
        if missing:
            left_out.append(f"{key.removesuffix('s')} {' - '.join(named)}")
        return not missing

    reference = table.reference
    if reference is not None and not holds("reference", None, [reference]):
        reference = None
    controls = [row for n, row in enumerate(table.controls) if holds("controls", n, [row])]
    contrasts = [pair for n, pair in enumerate(table.contrasts) if holds("contrasts", n, pair)]
    for number, (one, other) in enumerate(table.contrasts):
        if one == other:
            report(("table", "contrasts", number), f"{one!r} is compared with itself")
    note = f"left out of the table: {', '.join(left_out)}, because this selection lacks these rows"
    settled = table.model_copy(
        update={
            "reference": reference,
            "controls": tuple(controls),
            "contrasts": tuple(contrasts),
        }
    )
    return settled, (note,) if left_out else ()


def check_metrics(table: TableContent, report: Report) -> None:
    """Report metrics that do not exist."""
    known = [*METRICS, *ALIASES]
    for number, metric in enumerate(table.metrics):
        key = last_word(metric.replace("/", "."))
        if key not in known:
            near = did_you_mean(key, known)
            report(("table", "metrics", number), f"{metric!r} is not a metric.{near}")
