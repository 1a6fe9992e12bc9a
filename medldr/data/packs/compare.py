"""Whether a pack still agrees with the data set it was made from, and if not, what changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from medldr.data.counting import counted
from medldr.data.image_table import ImageTable, LazyImages
from medldr.data.packs.blocks import Blocks
from medldr.data.packs.format import AGAIN
from medldr.data.packs.open import Pack
from medldr.data.packs.table import hash_columns
from medldr.errors import InputError

_STAMP: Final = (
    "files behind its pictures have been replaced or modified since "
    "(their names, sizes or times changed)"
)


def stale(pack: Pack, changed: list[str]) -> InputError:
    """The error for a pack that does not agree with the files it was made from."""
    mild = changed == [_STAMP]
    cure = (
        "If they hold the same pictures, `medldr data pack ... --verify` compares them all and "
        f"keeps the pack. Otherwise: {AGAIN[0].lower()}{AGAIN[1:]}"
        if mild
        else AGAIN
    )
    return InputError(
        f"{pack.facts.dataset} has changed since it was packed in {pack.folder}: "
        f"{'; '.join(changed)}. {cure}"
    )


def only_touched(changed: list[str]) -> bool:
    """Whether nothing but the times, sizes or names of the pictures' files may have changed."""
    return changed == [_STAMP]


def differences(pack: Pack, table: ImageTable) -> list[str]:
    """What of a data set changed since it was packed, a text each; empty where they agree."""
    facts = pack.facts
    found = []
    for what, now, then in (
        ("name", table.name, facts.dataset),
        ("task", table.task, facts.task),
        ("class names", ", ".join(table.class_names), ", ".join(facts.class_names)),
        ("labels' type", table.labels.dtype.name, facts.label_dtype),
        ("images' size", table.images.shape[1:], facts.shape[1:]),
    ):
        if now != then:
            found.append(f"its {what} is now {now}, then {then}")
    if hash_columns(table) != facts.columns:
        found += list(_changed_rows(pack.table(), table)) or ["its columns changed"]
    for file in sorted(facts.hashes.keys() | table.hashes.keys()):
        if facts.hashes.get(file) != table.hashes.get(file):
            found.append(f"{file} has a different checksum")
    if found:
        return found
    if isinstance(table.images, LazyImages):
        return [] if table.images.stamp == facts.stamp else [_STAMP]
    if not table.hashes:  # no checksum represents the pixels, and they are in memory
        blocks = Blocks(len(table), facts.block_rows)
        for number in range(len(blocks)):
            if not np.array_equal(table.images[blocks[number]], pack.images[blocks[number]]):
                return [f"pixels changed from row {blocks[number].start} on"]
    return []


def _changed_rows(then: ImageTable, now: ImageTable) -> Iterator[str]:
    before = {item: row for row, item in enumerate(then.ids.tolist())}
    after = {item: row for row, item in enumerate(now.ids.tolist())}
    for word, ids in (
        ("new", [item for item in after if item not in before]),
        ("gone", [item for item in before if item not in after]),
    ):
        if ids:
            yield f"{len(ids):,} of its rows are {word}, for example {ids[0]}"
    both = [item for item in after if item in before]
    if [before[item] for item in both] != sorted(before[item] for item in both):
        yield "its rows are in a different order"
    old, new = ([rows[item] for item in both] for rows in (before, after))
    for name in ("labels", "domains", "groups", "splits"):
        a, b = getattr(then, name)[old], getattr(now, name)[new]
        if a.shape != b.shape:
            yield f"its {name} have a different shape"
            continue
        differ = (a != b) & ~((a != a) & (b != b))
        rows = np.flatnonzero(differ if differ.ndim == 1 else differ.any(1))
        if len(rows):
            yield (
                f"its {name} differ in {counted(len(rows), 'row', 'rows')}, for example "
                f"{both[rows[0]]}: now {b[rows[0]]}, then {a[rows[0]]}"
            )
