"""Which columns of a metadata file are read: those that results are divided by.

Names, dates of birth and texts of reports would otherwise be copied into every `predictions.csv`,
and an array of long texts takes gigabytes, as each of its cells is as wide as the widest.

Source:
    Our choice: at most 12 values, at least 10 images and patients, at most 200 characters.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from medldr.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

MOST_VALUES: Final = 12
FEWEST: Final = 10
"""A subgroup of fewer images or patients is neither named nor scored."""
LONGEST: Final = 200

_NUMBER: Final = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
"""Digits after a leading zero are an id, not a number."""
_THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


def is_number(text: str) -> bool:
    """Whether a value is a number, and not an id of digits.

    Example:
        >>> [is_number(text) for text in ("61.5", "-3", "007", "NA")]
        [True, True, False, False]
    """
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def decimal_points(columns: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Columns in which decimal commas are points, and a note for each such column.

    Source:
        Our choice: only columns of nothing but numbers. Where three digits follow every comma these
        may be thousands, so such a column stays as it is.

    Example:
        >>> decimal_points({"age": ["40,5", "", "7"], "n": ["1,200"], "place": ["1,5", "left"]})[0]
        {'age': ['40.5', '', '7'], 'n': ['1,200'], 'place': ['1,5', 'left']}
    """
    read, notes = {}, []
    for name, cells in columns.items():
        points = [cell.replace(",", ".", 1) for cell in cells]
        commas = [cell for cell in cells if "," in cell]
        numbers = all(is_number(point) for point in points if point)
        decimal = numbers and not all(_THOUSANDS.fullmatch(cell) for cell in commas)
        read[name] = points if decimal else list(cells)
        if decimal:
            notes.append(f"decimal commas of the column {name!r} are read as points")
    return read, notes


def named(config: EvaluationConfig) -> list[str]:
    """The columns that a configuration names, each once."""
    return list(dict.fromkeys([*(config.subgroups or ()), *config.bands]))


def check_columns(config: EvaluationConfig, columns: Collection[str]) -> None:
    """Check that the columns which a configuration names exist.

    Args:
        config: What to divide results by.
        columns: Names of the columns there are.

    Raises:
        InputError: If one does not exist.
    """
    asked = {"evaluation.subgroups": config.subgroups or (), "evaluation.bands": config.bands}
    for key, names in asked.items():
        for name in names:
            if not columns:
                raise InputError(
                    f"{key} names {name!r}, but the data have no further columns. Name the table "
                    "that has it in data.metadata"
                )
            if name not in columns:
                raise InputError(
                    f"{key}: the metadata have no column {name!r}.{did_you_mean(name, columns)} "
                    f"Columns: {', '.join(columns)}"
                )


def choose(
    columns: Mapping[str, Sequence[str]], units: Sequence[str], config: EvaluationConfig
) -> tuple[list[str], list[str]]:
    """The columns to read.

    Args:
        columns: All columns of a metadata file, by name, a cell per image.
        units: The patient of each image, or the image itself where it has none.
        config: What to divide results by. Where it names no subgroups, a column is read if it
            would be divided: numbers, and 2 to 12 values, one of them of at least ten patients.

    Returns:
        Their names, and what to say of each other one.

    Raises:
        InputError: If a cell of a column that the configuration names is too long.
    """
    asked, kept, left_out = named(config), list[str](), list[str]()
    for name, cells in columns.items():
        long = max(map(len, cells), default=0)
        if name in asked:
            if long > LONGEST:
                raise InputError(
                    f"data.metadata: the column {name!r}, which the configuration divides results "
                    f"by, holds a text of {long:,} characters; at most {LONGEST} are allowed. "
                    "Shorten it, or name another column"
                )
            kept.append(name)
        elif config.subgroups is None:
            values = set(cells) - {""}
            if long <= LONGEST and _is_divided(values, cells, units):
                kept.append(name)
            else:
                count = len(values)
                left_out.append(f"{name} ({count:,} value{'' if count == 1 else 's'})")
    return kept, left_out


def _is_divided(values: set[str], cells: Sequence[str], units: Sequence[str]) -> bool:
    if len(values) > MOST_VALUES:
        return all(map(is_number, values))
    # Where no value has enough patients, as with names of twelve patients, there is no subgroup.
    sizes = Counter(cell for cell, _ in set(zip(cells, units, strict=True)) if cell)
    return len(values) > 1 and max(sizes.values()) >= FEWEST
