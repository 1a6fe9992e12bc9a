"""Words by which tables and folders name their splits.

Source:
    Our choice of words: those of torchvision's and WILDS's folders and of common tables. Numbers of
    folds name no split: which of them is for testing is for the user to say.
"""

from __future__ import annotations

import re
from typing import Final

from medldr.data.counting import some
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError
from medldr.types import SPLITS

_WORDS: Final = {
    "train": ("train", "training", "trn", "tr"),
    "val": ("val", "valid", "validation", "dev", "tune"),
    "test": ("test", "testing", "tst", "ts", "holdout"),
}
_SPLITS: Final = {word: split for split, words in _WORDS.items() for word in words} | {
    split: split for split in SPLITS
}
_FOLD: Final = re.compile(r"(folds?[-_ ]*)?\d+(\.0)?", re.IGNORECASE)


def split_of(word: str) -> str | None:
    """The split that a word means; None where it means none.

    Example:
        >>> split_of("Validation"), split_of("ID-Test"), split_of("hospital_a")
        ('val', 'id_test', None)
    """
    plain = word.strip().casefold()
    return _SPLITS.get(plain) or _SPLITS.get(re.sub("[- ]", "_", plain))


def read_splits(rows: Rows) -> list[str]:
    """The split of each row, one of `SPLITS`; all empty where none is named.

    Raises:
        InputError: If a word is unknown or the number of a fold, or some rows have no split.
    """
    words = rows.splits
    if words is None or not any(words):
        return [""] * len(rows)
    empty = [row for row, word in enumerate(words) if not word]
    if empty:
        raise InputError(
            f"{rows.where}: {len(empty):,} of {len(rows):,} rows are in no split, the others are: "
            f"{rows.examples(empty)}. Give every row a split or none (data.split unset: medldr "
            "divides them)"
        )
    meant = {word: split_of(word) for word in set(words)}
    unknown = sorted(word for word, split in meant.items() if split is None)
    if unknown:
        first = words.index(unknown[0])
        if all(_FOLD.fullmatch(word) for word in unknown):
            raise InputError(
                f"{rows.where}: data.split names a column of folds ({some(map(repr, unknown))}), "
                "which does not say what is for training and what for testing. Let "
                "`medldr data split` make splits of it, or write train, val and test"
            )
        raise InputError(
            f"{rows.where}: {rows.at(first)} is in the split {unknown[0]!r}, which is none of "
            f"{', '.join(_SPLITS)}. Unknown: {some(map(repr, unknown))}"
        )
    return [meant[word] or "" for word in words]
