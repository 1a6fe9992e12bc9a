"""What a run's numbers depend on, as one number each: its data, how they are split, their parts.

No version is part of any of these hashes. A run's folder keeps them, so that a finished run is held
to its data: see `medldr.data.same_data`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.checks.table_checks import looks_of
from medldr.data.image_table import ImageTable, LazyImages

Rows = NDArray[np.int64]
Parts = Mapping[str, Mapping[str, str]]

PARTS: Final = {"training": ("train", "id_val", "val"), "judged": ("id_test", "test")}
"""Splits that decide the weights, and splits that only judge them."""

AUGMENTED: Final = "views"
"""Name of the checksum of `ImageTable.augmented`."""

_IMAGES: Final = {"images", "stored images", "files"}
"""Columns that stand for what images hold, by how they are read."""


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


def hash_splits(table: ImageTable, rows: Mapping[str, Rows]) -> str:
    """sha256 of which ids each split holds."""
    return hash_split_ids({name: table.ids[of].tolist() for name, of in rows.items()})


def hash_split_ids(splits: Mapping[str, Sequence[str]]) -> str:
    """The same, of the ids of each split as `splits.json` lists them."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        digest.update(f"{name}\1".encode() + "\0".join(splits[name]).encode() + b"\1")
    return digest.hexdigest()


def hash_rows(table: ImageTable, rows: Rows) -> str:
    """sha256 of which ids some rows have, in their order: equal subsets have equal ones.

    Numbers from long-tailed subsets of one set that were chosen in different ways are not
    comparable, even where the sizes of all classes are equal.
    """
    return hash_texts(table.ids[rows].tolist())


def hash_parts(table: ImageTable, rows: Mapping[str, Rows]) -> dict[str, dict[str, str]]:
    """sha256 of each column of the training part and of the judged part, by part and column.

    Args:
        table: All images.
        rows: Rows of each split.

    Returns:
        For each of `PARTS` that has rows: ``items`` (which ids each split holds), ``labels``,
        ``domains``, ``groups``, ``splits`` (the data set's own), and one of these: ``images``,
        where every file was looked at: the values of each, and what its header says of them;
        ``stored images``, where they are at hand as they are stored; ``files``, the checksums of
        those of the whole data set. In training, ``augmented latents``, where it sees such.
    """
    parts = {}
    for part, splits in PARTS.items():
        used = {split: rows[split] for split in splits if split in rows}
        if not used:
            continue
        of_part = np.concatenate(list(used.values()))
        items = (f"{name}/{item}" for name in used for item in table.ids[used[name]].tolist())
        kind, contents = _contents(table, of_part)
        parts[part] = {
            "items": hash_texts(items),
            "labels": hashlib.sha256(label_bytes(table.labels[of_part])).hexdigest(),
            "domains": hash_texts(table.domains[of_part].tolist()),
            "groups": hash_texts(table.groups[of_part].tolist()),
            "splits": hash_texts(table.splits[of_part].tolist()),
            kind: hash_texts(contents),
        }
        if part == "training" and table.augmented is not None:
            parts[part]["augmented latents"] = table.hashes[AUGMENTED]
    return parts


def _contents(table: ImageTable, rows: Rows) -> tuple[str, Iterable[str]]:
    """What the images hold, and which of the columns that is."""
    if table.looks is not None:
        headers = (table.facts[row].header if table.facts else "" for row in rows.tolist())
        looks = (table.looks.by_id[item].digest.hex() for item in table.ids[rows].tolist())
        return "images", map(" ".join, zip(looks, headers, strict=True))
    slow = isinstance(table.images, np.memmap | LazyImages)
    slow &= not getattr(table.images, "in_memory", False)
    if table.hashes and slow and getattr(table.images, "looks", None) is None:
        return "files", map("=".join, sorted(table.hashes.items()))
    found = looks_of(table.images, rows, title=f"comparing images of {table.name}")
    return "stored images", (look.digest.hex() for look in found)


def hash_metadata(table: ImageTable) -> str | None:
    """sha256 of the columns that results are divided by; None where there is none."""
    columns = ("\1".join((name, *table.metadata[name].tolist())) for name in table.metadata)
    return hash_texts(columns) if table.metadata else None


def hash_part(columns: Mapping[str, str]) -> str:
    """One sha256 of all columns of a part."""
    return hash_texts(f"{name}={sha256}" for name, sha256 in sorted(columns.items()))


def changed_columns(now: Parts, then: Parts) -> dict[str, list[str]]:
    """Columns that differ, by part; one that is known of only one of them is not compared.

    Example:
        >>> now = {"training": {"items": "1", "labels": "2"}, "judged": {"items": "3"}}
        >>> changed_columns(now, {"training": {"items": "1", "labels": "9", "images": "4"}})
        {'training': ['labels'], 'judged': ['items']}
    """
    changed = {}
    for part in PARTS:
        one, other = now.get(part, {}), then.get(part, {})
        columns = [name for name in one if name in other and one[name] != other[name]]
        if not one or not other:
            columns = ["items"] if one or other else []
        if columns:
            changed[part] = columns
    return changed


def are_by_content(now: Parts, then: Parts) -> bool:
    """Whether items and images of both are known, so that equal columns mean equal data."""
    return all(
        {"items"} <= both and both & _IMAGES
        for both in (now[part].keys() & then.get(part, {}).keys() for part in now)
    )


def label_bytes(labels: NDArray[np.int64] | NDArray[np.float32]) -> bytes:
    """The bytes of labels for a hash: every NaN counts as the same one."""
    if np.issubdtype(labels.dtype, np.floating):
        labels = np.where(np.isnan(labels), labels.dtype.type(np.nan), labels)
    return labels.tobytes()


def hash_texts(texts: Iterable[str]) -> str:
    """sha256 of some texts, in their order."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
