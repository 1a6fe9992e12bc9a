"""Equal images in one data set: contradicting labels, leaks between parts, and mere repetitions.

Source:
    Our choice: images are equal where their pixels are, whatever file they are in; those of a
    single colour are not compared, as they are reported otherwise. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable

_EXAMPLES: Final = 3


class Findings(NamedTuple):
    """What is to be said of the images of a table, a sentence each.

    Attributes:
        wrong: What makes numbers from these images wrong: leaks and contradictions.
        notes: What readers of any number should know.
    """

    wrong: tuple[str, ...]
    notes: tuple[str, ...]


def duplicates(table: ImageTable, digests: Sequence[bytes], rows: Sequence[int]) -> Findings:
    """Equal images: in several splits, in several domains, of several labels, or merely repeated.

    Args:
        table: A valid table.
        digests: ``(N,)`` of the pixels of each image.
        rows: Rows that are compared.
    """
    by_digest: dict[bytes, list[int]] = {}
    for row in rows:
        by_digest.setdefault(digests[row], []).append(row)
    several = (same for same in by_digest.values() if len(same) > 1)
    equal = sorted(several, key=lambda same: same[1])  # as they are come upon
    splits, domains, groups = table.splits, table.domains, table.groups
    wrong, notes = [], []
    pairs = [[same[0], row] for same in equal for row in same[1:] if splits[same[0]] != splits[row]]
    if pairs:
        wrong.append(
            f"{len(pairs)} image(s) are byte-identical to one in another split, for example "
            f"{_examples(table, pairs)}"
        )
    leaks = [same for same in equal if len({domains[row] for row in same}) > 1]
    if leaks:
        wrong.append(
            f"{_pictures(leaks)} in more than one domain, a leak: training may see what is held "
            f"out ({_examples(table, leaks)})"
        )
    contradictions = [same for same in equal if len({_label(table, row) for row in same}) > 1]
    if contradictions:
        wrong.append(
            f"{_pictures(contradictions)} there with contradicting labels, of which one at most is "
            f"right ({_examples(table, contradictions, labelled=True)})"
        )
    repeated = [
        same
        for same in equal
        if len({(domains[row], _label(table, row)) for row in same}) == 1
        and not any(splits[row] for row in same)
        and (not groups[same[0]] or len({groups[row] for row in same}) > 1)
    ]
    if repeated:
        notes.append(
            f"{_pictures(repeated)} there more than once in one class of one domain; splits may "
            f"divide them ({_examples(table, repeated)})"
        )
    named = ([f"{table.name}: {text}" for text in texts] for texts in (wrong, notes))
    return Findings(*map(tuple, named))


def divided_twins(
    table: ImageTable, plans: Mapping[str, Mapping[str, NDArray[np.int64]]]
) -> list[str]:
    """Equal images that a run would put into two splits, where the data set has none of its own.

    Args:
        table: A valid table; without looks nothing is compared.
        plans: Rows of each split, by a text such as `` with a held out``.
    """
    if table.looks is None or (table.splits != "").any():
        return []
    by_id = table.looks.by_id
    leaks = []
    for to, rows in plans.items():
        where: dict[bytes, dict[str, int]] = {}
        for split, of_split in rows.items():
            for row in of_split.tolist():
                look = by_id.get(str(table.ids[row]))
                if look is not None and not look.constant:
                    where.setdefault(look.digest, {}).setdefault(split, row)
        sets = [list(splits.values()) for splits in where.values() if len(splits) > 1]
        if sets:
            leaks.append(
                f"{table.name}: {_pictures(sets)} in more than one split{to}, a leak "
                f"({_examples(table, sets)})"
            )
    return leaks


def _pictures(sets: list[list[int]]) -> str:
    return "1 image is" if len(sets) == 1 else f"{len(sets):,} images are"


def _examples(table: ImageTable, sets: list[list[int]], *, labelled: bool = False) -> str:
    def name(row: int) -> str:
        return f"{table.ids[row]} ({_label(table, row)})" if labelled else str(table.ids[row])

    shown = (" = ".join(name(row) for row in same[:3]) for same in sets[:_EXAMPLES])
    return "; ".join(shown) + ("; ..." if len(sets) > _EXAMPLES else "")


def _label(table: ImageTable, row: int) -> str:
    """The class of an image, or of several labels those that it has; NaN equals NaN."""
    label = table.labels[row]
    if table.labels.ndim == 1:
        return table.class_names[int(label)]
    values = zip(table.class_names, np.atleast_1d(label).tolist(), strict=True)
    labels = [f"{name} unknown" if value != value else name for name, value in values if value != 0]
    return ", ".join(labels) or "none"
