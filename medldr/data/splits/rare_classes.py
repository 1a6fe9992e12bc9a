"""Classes that are too rare for every part of a manifest, in words for whoever makes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from medldr.data.image_table import ImageTable
from medldr.data.splits.manifest import Manifest
from medldr.data.splits.stratify import class_table

PARTS: Final = {
    "train": "training part",
    "id_val": "validation part of the seen domains",
    "val": "validation part",
    "id_test": "test part of the seen domains",
    "test": "test part",
}


def rare_class_notes(table: ImageTable, manifest: Manifest) -> list[str]:
    """A sentence per class that some part lacks, with its number of items and of groups.

    Classes without any item are named too: they stay in the list of classes.

    Args:
        table: The table that the manifest was made of.
        manifest: Its splits.
    """
    positive = class_table(table.labels, len(table.class_names)) == 1
    row_of = {item: row for row, item in enumerate(table.ids.tolist())}
    rows = {
        fold: {split: np.array([row_of[i] for i in ids], np.int64) for split, ids in parts.items()}
        for fold, parts in manifest.folds.items()
    }
    used = np.unique(np.concatenate([each for parts in rows.values() for each in parts.values()]))
    notes = []
    for number, name in enumerate(table.class_names):
        of_class = used[positive[used, number]]
        if not len(of_class):
            notes.append(f"class {name!r} has 0 items; it stays in the list of classes")
            continue
        lacking = {
            split: [
                fold
                for fold, parts in rows.items()
                if split in parts and not positive[parts[split], number].any()
            ]
            for split in PARTS
        }
        lacking = {split: folds for split, folds in lacking.items() if folds}
        if lacking:
            size = _size(len(of_class), table.groups[of_class].tolist())
            notes.append(f"class {name!r} has {size}: {_said(lacking, rows)}")
    return notes


def _size(items: int, groups: list[str]) -> str:
    """A number of items, and of groups where items belong to any.

    Example:
        >>> _size(2, ["a", "a"]), _size(1, [""])
        ('2 items (1 group)', '1 item')
    """
    names = set(groups) - {""}
    text = f"{items:,} item{'' if items == 1 else 's'}"
    return f"{text} ({len(names):,} group{'' if len(names) == 1 else 's'})" if names else text


def _said(lacking: Mapping[str, Sequence[str]], folds: Mapping[str, Collection[str]]) -> str:
    if len(folds) > 1:
        texts = [f"none in the {PARTS[s]} of {_folds(of)}" for s, of in lacking.items()]
    else:
        (parts,) = folds.values()
        there = [split for split in parts if split not in lacking]
        if len(there) == 1:
            texts = [f"it is in the {PARTS[there[0]]} only"]
        else:
            texts = [f"none in the {PARTS[split]}" for split in lacking]
    if "train" in lacking:
        texts.append("a run that trains without it needs data.allow_missing_classes=true")
    return "; ".join(texts)


def _folds(names: Sequence[str]) -> str:
    return f"fold{'' if len(names) == 1 else 's'} {', '.join(names)}"
