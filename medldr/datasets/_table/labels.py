"""Labels from text: one class for each row, or several labels that are each true or false.

Source:
    Our choice for one class. Where all texts are whole numbers (``2``, ``2.0``), they are classes
    in the order of their values and are called by their digits, so classes counted from 1, or with
    a gap, keep their names while labels count from 0. Digits after a leading zero, and numbers with
    an exponent, are names: ``007``, ``1e3``. All others are in the order of their letters.

    Of several labels, blank is missing and -1 (or ``u``) is uncertain as in the tables of CheXpert
    (Irvin et al., AAAI 2019, section 3.2), whose policies U-Ignore, U-Ones and U-Zeros are
    ``missing``, ``positive`` and ``negative`` here. Nothing is chosen silently: each label's counts
    are noted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some
from medldr.data.listing.item_frame import Rows
from medldr.data.listing.names import look_alikes, one_spelling, tidied
from medldr.data.metadata_columns import is_number
from medldr.errors import InputError, did_you_mean

Uncertain = Literal["missing", "positive", "negative"]

_WHOLE: Final = re.compile(r"[-+]?(0|[1-9]\d*)(\.0*)?")
_FEW: Final = 10
"""So many classes or fewer are never taken for numbers to be predicted."""
_NO_NUMBERS: Final = frozenset({"nan", "inf", "-inf", "+inf", "infinity", "-infinity"})

_TRUE_OR_FALSE: Final = {
    **dict.fromkeys(("0", "0.0", "false", "no"), 0.0),
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1.0),
}
_UNCERTAIN: Final = ("-1", "-1.0", "u")
_MEANS: Final[dict[Uncertain, float]] = {"missing": np.nan, "positive": 1.0, "negative": 0.0}


class Labels(NamedTuple):
    """Labels of all rows.

    Attributes:
        class_names: One name per class or per label.
        labels: ``(N,)`` int64, or ``(N, L)`` float32 with NaN for a missing one.
        notes: What readers should know.
    """

    class_names: tuple[str, ...]
    labels: NDArray[np.int64] | NDArray[np.float32]
    notes: tuple[str, ...]


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
    return Labels(names, labels, notes)


def _closed(classes: Sequence[str]) -> tuple[str, ...]:
    names = tuple(map(tidied, classes))
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"data.classes needs different names, none of them empty: {list(classes)}")
    return names


def _in_list(rows: Rows, column: str, texts: list[str], names: Sequence[str]) -> list[str]:
    """Texts as the names they mean: as written, or else as whole numbers."""
    meant = {text: text if text in names else _digits(text) for text in set(texts)}
    odd = [
        f"{rows.at(row)} has {text!r} in the column {column!r}, which is not in data.classes."
        f"{did_you_mean(text, names)}"
        for text, row in _first_rows(texts).items()
        if meant[text] not in names
    ]
    if odd:
        raise InputError(f"{rows.where}: {_all_of(odd)} Classes: {some(names)}")
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
    odd = []
    for text, row in _first_rows(texts).items():
        value = float(text)
        if value.is_integer() and value >= 0:
            continue
        why = "is below zero: if it marks an unknown label, empty the cell"
        if not value.is_integer():
            why = "is not a whole number: divide a measurement into classes"
        odd.append(
            f"{rows.at(row)} has {text!r} in the column {column!r} (data.label), which {why}."
        )
    if odd:
        allowed = {_digits(t) for t in texts if _WHOLE.fullmatch(t) and t[0] != "-"}
        raise InputError(
            f"{rows.where}: {_all_of(odd)} Classes are whole numbers from 0 on (here "
            f"{some(sorted(allowed, key=int)) or 'none'}) or words; or list all in data.classes"
        )


def _first_rows(texts: Sequence[str]) -> dict[str, int]:
    """The first row of each text."""
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(text, row)
    return first


def _all_of(faults: Sequence[str]) -> str:
    """One fault as it is, several on a line each; the first of many."""
    more = [f"and {len(faults) - _FEW:,} more."] if len(faults) > _FEW else []
    return "\n  ".join([*faults[:_FEW], *more])


def _digits(text: str) -> str:
    """A whole number by its digits; any other text as it is.

    Example:
        >>> [_digits(text) for text in ("2.0", "+3", "-0", "007", "1e3", "b")]
        ['2', '3', '0', '007', '1e3', 'b']
    """
    return str(int(text.partition(".")[0])) if _WHOLE.fullmatch(text) else text


def refuse_look_alikes(rows: Rows, names: Sequence[str], what: str) -> None:
    """Check that no two names differ only in capitals, blanks, ``-`` or ``_``.

    Args:
        rows: The items, for messages.
        names: ``(N,)`` a name of each; empty ones are skipped.
        what: What they name, ``class`` or ``domain``.

    Raises:
        InputError: If two do; names both and a row of each.
    """
    pair = look_alikes(filter(None, names))
    if pair is not None:
        one, other = (f"{name!r} in {rows.at(list(names).index(name))}" for name in pair)
        raise InputError(
            f"{rows.where}: {one} and {other} would be two "
            f"{'classes' if what == 'class' else 'domains'}, but differ only in capital letters, "
            "blanks, '-' or '_'. Write them alike, or make them differ more"
        )


def many_labels(rows: Rows, classes: tuple[str, ...] | None, uncertain: Uncertain) -> Labels:
    """The labels of each row.

    Args:
        rows: The items.
        classes: The labels in another order than that of `Rows.labels`; None: in that order.
        uncertain: What an uncertain label counts as.

    Returns:
        Labels ``(N, L)`` float32; a note for each label counts what is known of it.

    Raises:
        InputError: If a cell is none of the allowed values, or `classes` are other labels.
    """
    names = tuple(rows.labels)
    if classes is not None:
        names = _reordered(names, classes)
    labels = np.full((len(rows), len(names)), np.nan, dtype=np.float32)
    notes, odd = [], []
    for place, name in enumerate(names):
        cells = [cell.casefold() for cell in rows.labels[name]]
        missing, unsure = cells.count(""), sum(cell in _UNCERTAIN for cell in cells)
        values = _TRUE_OR_FALSE | dict.fromkeys(_UNCERTAIN, _MEANS[uncertain]) | {"": np.nan}
        odd += [
            f"{rows.at(row)} has {rows.labels[name][row]!r} in the column {name!r} (data.label)."
            for cell, row in _first_rows(cells).items()
            if cell not in values
        ]
        labels[:, place] = [values.get(cell, np.nan) for cell in cells]
        count = len(cells) - missing - unsure
        note = f"label {name}: {count:,} known, {missing:,} missing"
        if unsure:
            note += f", {unsure:,} uncertain, counted as {uncertain} (data.uncertain)"
        notes.append(note)
    if odd:
        raise InputError(
            f"{rows.where}: {_all_of(odd)} Of several labels each is 0 or 1, blank (missing), or "
            "-1 or u (uncertain). For classes that exclude each other name one column"
        )
    bare = int(np.isnan(labels).all(axis=1).sum())
    if bare:
        notes.append(f"{bare:,} of {len(rows):,} rows have no known label")
    return Labels(names, labels, tuple(notes))


def _reordered(names: tuple[str, ...], classes: tuple[str, ...]) -> tuple[str, ...]:
    given = {tidied(name): name for name in names}
    asked = [tidied(name) for name in classes]
    odd = next((name for name in asked if name not in given), None)
    if odd is not None:
        raise InputError(
            f"data.classes: {odd!r} is not one of the labels that data.label names."
            f"{did_you_mean(odd, given)} Labels: {some(names)}"
        )
    if sorted(asked) != sorted(given):
        raise InputError(
            f"data.classes should list each label of data.label once: {', '.join(names)}"
        )
    return tuple(given[name] for name in asked)
