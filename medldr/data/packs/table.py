"""The table of a pack, `table.csv`: what is known of each item, in plain text."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable
from medldr.data.packs.format import AGAIN, TABLE, Facts
from medldr.errors import InputError
from medldr.folders.files import atomic, checksum

_TEXTS: Final = ("domain", "group", "split")


def hash_columns(table: ImageTable) -> dict[str, str]:
    """sha256 of each column of a table besides its images."""
    found = {"label": hashlib.sha256(label_bytes(table.labels)).hexdigest()}
    for name, column in _texts(table).items():
        found[name] = hashlib.sha256("\0".join(column.tolist()).encode()).hexdigest()
    return found


def label_bytes(labels: NDArray[np.int64] | NDArray[np.float32]) -> bytes:
    """The bytes of labels for a hash: every NaN counts as the same one."""
    if np.issubdtype(labels.dtype, np.floating):
        labels = np.where(np.isnan(labels), labels.dtype.type(np.nan), labels)
    return labels.tobytes()


def _texts(table: ImageTable) -> dict[str, NDArray[np.str_]]:
    return {
        "id": table.ids,
        "domain": table.domains,
        "group": table.groups,
        "split": table.splits,
    }


def write_table(folder: Path, table: ImageTable) -> None:
    """Write `table.csv`: id, label (or one column per label), domain, group, split.

    A label is its class number; of several labels each is 0, 1, or empty where it is missing.
    """
    multi_label = table.labels.ndim == 2
    heads = [f"label_{name}" for name in table.class_names] if multi_label else ["label"]
    labels: list[list[str]]
    if multi_label:
        labels = [["" if v != v else f"{v:.0f}" for v in row] for row in table.labels.tolist()]
    else:
        labels = [[str(value)] for value in table.labels.tolist()]
    texts = (_texts(table)[name].tolist() for name in _TEXTS)
    with (
        atomic(folder / TABLE) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as f,
    ):
        writer = csv.writer(f)
        writer.writerow(["id", *heads, *_TEXTS])
        for item, label, *rest in zip(table.ids.tolist(), labels, *texts, strict=True):
            writer.writerow([item, *label, *rest])


def read_columns(folder: Path, facts: Facts) -> dict[str, Any]:
    """The columns of `table.csv` as `ImageTable` names them.

    Raises:
        InputError: If the file is absent, or not the one that was written.
    """
    path = folder / TABLE
    try:
        found = checksum(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). {AGAIN}") from error
    if TABLE not in facts.files or found != facts.files[TABLE].sha256:
        raise InputError(f"{path} is damaged or was changed: its checksum differs. {AGAIN}")
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    ids, *between = zip(*rows, strict=True)
    *labels, domains, groups, splits = between
    dtype = np.dtype(facts.label_dtype)
    numbers = [[np.nan if v == "" else float(v) for v in column] for column in labels]
    columns = np.array(numbers, dtype=dtype)
    return {
        "ids": np.array(ids, dtype=np.str_),
        "labels": np.ascontiguousarray(columns.T) if facts.task == "multi-label" else columns[0],
        "domains": np.array(domains, dtype=np.str_),
        "groups": np.array(groups, dtype=np.str_),
        "splits": np.array(splits, dtype=np.str_),
    }
