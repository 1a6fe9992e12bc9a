"""The training rows of a run with `data.imbalance`: those that stay, a note, or a refusal.

What is asked is met exactly or refused with what is possible; only groups, which stay whole, may
leave a class a little smaller, and then the note names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig, ImbalanceConfig
from medldr.data.counting import counted, some
from medldr.data.image_table import ImageTable
from medldr.data.splits.imbalance import Share, choose, most_of_largest, shares_of, units_of
from medldr.errors import InputError

Rows = NDArray[np.int64]

_STEP: Final = 0.8
"""Each factor that is tried, over the one before, when groups prevent the one that was asked."""


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
            more than there are, or groups prevent what is asked; names the class and what is
            possible.
    """
    wanted = config.imbalance
    if wanted is None:
        return rows
    if table.labels.ndim == 2:
        raise InputError(
            f"data.imbalance: {table.name} is multi-label. A row belongs to several classes there, "
            "so the size of each cannot be set on its own. Set data.imbalance=null"
        )
    labels = np.asarray(table.labels[rows], dtype=np.int64)
    available = np.bincount(labels, minlength=len(table.class_names))
    if (available > 0).sum() < 2:
        raise InputError(
            f"data.imbalance: only {counted(int((available > 0).sum()), 'class', 'classes')} of "
            f"{table.name} {'has' if (available > 0).sum() == 1 else 'have'} training rows, and "
            "imbalance needs two. Check data.exclude and data.held_out, or set data.imbalance=null"
        )
    asked = _shares(available, wanted, wanted.factor)
    _refuse_impossible(table, wanted, available, asked)
    units = units_of(table.groups[rows])
    chosen = choose(labels, units, asked, wanted.seed)
    got = np.bincount(labels[chosen.kept], minlength=len(available))
    if chosen.lacking:
        raise _refused_by_groups(table, wanted, labels, units, asked, chosen.lacking, got)
    kept = rows[chosen.kept]
    notes.append(_note(table, wanted, asked, got, len(rows)))
    gone = np.setdiff1d(table.domains[rows], table.domains[kept]).tolist()
    if gone:
        notes.append(
            f"data.imbalance left no training row of {some(gone)}; "
            f"{'it is' if len(gone) == 1 else 'they are'} no longer trained on."
        )
    return kept


def _shares(available: Rows, wanted: ImbalanceConfig, factor: float) -> list[Share]:
    return shares_of(available, factor, wanted.kind, wanted.order, wanted.largest)


def _refuse_impossible(
    table: ImageTable, wanted: ImbalanceConfig, available: Rows, asked: Sequence[Share]
) -> None:
    """Refuse sizes that the classes do not have, and classes that would vanish."""
    short = next((share for share in asked if share.asked > share.available), None)
    if short is not None:
        most = most_of_largest([s.available for s in asked], wanted.factor, wanted.kind)
        raise InputError(
            f"data.imbalance.largest is {wanted.largest:,}, which asks for "
            f"{counted(short.asked, 'training row', 'training rows')} of "
            f"{table.class_names[short.label]!r}, but {table.name} has {short.available:,}. The "
            f"most that is possible with factor {wanted.factor:g} is {most:,}; leave "
            "data.imbalance.largest unset to use it"
        )
    if asked[-1].asked:
        return
    none = [table.class_names[share.label] for share in asked if not share.asked]
    factors = range(min(int(wanted.factor), int(available.max())), 1, -1)
    possible = next((f for f in factors if _shares(available, wanted, f)[-1].asked), None)
    cure = (
        "no whole factor above 1 leaves one. Set data.imbalance=null"
        if possible is None
        else f"the largest whole factor that leaves one is {possible}. Set "
        f"data.imbalance.factor={possible} or less"
    )
    raise InputError(
        f"data.imbalance.factor {wanted.factor:g} leaves 0 training rows of "
        f"{some(map(repr, none))} of {table.name}; {cure}"
    )


def _refused_by_groups(
    table: ImageTable,
    wanted: ImbalanceConfig,
    labels: Rows,
    units: Rows,
    asked: Sequence[Share],
    lacking: Sequence[int],
    got: Rows,
) -> InputError:
    of = {share.label: share.asked for share in asked}
    told = some(
        (f"{table.class_names[k]!r} would have {int(got[k]):,} of {of[k]:,} rows" for k in lacking),
        most=5,
    )
    available = np.bincount(labels, minlength=len(table.class_names))
    factor: float = wanted.factor
    possible = None
    while possible is None and factor > 1:
        factor = max(1.0, float(int(factor * _STEP)))
        shares = _shares(available, wanted, factor)
        there = shares[-1].asked and all(s.asked <= s.available for s in shares)
        if there and not choose(labels, units, shares, wanted.seed).lacking:
            possible = factor
    cure = (
        f"Possible is data.imbalance.factor={possible:g}"
        if possible is not None
        else "No smaller factor is possible with these groups: set data.imbalance=null"
    )
    return InputError(
        f"data.imbalance: groups of {table.name} (patients, slides) stay whole, which prevents "
        f"factor {wanted.factor:g}: {told}. {cure}"
    )


def _note(
    table: ImageTable, wanted: ImbalanceConfig, asked: Sequence[Share], got: Rows, before: int
) -> str:
    first, last = asked[0], asked[-1]
    text = (
        f"{int(got.sum()):,} of {before:,} training rows used (data.imbalance: {wanted.kind}, "
        f"factor {wanted.factor:g}, seed {wanted.seed}), from {int(got[first.label]):,} of "
        f"{table.class_names[first.label]!r} to {int(got[last.label]):,} of "
        f"{table.class_names[last.label]!r}"
    )
    if wanted.largest is None and first.asked < first.available:
        text += (
            f"; {table.class_names[first.label]!r} has {first.available:,}, but with more of them "
            "another class could not have its share"
        )
    if wanted.order == "count" and [s.label for s in asked] != sorted(s.label for s in asked):
        text += "; classes are ranked by number of rows, an order that is not that of their labels"
    less = [s for s in asked if got[s.label] < s.asked]
    if less:
        fewer = some(
            (f"{table.class_names[s.label]!r} {int(got[s.label]):,} of {s.asked:,}" for s in less),
            most=5,
        )
        text += f"; whole groups leave fewer rows than asked: {fewer}"
    return f"{text}."
