"""Results by subgroup: by the values of a column of the metadata, such as sex, age or device.

A column of a few values is divided by them, one of numbers in bands at stated edges, else at its
tertiles. Subgroups of fewer than ten images or patients are one row without their names, which is
not scored: their numbers would say little, and might say something of a single patient. The lowest
of several subgroups has no interval, because a minimum is not smooth; each subgroup has its own.

Source:
    Our choice: the bounds, in `medldr.data.metadata_columns`. Tertiles are cut at values that
    occur, over the images of all scored splits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data import metadata_columns
from medldr.data.metadata_columns import MOST_VALUES, check_columns, is_number
from medldr.errors import InputError
from medldr.types import Predictions, Task

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

FEWEST: Final = metadata_columns.FEWEST
OTHER: Final = f"other (fewer than {FEWEST})"
"""All subgroups of a column that are too small to be named."""

Column = NDArray[np.str_]


@dataclass(frozen=True)
class Subgroup:
    """Rows of a table that share a value.

    Attributes:
        column: The column of the metadata.
        name: The value, or the band.
        rows: ``(N,)`` which rows it has.
    """

    column: str
    name: str
    rows: NDArray[np.bool_]


@dataclass(frozen=True)
class Division:
    """How a column is divided.

    Attributes:
        column: Its name.
        how: ``values``, ``bands`` (at edges that the configuration states) or ``tertiles``.
        values: The values, for ``values``.
        edges: Where its numbers are cut, otherwise; each belongs to the band above it.
    """

    column: str
    how: str
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()

    def of(self, column: Column) -> list[Subgroup]:
        """The subgroups of some rows, in order; a missing value belongs to none."""
        if self.how == "values":
            return [Subgroup(self.column, value, column == value) for value in self.values]
        known = column != ""
        band = np.full(len(column), -1)
        band[known] = np.digitize(column[known].astype(np.float64), self.edges)
        return [Subgroup(self.column, n, band == k) for k, n in enumerate(band_names(self.edges))]


def band_names(edges: Sequence[float]) -> list[str]:
    """Bands between edges, in words.

    Example:
        >>> band_names([40, 60])
        ['below 40', '40 to below 60', '60 and above']
    """
    texts = [f"{edge:.12g}" for edge in edges]
    between = [f"{low} to below {high}" for low, high in itertools.pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} and above"]


def check_subgroups(config: EvaluationConfig, metadata: Mapping[str, Column]) -> None:
    """Check before training that the requested subgroups exist.

    Raises:
        InputError: If a column does not exist, one to be cut in bands does not hold numbers, or
            another has too many values.
    """
    check_columns(config, metadata)
    for name in config.subgroups or ():
        values = _distinct(metadata[name])
        text = next((v for v in values if not is_number(v)), None)
        if name not in config.bands and text is not None and len(values) > MOST_VALUES:
            raise InputError(
                f"evaluation.subgroups names {name!r}, but this column of the metadata has "
                f"{len(values):,} values, and at most {MOST_VALUES} can be told apart unless all "
                f"are numbers ({text[:40]!r} is none). Put them into fewer groups in the table of "
                "data.metadata, or name another column"
            )
    for name in config.bands:
        odd = next((v for v in _distinct(metadata[name]) if not is_number(v)), None)
        if odd is not None:
            raise InputError(
                f"evaluation.bands: the column {name!r} of the metadata holds {odd!r}, which is "
                "not a number. Leave the cell empty where it is unknown, or remove the bands"
            )


def divide(
    columns: Mapping[str, Column], config: EvaluationConfig
) -> tuple[list[Division], list[str]]:
    """How each column is divided, and which are not.

    Args:
        columns: The metadata of all scored rows.
        config: Which columns to divide, and where to cut those of numbers.

    Returns:
        The divisions, and a note that names the columns that have none.
    """
    wanted = columns if config.subgroups is None else metadata_columns.named(config)
    divisions, left_out = [], []
    for name in wanted:
        values = _distinct(columns[name])
        named = config.subgroups is not None
        division = _division(name, columns[name], values, config.bands.get(name), named=named)
        if division is None:
            left_out.append(f"{name} ({len(values)} value{'' if len(values) == 1 else 's'})")
        else:
            divisions.append(division)
    notes = [f"not divided into subgroups: {', '.join(left_out)}"] if left_out else []
    return divisions, notes


def _division(
    name: str, column: Column, values: list[str], edges: Sequence[float] | None, *, named: bool
) -> Division | None:
    if edges is not None:
        return Division(name, "bands", edges=tuple(edges))
    numbers = all(map(is_number, values))
    if numbers and len(values) > MOST_VALUES:
        return Division(name, "tertiles", edges=tertiles(column[column != ""].astype(np.float64)))
    if values and (named or 2 <= len(values) <= MOST_VALUES):
        return Division(name, "values", tuple(sorted(values, key=float) if numbers else values))
    return None


def tertiles(numbers: NDArray[np.float64]) -> tuple[float, ...]:
    """Where numbers are cut in thirds: values that occur, each once, none of them the smallest.

    Example:
        >>> tertiles(np.array([20.0, 30, 40, 50, 60, 70]))
        (40.0, 60.0)
    """
    # The first value above each third, since an edge belongs to the band above it.
    ordered = np.sort(numbers)
    places = [-(-len(ordered) * k // 3) for k in (1, 2)]
    edges = {float(ordered[place]) for place in places} - {float(ordered[0])}
    if not edges:  # two thirds of the values are the smallest one
        edges = {float(ordered[ordered > ordered[0]][0])}
    return tuple(sorted(edges))


def _distinct(column: Column) -> list[str]:
    """Its values without missing ones, in alphabetical order."""
    return [value for value in np.unique(column).tolist() if value]


def subgroups_of(divisions: Iterable[Division], table: Predictions) -> tuple[Subgroup, ...]:
    """The subgroups of a table, column by column."""
    return tuple(s for each in divisions for s in each.of(table.columns[each.column]))


def metrics_of(task: Task) -> tuple[str, ...]:
    """What is measured of each subgroup."""
    return ("accuracy", "auc", *(("sensitivity", "specificity") if task == "binary" else ()))
