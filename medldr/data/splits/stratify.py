"""Dividing rows into parts that keep the class proportions and never divide a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def class_table(labels: NDArray[np.int64] | NDArray[np.float32], classes: int) -> NDArray[np.int64]:
    """``(N, classes)`` zeros and ones: the class of each row, or the labels that are positive."""
    if labels.ndim == 2:
        return np.equal(labels, 1).astype(np.int64)  # NaN, a missing label, is not positive
    return np.equal(labels[:, None], np.arange(classes)).astype(np.int64)


def with_domains(table: NDArray[np.int64], domains: NDArray[np.str_]) -> NDArray[np.int64]:
    """``(N, classes * domains)``: a stratum is a class within a domain."""
    _, number = np.unique(domains, return_inverse=True)
    count = number.max(initial=0) + 1
    joint = table[:, None, :] * (number[:, None] == np.arange(count))[:, :, None]
    return np.asarray(joint.reshape(len(table), count * table.shape[1]), dtype=np.int64)


def shares(count: int, fractions: Sequence[float]) -> list[int]:
    """Whole numbers in these fractions that sum to ``count`` (largest remainder).

    Where there are enough, each part with a fraction gets at least one.

    Example:
        >>> shares(100, [0.7, 0.15, 0.15]), shares(3, [0.7, 0.15, 0.15]), shares(1, [0.7, 0.3])
        ([70, 15, 15], [1, 1, 1], [1, 0])
    """
    exact = np.asarray(fractions, dtype=np.float64) * count
    sizes = np.floor(exact + 1e-9).astype(int)
    by_remainder = np.argsort(-(exact - sizes), kind="stable")
    sizes[by_remainder[: count - sizes.sum()]] += 1
    wanted = [p for p, fraction in enumerate(fractions) if fraction > 0]
    if count >= len(wanted):
        for part in wanted:
            if sizes[part] == 0:
                sizes[np.argmax(sizes)] -= 1
                sizes[part] = 1
    elif sizes[0] == 0 and count:  # too few for all: the first part, training, comes first
        sizes[np.argmax(sizes)] -= 1
        sizes[0] = 1
    return [int(size) for size in sizes]


def divide(
    table: NDArray[np.int64],
    groups: NDArray[np.str_],
    fractions: Sequence[float],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """The part of each row.

    Rows without groups and with one class each are divided class by class, exactly. Otherwise
    whole groups (or rows with several labels) go, the rarest class first, to the part that lacks
    their classes most.

    Args:
        table: ``(N, classes)`` zeros and ones, from `class_table`.
        groups: ``(N,)`` text; empty where a row belongs to none.
        fractions: Size of each part; they sum to 1. The first one is favoured in a tie.
        generator: Source of randomness.

    Returns:
        ``(N,)`` part numbers.
    """
    if not (groups != "").any() and (table.sum(1) == 1).all():
        return _by_class(table.argmax(1), table.shape[1], fractions, generator)
    # A row without a group is a unit of its own.
    names = np.where(groups != "", np.char.add("g:", groups), np.arange(len(groups)).astype(str))
    _, unit = np.unique(names, return_inverse=True)
    units = np.zeros((unit.max() + 1 if len(unit) else 0, table.shape[1] + 1), dtype=np.int64)
    np.add.at(units, unit, np.column_stack([table, np.ones(len(table), np.int64)]))
    return _greedily(units, fractions, generator)[unit]


def _by_class(
    label: NDArray[np.int64],
    classes: int,
    fractions: Sequence[float],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    part = np.zeros(len(label), dtype=np.int64)
    for k in range(classes):
        rows = generator.permutation(np.flatnonzero(label == k))
        part[rows] = np.repeat(np.arange(len(fractions)), shares(len(rows), fractions))
    return part


def _greedily(
    units: NDArray[np.int64], fractions: Sequence[float], generator: np.random.Generator
) -> NDArray[np.int64]:
    totals = np.maximum(units.sum(0), 1)
    rarity = np.where(units > 0, totals, np.iinfo(np.int64).max).min(1)
    shuffled = generator.permutation(len(units))
    order = shuffled[np.lexsort((-units[shuffled, -1], rarity[shuffled]))]
    wanted = np.asarray(fractions, dtype=np.float64)
    # What each part still lacks of each class (the last column is the number of rows), relative to
    # what it should have: all parts start at 1 and fill up alike, however large they are.
    lacking = np.where(wanted[:, None] > 0, np.ones((len(wanted), len(totals))), -np.inf)
    scale = np.maximum(wanted, 1e-12)
    part = np.zeros(len(units), dtype=np.int64)
    for number in order:
        present = np.flatnonzero(units[number])
        share = units[number, present] / totals[present]
        part[number] = np.argmax(lacking[:, present] @ share)
        lacking[part[number], present] -= share / scale[part[number]]
    return part


def keep_fraction(
    table: NDArray[np.int64],
    groups: NDArray[np.str_],
    fraction: float,
    generator: np.random.Generator,
) -> NDArray[np.bool_]:
    """Which rows to keep for each class to keep this fraction, and at least one row.

    Whole groups are kept or dropped, because half a patient's images are not half a patient.
    """
    if fraction >= 1:
        return np.ones(len(table), dtype=bool)
    kept: NDArray[np.bool_] = divide(table, groups, [fraction, 1 - fraction], generator) == 0
    for k in np.flatnonzero(table.any(0) & ~table[kept].any(0)):
        row = int(generator.choice(np.flatnonzero(table[:, k])))
        kept |= (groups == groups[row]) if groups[row] else np.arange(len(table)) == row
    return kept
