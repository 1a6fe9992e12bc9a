"""Looking at a table before it is trained on: broken values are errors, odd ones are notes."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import BadFile, ImageTable
from medldr.data.reading.statistics import Look, each_part, look_at
from medldr.data.two_classes import task_of
from medldr.errors import InputError
from medldr.types import SPLITS, TASKS

_LISTED = 10


def validate_table(table: ImageTable) -> None:
    """Refuse a table that breaks the contract of `ImageTable`.

    Raises:
        InputError: If shapes, types, ids, split names or labels are wrong; names dataset and row.
    """
    rows = len(table.ids)
    name = table.name
    if table.task not in TASKS:
        raise InputError(f"{name}: task {table.task!r} is not one of {', '.join(TASKS)}")
    if table.task == "binary" and len(table.class_names) != 2:
        raise InputError(
            f"{name}: a binary task has two classes, but there are {len(table.class_names)}: "
            f"{', '.join(table.class_names)}. With more than two the task is multi-class"
        )
    if table.images.dtype != np.uint8 or table.images.ndim not in (4, 5):
        raise InputError(
            f"{name}: images are {table.images.dtype} with shape {table.images.shape}; expected "
            "uint8 (N, C, H, W), or (N, C, D, H, W) for volumes. Scale float images to 0..255."
        )
    for column in ("images", "labels", "splits", "domains", "groups"):
        length = len(getattr(table, column))
        if length != rows:
            raise InputError(f"{name}: {column} has {length} rows, but there are {rows} ids")
    repeated = [i for i, count in Counter(table.ids.tolist()).items() if count > 1]
    if repeated:
        raise InputError(f"{name}: id {repeated[0]!r} occurs more than once ({len(repeated)} such)")
    unknown = sorted(set(table.splits.tolist()) - {*SPLITS, ""})
    if unknown:
        raise InputError(f"{name}: split {unknown[0]!r} is not one of {', '.join(SPLITS)}")
    _validate_labels(table)


def _validate_labels(table: ImageTable) -> None:
    classes, labels = len(table.class_names), table.labels
    if table.task == "multi-label":
        fits = labels.ndim == 2 and labels.shape[1] == classes
        wrong = ~(np.isnan(labels) | np.isin(labels, (0, 1))) if fits else None
        allowed = f"(N, {classes}) with 0, 1 or NaN for missing"
    else:
        fits = labels.ndim == 1 and np.issubdtype(labels.dtype, np.integer)
        wrong = ((labels < 0) | (labels >= classes)) if fits else None
        allowed = f"(N,) integers 0 to {classes - 1}"
    if wrong is None:
        raise InputError(
            f"{table.name}: labels are {labels.dtype} with shape {labels.shape}; {table.task} "
            f"labels must be {allowed}"
        )
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise InputError(
            f"{table.name}: the label of {table.ids[row]} is {labels[row]}, but {table.task} "
            f"labels must be {allowed} ({int(wrong.sum())} such entries)"
        )


def check_table(table: ImageTable, known: Mapping[str, Look] | None = None) -> list[str]:
    """What readers should know about the images: constant ones, and equal ones in several splits.

    Every pixel is read, also where pictures have to be decoded for it.

    Args:
        table: A valid table.
        known: Looks at images by id, where they were read before; these are not read again.

    Returns:
        One text per finding; empty where there is none. Nothing is dropped.
    """
    looks = dict(known or {})
    ids = table.ids.tolist()
    rows = np.array([row for row, item in enumerate(ids) if item not in looks], dtype=np.int64)
    found = each_part(table.images, rows, look_at, title=f"reading {table.name}")
    looks.update(zip([ids[row] for row in rows], itertools.chain.from_iterable(found), strict=True))
    constant = np.array([looks[item].constant for item in ids], dtype=bool)
    digests = [looks[item].digest for item in ids]
    return [*_constant_notes(table, constant), *_duplicate_notes(table, digests, ~constant)]


def _constant_notes(table: ImageTable, constant: NDArray[np.bool_]) -> Iterator[str]:
    for split in dict.fromkeys(table.splits.tolist()):
        of_split = np.flatnonzero(table.splits == split)
        found = np.flatnonzero(constant[of_split])  # counted within the split, as its file does
        if not len(found):
            continue
        label = f"{split} images" if split else "images"
        if len(found) == len(of_split):
            yield f"{table.name}: all {len(found)} {label} are constant: the file may be damaged"
            continue
        listed = ", ".join(map(str, found[:_LISTED].tolist()))
        more = ", ..." if len(found) > _LISTED else ""
        one = label[:-1] if len(found) == 1 else label
        yield f"{table.name}: {len(found)} constant {one}: {listed}{more}"


def _duplicate_notes(
    table: ImageTable, digests: list[bytes], looked_at: NDArray[np.bool_]
) -> list[str]:
    """Byte-equal images in two splits; constant ones are reported already."""
    first: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    for row in np.flatnonzero(looked_at).tolist():
        known = first.setdefault(digests[row], row)
        if table.splits[known] != table.splits[row]:
            pairs.append((known, row))
    if not pairs:
        return []
    examples = "; ".join(f"{table.ids[a]} = {table.ids[b]}" for a, b in pairs[:3])
    return [
        f"{table.name}: {len(pairs)} image(s) are byte-identical to one in another split, for "
        f"example {examples}"
    ]


def list_bad_files(table: ImageTable) -> str:
    """The files that were left out, as a CSV text with the columns ``path`` and ``reason``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(BadFile._fields)
    writer.writerows(table.bad_files)
    return text.getvalue()


def count_rows(table: ImageTable) -> list[dict[str, Any]]:
    """Rows per split and domain, in all and per class (multi-label: positives per label).

    Returns:
        One flat record per split and domain, with keys ``split``, ``domain``, ``rows``, ``groups``
        and ``classes`` (name -> count).
    """
    records = []
    order = [s for s in (*SPLITS, "") if (table.splits == s).any()]
    for split in order:
        for domain in np.unique(table.domains[table.splits == split]).tolist():
            here = (table.splits == split) & (table.domains == domain)
            labels = table.labels[here]
            counts = (
                np.nansum(labels, axis=0).astype(int)
                if labels.ndim == 2
                else np.bincount(labels, minlength=len(table.class_names))
            )
            groups = set(table.groups[here].tolist()) - {""}
            records.append(
                {
                    "split": split,
                    "domain": domain,
                    "rows": int(here.sum()),
                    "groups": len(groups),
                    "classes": dict(zip(table.class_names, map(int, counts), strict=True)),
                }
            )
    return records


def stats(table: ImageTable) -> dict[str, Any]:
    """Mean and standard deviation of the training pixels per channel, on the scale 0 to 1.

    Only training rows are read (all rows where the dataset has no splits of its own), because
    numbers that end up in a transform must not come from test images.

    Returns:
        ``name, task, channels, spatial_size, rows, mean, std, min, max``; ``mean`` and ``std`` are
        lists with one number per channel, ``min`` and ``max`` stored values.
    """
    train = table.splits == "train"
    rows = np.flatnonzero(train) if train.any() else np.arange(len(table))
    channels = table.images.shape[1]
    # Counting each value is exact: no float sum over millions of pixels.
    histogram = np.zeros((channels, 256), dtype=np.int64)
    for counts in each_part(table.images, rows, _histogram, title=f"reading {table.name}"):
        histogram += counts
    value = np.arange(256) / 255
    total = histogram.sum(1)
    mean = histogram @ value / total
    variance = (histogram * (value - mean[:, None]) ** 2).sum(1) / total
    present = np.flatnonzero(histogram.sum(0))
    return {
        "name": table.name,
        "task": task_of(table),
        "channels": channels,
        "spatial_size": list(table.images.shape[2:]),
        "rows": len(rows),
        "mean": mean.tolist(),
        "std": np.sqrt(variance).tolist(),
        "min": int(present[0]),
        "max": int(present[-1]),
    }


def _histogram(block: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each value occurs, ``(C, 256)``."""
    channels = (block[:, channel].reshape(-1) for channel in range(block.shape[1]))
    return np.stack([np.bincount(values, minlength=256) for values in channels])
