"""Names: of the values of an axis, and of the rows and columns of the table that they make.

All of it is known by name before anything is expanded.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from medldr.config import PLUGIN_SECTIONS
from medldr.errors import did_you_mean
from medldr.folders.sweep_record import DRAW, FOLD, JOINT, RUN
from medldr.metrics import ALIASES, METRICS
from medldr.sweeps.plan.schema import Report, TableContent

Names = Mapping[str, Sequence[str]]
"""Names of the values of each axis, of the draws, and under ``run`` of the entries."""
ALLOWED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
"""A valid name; any of them may begin a label."""
LONGEST: Final = 200
"""Maximum length of a label; hash and seed follow it in the name of a folder."""


def last_word(key: str) -> str:
    """The last word of a dotted key.

    Example:
        >>> last_word("training.batch_size")
        'batch_size'
    """
    return key.rsplit(".", 1)[-1]


def value_name(key: str, value: Any) -> str:
    """Name of an axis value that was not given one.

    Args:
        key: The axis, a key of a run.
        value: A text, number, boolean, None or a list of these. A section's bare word stays as
            it is; all others are prefixed with the last word of the key. Numbers stay as written.

    Raises:
        ValueError: If the value is too complex to be its own name.

    Example:
        >>> value_name("algorithm", "latentdr_pool"), value_name("training.batch_size", 12)
        ('latentdr_pool', 'batch_size-12')
        >>> value_name("training.milestones", [50, 75]), value_name("training.clip_norm", None)
        ('milestones-50-75', 'clip_norm-null')
    """
    if isinstance(value, str) and key in PLUGIN_SECTIONS and ALLOWED.fullmatch(value):
        return value
    items = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(item, (dict, list, tuple)) for item in items):
        raise ValueError(
            "a mapping or a list of lists has no name; write the axis as a mapping, NAME: value"
        )
    text = "-".join(_written(item) for item in items) or "empty"
    return f"{last_word(key)}-{text}"


def named_values(key: str, written: Any) -> dict[str, Any]:
    """Values of an axis by name.

    Args:
        key: The axis, a key of a run.
        written: A list of values, a mapping of names to values, or one value alone.

    Raises:
        ValueError: If there is no value, two have the same name, or a name cannot be in a label.

    Example:
        >>> named_values("seedless", [1, 2])
        {'seedless-1': 1, 'seedless-2': 2}
        >>> named_values("training", {"short": {"epochs": 1}})
        {'short': {'epochs': 1}}
    """
    if isinstance(written, Mapping):
        for name in written:
            if not ALLOWED.fullmatch(str(name)):
                raise ValueError(
                    f"{name!r} cannot be part of a label: it should begin with a letter or a "
                    "digit; letters, digits and _ . + - may follow"
                )
        values = {str(name): value for name, value in written.items()}
    else:
        values = {}
        listed = isinstance(written, (list, tuple))
        for value in written if listed else [] if written is None else [written]:
            name = value_name(key, value)
            if name in values:
                raise ValueError(f"two values have the same name {name!r}")
            values[name] = value
    if not values:
        raise ValueError("has no value")
    return values


def _written(item: Any) -> str:
    words = {True: "true", False: "false", None: "null"}
    plain = words[item] if item is None or isinstance(item, bool) else str(item)
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", plain).strip("-") if isinstance(item, str) else plain


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
        >>> table = with_sides(TableContent(), names)
        >>> table.rows, table.columns
        (('algorithm',), ('run',))
        >>> table = with_sides(TableContent(), {"run": ["a", "b"]})
        >>> table.rows, table.columns
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
            if key not in names:
                dotted = [name for name in names if last_word(name) == key]
                near = f" Did you mean {dotted[0]!r}?" if dotted else did_you_mean(key, names)
                problem = f"{key!r} is not an axis of this sweep.{near} Known: {', '.join(names)}"
            elif side != "columns" and key == FOLD:
                problem = (
                    f"{key!r} makes no {side}, because folds are pooled: leave it out, or set "
                    f"table.columns: {key}"
                )
            elif (
                key in keys[:number]
                or (side == "columns" and key in (table.rows or ()))
                or (side == "search" and key in (table.columns or ()))
            ):
                problem = f"{key!r} appears twice: leave it out here"
            else:
                continue
            report(("table", side), problem)


def check_metrics(table: TableContent, report: Report) -> None:
    """Report metrics that do not exist."""
    metrics = [*METRICS, *ALIASES]
    for number, metric in enumerate(table.metrics):
        key = last_word(metric.replace("/", "."))
        if key not in metrics:
            problem = f"{metric!r} is not a metric.{did_you_mean(key, metrics)}"
            report(("table", "metrics", number), problem)


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

    def exist(what: str, named: Sequence[str], *place: str | int) -> bool:
        missing = [name for name in named if name not in rows]
        for name in missing:
            if name not in gone:
                near = did_you_mean(name, rows)
                problem = f"{name!r} is not a row of this sweep.{near} Rows: {'; '.join(rows)}"
                report(("table", *place), problem)
        if missing:
            left_out.append(f"{what} {' - '.join(named)}")
        return not missing

    reference = table.reference
    if reference is not None and not exist("reference", [reference], "reference"):
        reference = None
    controls = tuple(
        row for n, row in enumerate(table.controls) if exist("control", [row], "controls", n)
    )
    contrasts = tuple(
        pair for n, pair in enumerate(table.contrasts) if exist("contrast", pair, "contrasts", n)
    )
    about = table.verdict
    if about is not None and not exist("verdict", [about], "verdict"):
        about = None
    if about is not None and about in (table.reference or rows[0], *table.controls):
        report(("table", "verdict"), f"{about!r} is the reference or a control, not a method")
    for number, (one, other) in enumerate(table.contrasts):
        if one == other:
            report(("table", "contrasts", number), f"{one!r} is compared with itself")
    note = f"left out of the table: {', '.join(left_out)}, because this selection lacks these rows"
    changed = {
        "reference": reference, "controls": controls, "contrasts": contrasts, "verdict": about,
    }  # fmt: skip
    return table.model_copy(update=changed), (note,) if left_out else ()
