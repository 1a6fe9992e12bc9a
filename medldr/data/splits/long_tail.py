"""Long-tailed training rows (`data.imbalance`): so many of each class, whole groups, own seed.

With ``C`` classes that have rows, a factor ``F`` and ``n`` rows of the largest class, class ``i``
from the largest to the smallest keeps ``int(n * (1 / F) ** (i / (C - 1)))`` rows (``exp``), or
``n`` rows in the first ``C // 2`` classes and ``int(n * (1 / F))`` in the others (``step``); in
float64 ``n * (1 / F)`` may be just below a whole ``n / F`` and then gives one row less, as in the
published code. Only training rows are taken away; validation and test stay as they are.

Which rows stay follows from ``data.imbalance.seed`` alone: class by class, in the order of labels,
the units of a class (its groups, or single rows without one) are shuffled, and the first ones stay.

Source:
    Cao et al., "Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss", NeurIPS
    2019, from whose published construction of CIFAR-LT the formula (float64, truncated) and the
    choice of rows come: one generator of NumPy's legacy kind, seeded with 0 for all classes. On a
    balanced set without groups the rows are the published ones, index for index.
    Our choice where that says nothing, for sets with unequal classes and with patients: the class
    with most rows is the largest one (``order: count``), the largest class keeps as many rows as
    let every other class have its share, and what cannot be had is refused, not approximated.
    Groups stay whole: no class gets more rows than asked; it may lack up to 20% of them, or less
    than a group, which a note states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig, ImbalanceConfig
from medldr.data.counting import some
from medldr.data.image_table import ImageTable
from medldr.errors import InputError

Rows = NDArray[np.int64]

MOST_LACKING: Final = 0.2
"""Part of the asked rows of a class that may be missing because groups stay whole."""


def long_tailed(table: ImageTable, rows: Rows, config: DatasetConfig, notes: list[str]) -> Rows:
    """The training rows that `data.imbalance` leaves; all of them where it is unset.

    Args:
        table: All images.
        rows: Training rows, ascending, after everything else that decides them.
        config: Which imbalance.
        notes: Receives what was asked and what was got.

    Returns:
        Rows, ascending.

    Raises:
        InputError: If the labels have no sizes that could be set, a class would have no row or
            more than there are, or groups prevent what is asked; names the class.
    """
    wanted = config.imbalance
    if wanted is None:
        return rows
    if table.labels.ndim == 2:
        raise InputError(
            f"data.imbalance: {table.name} is multi-label, so its classes have no sizes of their "
            "own. Set data.imbalance=null"
        )
    labels = np.asarray(table.labels[rows], dtype=np.int64)
    available = np.bincount(labels, minlength=len(table.class_names))
    if (available > 0).sum() < 2:
        raise InputError(
            f"data.imbalance needs two classes with training rows in {table.name}. Check "
            "data.exclude and data.held_out, or set data.imbalance=null"
        )
    asked = shares_of(available, wanted.factor, wanted.kind, wanted.order, wanted.largest)
    _refuse_impossible(table, wanted, asked)
    chosen = choose(labels, units_of(table.groups[rows]), asked, wanted.seed)
    got = np.bincount(labels[chosen.kept], minlength=len(available))
    if chosen.lacking:
        raise InputError(
            f"data.imbalance.factor {wanted.factor:g}: groups of {table.name} (patients, slides) "
            f"stay whole, so these classes would lack rows: {_counts(table, asked, got)}. Choose "
            "a smaller factor, or set data.imbalance=null"
        )
    kept = rows[chosen.kept]
    notes.append(
        f"{len(kept):,} of {len(rows):,} training rows used (data.imbalance: {wanted.kind}, factor "
        f"{wanted.factor:g}, seed {wanted.seed}): {_counts(table, asked, got)}."
    )
    gone = np.setdiff1d(table.domains[rows], table.domains[kept]).tolist()
    if gone:
        notes.append(f"data.imbalance left no training row of {some(gone)}.")
    return kept


def _refuse_impossible(table: ImageTable, wanted: ImbalanceConfig, asked: Sequence[Share]) -> None:
    """Refuse sizes that the classes do not have, and classes that would vanish."""
    short = next((share for share in asked if share.asked > share.available), None)
    if short is not None:
        most = most_of_largest([s.available for s in asked], wanted.factor, wanted.kind)
        raise InputError(
            f"data.imbalance.largest is {wanted.largest:,}, for which "
            f"{table.class_names[short.label]!r} of {table.name} has too few training rows "
            f"({short.available:,} of {short.asked:,}). Set it to {most:,} or less"
        )
    if not asked[-1].asked:
        raise InputError(
            f"data.imbalance.factor {wanted.factor:g} leaves no training row of "
            f"{table.class_names[asked[-1].label]!r} of {table.name}. Choose a smaller factor, or "
            "set data.imbalance=null"
        )


def _counts(table: ImageTable, asked: Sequence[Share], got: Rows) -> str:
    """Rows of each class, and what was asked where a class has fewer."""
    return some(
        f"{table.class_names[s.label]} {int(got[s.label]):,}"
        + (f" of {s.asked:,}" if got[s.label] < s.asked else "")
        for s in asked
    )


class Share(NamedTuple):
    """The rows of one class.

    Attributes:
        label: The class.
        available: Training rows it has.
        asked: Rows it should keep.
    """

    label: int
    available: int
    asked: int


def sizes(largest: int, classes: int, factor: float, kind: Literal["exp", "step"]) -> list[int]:
    """Rows of each class, from the largest class to the smallest.

    Args:
        largest: Rows of the largest class.
        classes: Number of classes.
        factor: Rows of the largest class over those of the smallest.
        kind: ``exp`` or ``step``.

    Example:
        >>> sizes(5000, 10, 100, "exp")
        [5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50]
        >>> sizes(500, 4, 10, "step")
        [500, 500, 50, 50]
    """
    return [int(largest * share) for share in _shares(classes, factor, kind)]


def _shares(classes: int, factor: float, kind: Literal["exp", "step"]) -> list[float]:
    """The part of the largest class's rows that each class has, in float64 as published."""
    smallest = 1 / factor
    if kind == "step":
        return [1.0 if place < classes // 2 else smallest for place in range(classes)]
    return [smallest ** (place / max(classes - 1.0, 1.0)) for place in range(classes)]


def most_of_largest(available: Sequence[int], factor: float, kind: Literal["exp", "step"]) -> int:
    """The most rows that the largest class can keep so that every other class has its share.

    Args:
        available: Rows of each class, from the one that will be the largest on.
        factor: Rows of the largest class over those of the smallest.
        kind: ``exp`` or ``step``.

    Example:
        >>> most_of_largest([6000, 1000, 500], 4, "exp"), sizes(2001, 3, 4, "exp")
        (2001, [2001, 1000, 500])
    """
    limits = []
    for count, share in zip(available, _shares(len(available), factor, kind), strict=True):
        most = int((count + 1) / share) + 1  # rounding: walk down to the first that fits
        while int(most * share) > count:
            most -= 1
        limits.append(most)
    return min(limits)


def order_of(available: Rows, order: Literal["count", "label"]) -> Rows:
    """Labels of the classes that have rows, from the one that will be the largest on.

    Example:
        >>> order_of(np.array([5, 0, 9, 5]), "count").tolist()
        [2, 0, 3]
    """
    if order == "label":
        return np.flatnonzero(available)
    ranked = np.argsort(-available, kind="stable")
    return ranked[available[ranked] > 0]


def shares_of(
    available: Rows,
    factor: float,
    kind: Literal["exp", "step"],
    order: Literal["count", "label"],
    largest: int | None,
) -> list[Share]:
    """What is asked of each class that has rows, from the largest to the smallest.

    Args:
        available: ``(classes,)`` training rows of each class.
        factor: Rows of the largest class over those of the smallest.
        kind: ``exp`` or ``step``.
        order: Which class is the largest.
        largest: Its rows; None: the most that are possible.
    """
    labels = order_of(available, order).tolist()
    counts = [int(available[label]) for label in labels]
    if largest is None:
        largest = most_of_largest(counts, factor, kind)
    asked = sizes(largest, len(labels), factor, kind)
    return [Share(*each) for each in zip(labels, counts, asked, strict=True)]


def units_of(groups: NDArray[np.str_]) -> Rows:
    """Number of the unit of each row: its group, or itself without one, in order of appearance.

    Example:
        >>> units_of(np.array(["b", "", "a", "b", ""])).tolist()
        [0, 1, 2, 0, 3]
    """
    alone = groups == ""
    names = np.where(alone, np.arange(len(groups)).astype(np.str_), np.char.add("g:", groups))
    _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse], dtype=np.int64)


class Chosen(NamedTuple):
    """What was chosen.

    Attributes:
        kept: ``(N,)`` whether each row stays.
        lacking: Labels of classes that lack more rows than groups excuse.
    """

    kept: NDArray[np.bool_]
    lacking: tuple[int, ...]


def choose(labels: Rows, units: Rows, asked: Sequence[Share], seed: int) -> Chosen:
    """Which rows stay, so that no class has more than asked and no unit is divided.

    Args:
        labels: ``(N,)`` class of each training row.
        units: ``(N,)`` unit of each row, from `units_of`.
        asked: Rows of each class.
        seed: Seed of the choice.
    """
    classes = int(labels.max(initial=-1)) + 1
    table = np.zeros((int(units.max(initial=-1)) + 1, classes), dtype=np.int64)
    np.add.at(table, (units, labels), 1)
    generator = np.random.RandomState(seed)
    shuffled: dict[int, Rows] = {}
    for label in sorted(share.label for share in asked):
        shuffled[label] = np.flatnonzero(table[:, label])
        generator.shuffle(shuffled[label])
    room = np.zeros(classes, dtype=np.int64)
    for share in asked:
        room[share.label] = share.asked
    taken = np.zeros(len(table), dtype=bool)
    # The smallest class first: its groups are the fewest, and others have rows to spare.
    for share in sorted(asked, key=lambda one: (one.asked, one.label)):
        for unit in shuffled[share.label].tolist():
            if not room[share.label]:
                break
            if not taken[unit] and (table[unit] <= room).all():
                taken[unit] = True
                room -= table[unit]
    lacking = [s.label for s in asked if _lacks(s, int(room[s.label]), table[~taken, s.label])]
    return Chosen(taken[units], tuple(lacking))


def _lacks(share: Share, missing: int, left: Rows) -> bool:
    """Whether a class lacks all rows, or more than 20% of them and as much as a whole group."""
    if missing >= share.asked:
        return share.asked > 0
    groups = left[left > 0]
    return missing > MOST_LACKING * share.asked and missing >= groups.min(initial=missing + 1)
