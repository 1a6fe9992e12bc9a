"""Equal images in one data set: contradicting labels, leaks between parts, and mere repetitions.

Source:
    Our choice: images are equal where their pixels are, whatever file they are in; those of a
    single colour are not compared, as they are reported otherwise. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable

_EXAMPLES: Final = 3


class Duplicates(NamedTuple):
    """What is to be said of equal images, a text per kind.

    Attributes:
        wrong: What makes numbers wrong: leaks and contradictions.
        notes: What readers should know.
    """

    wrong: tuple[str, ...]
    notes: tuple[str, ...]


def duplicates(table: ImageTable, digests: Sequence[bytes], rows: Sequence[int]) -> Duplicates:
    """Equal images: in several splits, in several domains, of several labels, or merely repeated.

    Args:
        table: A valid table.
        digests: ``(N,)`` of the pixels of each image.
        rows: Rows that are compared.
    """
    first: dict[bytes, int] = {}
    sets: dict[int, list[int]] = {}
    for row in rows:
        known = first.setdefault(digests[row], row)
        if known != row:
            sets.setdefault(known, [known]).append(row)
    equal = list(sets.values())
    wrong = (
        *_across_splits(table, equal),
        *_across_domains(table, equal),
        *_contradictions(table, equal),
    )
    return Duplicates(_named(table, wrong), _named(table, _repetitions(table, equal)))


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
    found = []
    for to, rows in plans.items():
        where: dict[bytes, dict[str, int]] = {}
        for split, of_split in rows.items():
            for row in of_split.tolist():
                look = by_id.get(str(table.ids[row]))
                if look is not None and not look.constant:
                    where.setdefault(look.digest, {}).setdefault(split, row)
        sets = [list(splits.values()) for splits in where.values() if len(splits) > 1]
        if sets:
            found.append(
                f"{table.name}: {_pictures(sets)} in more than one split{to}, a leak "
                f"({_examples(table, sets)})"
            )
    return found


def _named(table: ImageTable, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{table.name}: {text}" for text in texts)


def _across_splits(table: ImageTable, equal: list[list[int]]) -> Iterator[str]:
    pairs = [
        [same[0], row]
        for same in equal
        for row in same[1:]
        if table.splits[same[0]] != table.splits[row]
    ]
    if pairs:
        yield (
            f"{len(pairs)} image(s) are byte-identical to one in another split, for example "
            f"{_examples(table, pairs)}"
        )


def _across_domains(table: ImageTable, equal: list[list[int]]) -> Iterator[str]:
    found = [same for same in equal if len({table.domains[row] for row in same}) > 1]
    if found:
        yield (
            f"{_pictures(found)} in more than one domain, a leak: training may see what is held "
            f"out ({_examples(table, found)})"
        )


def _contradictions(table: ImageTable, equal: list[list[int]]) -> Iterator[str]:
    found = [same for same in equal if len({_label(table, row) for row in same}) > 1]
    if found:
        yield (
            f"{_pictures(found)} there with contradicting labels, of which one at most is right "
            f"({_examples(table, found, labelled=True)})"
        )


def _repetitions(table: ImageTable, equal: list[list[int]]) -> Iterator[str]:
    found = [
        same
        for same in equal
        if len({(table.domains[row], _label(table, row)) for row in same}) == 1
        and not any(table.splits[row] for row in same)
        and (not table.groups[same[0]] or len({table.groups[row] for row in same}) > 1)
    ]
    if found:
        yield (
            f"{_pictures(found)} there more than once in one class of one domain; splits may "
            f"divide them ({_examples(table, found)})"
        )


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
    known = zip(table.class_names, np.atleast_1d(label).tolist(), strict=True)
    said = [f"{name} unknown" if value != value else name for name, value in known if value != 0]
    return ", ".join(said) or "none"
