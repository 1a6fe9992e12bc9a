"""What a run's numbers depend on, as one number each: the data, and how they are split."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable
from medldr.data.packs.table import label_bytes


def hash_table(table: ImageTable) -> str:
    """sha256 of what a run's numbers depend on: pixels, labels, ids, groups, domains.

    Where the dataset knows the checksums of its files, they are hashed instead of the pixels.
    """
    digest = hashlib.sha256()
    for text in (table.name, table.task, str(table.images.shape), str(table.labels.dtype)):
        digest.update(text.encode() + b"\0")
    if table.hashes:
        for file, checksum in sorted(table.hashes.items()):
            digest.update(f"{file}={checksum}\0".encode())
    else:
        for start in range(0, len(table), 256):
            digest.update(np.ascontiguousarray(table.images[start : start + 256]).data)
    digest.update(label_bytes(table.labels))
    for column in (table.ids, table.groups, table.domains, table.splits):
        digest.update("\0".join(column.tolist()).encode() + b"\1")
    return digest.hexdigest()


def hash_splits(table: ImageTable, rows: dict[str, NDArray[np.int64]]) -> str:
    """sha256 of which ids each split holds."""
    digest = hashlib.sha256()
    for name in sorted(rows):
        digest.update(f"{name}\1".encode() + "\0".join(table.ids[rows[name]].tolist()).encode())
        digest.update(b"\1")
    return digest.hexdigest()


def hash_rows(table: ImageTable, rows: NDArray[np.int64]) -> str:
    """sha256 of which ids some rows have, in their order: equal subsets have equal ones.

    Numbers from long-tailed subsets of one set that were chosen in different ways are not
    comparable, even where the sizes of all classes are equal.
    """
    return hashlib.sha256("\0".join(table.ids[rows].tolist()).encode()).hexdigest()
