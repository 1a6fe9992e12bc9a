"""Texts of labels as classes, each row in one of them.

Source:
    Our choice. Where all texts are whole numbers (``2``, ``2.0``), they are classes in the order of
    their values and are called by their digits, so classes counted from 1, or with a gap, keep
    their names while labels count from 0. Digits after a leading zero, and numbers with an
    exponent, are names: ``007``, ``1e3``. All others are in the order of their letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some
from medldr.data.metadata_columns import is_number
from medldr.datasets._table.names import one_spelling, refuse_look_alikes, tidied
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError, did_you_mean

_WHOLE: Final = re.compile(r"[-+]?(0|[1-9]\d*)(\.0*)?")
_FEW: Final = 10
"""So many classes or fewer are never taken for numbers to be predicted."""


_NO_NUMBERS: Final = frozenset({"nan", "inf", "-inf", "+inf", "infinity", "-infinity"})


class Labels(NamedTuple):
    """Labels of all rows.

    Attributes:
        class_names: One name per class or per label.
        labels: ``(N,)`` int64, or ``(N, L)`` float32 with NaN for a missing one.
        multi_label: Which of the two.
        notes: What readers should know.
    """

    class_names: tuple[str, ...]
    labels: NDArray[np.int64] | NDArray[np.float32]
    multi_label: bool
    notes: tuple[str, ...]


def unlabelled(rows: Rows) -> list[int]:
    """The rows that have no label at all.

    Of several labels each may be missing by itself; a row without any of them is still one.
    """
    if rows.multi_label:
        return []
    (texts,) = rows.labels.values()
    return [row for row, text in enumerate(texts) if not text]


def single_labels(rows: Rows, classes: tuple[str, ...] | None) -> Labels:
    """The class of each row.

    Args:
        rows: The items, each with a label.
        classes: All classes in the order of their numbers; None: those that are found.

    Raises:
        InputError: If a label is not one of `classes`, is a number but no class, differs from
            another only in spelling, or if nearly every row has a label of its own.
    """
    ((column, texts),) = rows.labels.items()
    texts, notes = one_spelling(texts, "class")
    if classes is not None:
        names = _closed(classes)
        meant = _in_list(rows, column, texts, names)
        lacking = sorted(set(names) - set(meant), key=names.index)
        if lacking:
            notes += (f"no row is of the class {', '.join(lacking)} (data.classes)",)
    else:
        meant, names = _found(rows, column, texts)
    number = {name: label for label, name in enumerate(names)}
    labels = np.array([number[name] for name in meant], dtype=np.int64)
    return Labels(names, labels, False, notes)


def _closed(classes: Sequence[str]) -> tuple[str, ...]:
    names = tuple(map(tidied, classes))
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"data.classes needs different names, none of them empty: {list(classes)}")
    return names


def _in_list(rows: Rows, column: str, texts: list[str], names: Sequence[str]) -> list[str]:
    """Texts as the names they mean: as written, or else as whole numbers."""
    meant = {text: text if text in names else _digits(text) for text in set(texts)}
    for row, text in enumerate(texts):
        if meant[text] not in names:
            raise InputError(
                f"{rows.where}: {rows.at(row)} has {text!r} in the column {column!r}, which is "
                f"not in data.classes.{did_you_mean(text, names)} Classes: {some(names)}"
            )
    return [meant[text] for text in texts]


def _found(rows: Rows, column: str, texts: list[str]) -> tuple[list[str], tuple[str, ...]]:
    different = set(texts)
    if len(different) > _FEW and 2 * len(different) > len(texts):
        raise InputError(
            f"{rows.where}: the column {column!r} (data.label) has {len(different):,} different "
            f"values in {len(texts):,} rows, such as {some(sorted(different)[:3])}. Is it an id "
            "or a measurement? Name a column of classes, or divide the measurement into some; a "
            "list in data.classes says that it is meant"
        )
    odd = [text for text in different if not is_number(text) and text.casefold() in _NO_NUMBERS]
    if odd and all(text in odd or is_number(text) for text in different):
        raise InputError(
            f"{rows.where}: the column {column!r} (data.label) has {odd[0]!r} among its numbers. "
            "If it marks a missing label, empty the cell; if it is a class, list all in "
            "data.classes"
        )
    if all(map(is_number, different)):
        _refuse_numbers(rows, column, texts)
        if all(map(_WHOLE.fullmatch, different)):
            meant = [_digits(text) for text in texts]
            return meant, tuple(sorted(set(meant), key=int))
    refuse_look_alikes(rows, texts, "class")
    return texts, tuple(sorted(different))


def _refuse_numbers(rows: Rows, column: str, texts: Sequence[str]) -> None:
    """Numbers that are hardly names of classes."""
    for row, text in enumerate(texts):
        value = float(text)
        if value.is_integer() and value >= 0:
            continue
        why = "is below zero: if it marks an unknown label, empty the cell"
        if not value.is_integer():
            why = "is not a whole number: divide a measurement into classes"
        allowed = sorted(
            {_digits(t) for t in texts if _WHOLE.fullmatch(t) and t[0] != "-"}, key=int
        )
        raise InputError(
            f"{rows.where}: {rows.at(row)} has {text!r} in the column {column!r} (data.label), "
            f"which {why}. Classes are whole numbers from 0 on (here {some(allowed) or 'none'}) "
            "or words; or list all in data.classes"
        )


def _digits(text: str) -> str:
    """A whole number by its digits; any other text as it is.

    Example:
        >>> [_digits(text) for text in ("2.0", "+3", "-0", "007", "1e3", "b")]
        ['2', '3', '0', '007', '1e3', 'b']
    """
    return str(int(text.partition(".")[0])) if _WHOLE.fullmatch(text) else text
