"""Groups that are in two splits: a leak, unless the dataset itself is defined with it."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable
from medldr.errors import InputError
from medldr.types import SPLITS


def crossing_groups(table: ImageTable, split: NDArray[np.str_]) -> list[str]:
    """No patient may be in two splits, however the name is spelled, unless the dataset says so.

    ``id_test`` and ``test`` count as one here: a patient scanned in a seen and in a held-out domain
    may be tested in both. So are ``id_val`` and ``val``.

    Args:
        table: A valid table; its `shared_groups` are allowed.
        split: ``(N,)`` name of each row's split, empty where it is in none.

    Returns:
        A note for each pair of splits that shares groups by the dataset's own definition.

    Raises:
        InputError: If a group is in two splits otherwise; names it.
    """
    rows = np.flatnonzero((split != "") & (table.groups != ""))
    if not len(rows):
        return []
    folded = np.array([g.strip().casefold() for g in table.groups[rows].tolist()])
    pairs = np.unique(np.column_stack([folded, split[rows]]), axis=0)
    names, start = np.unique(pairs[:, 0], return_index=True)
    allowed = {frozenset(pair) for pair in table.shared_groups}
    crossing, shared = [], Counter[frozenset[str]]()
    for name, of_group in zip(names, np.split(pairs[:, 1], start[1:]), strict=True):
        crossed = {
            frozenset((a, b))
            for a, b in itertools.combinations(of_group.tolist(), 2)
            if a.removeprefix("id_") != b.removeprefix("id_")
        }
        if crossed - allowed:
            crossing.append(name)
        shared.update(crossed & allowed)
    if crossing:
        raise _not_honest(table, split, rows[folded == crossing[0]], len(crossing))
    return [
        f"{table.name}: {count} groups are in {' and '.join(n for n in SPLITS if n in pair)}, by "
        "the dataset's own definition, so scores of the second are optimistic."
        for pair, count in sorted(shared.items(), key=lambda item: sorted(item[0]))
    ]


def _not_honest(
    table: ImageTable, split: NDArray[np.str_], of_first: NDArray[np.int64], count: int
) -> InputError:
    where = " and ".join(n for n in SPLITS if n in split[of_first])
    spellings = " / ".join(repr(g) for g in np.unique(table.groups[of_first]).tolist())
    return InputError(
        f"{table.name}: group {spellings} is in {where}, so the scores would be biased "
        f"({count} such groups). Correct the splits, leave the group out with "
        "data.exclude, or, with held-out domains that share patients, set data.held_out_rows=test."
    )
