"""Looking at a table before it is trained on: broken values are errors, odd ones are notes."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.data._threads import in_threads
from medldr.datasets.base import BadFile, ImageTable, LazyImages
from medldr.errors import InputError
from medldr.types import SPLITS, TASKS

_LISTED = 10
_BLOCK_BYTES = 1 << 26
_PIECE_BYTES = 1 << 20  # decoded by one thread at a time


def validate_table(table: ImageTable) -> None:
    """Refuse a table that breaks the contract of `ImageTable`.

    Raises:
        InputError: If shapes, types, ids, split names or labels are wrong; names dataset and row.
    """
    rows = len(table.ids)
    name = table.name
    if table.task not in TASKS:
        raise InputError(f"{name}: task {table.task!r} is none of {', '.join(TASKS)}")
    if table.images.dtype != np.uint8 or table.images.ndim not in (4, 5):
        raise InputError(
            f"{name}: images are {table.images.dtype} with shape {table.images.shape}; needed is "
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
        raise InputError(f"{name}: split {unknown[0]!r} is none of {', '.join(SPLITS)}")
    _validate_labels(table)


def _validate_labels(table: ImageTable) -> None:
    classes, labels = len(table.class_names), table.labels
    if table.task == "multi-label":
        fits = labels.ndim == 2 and labels.shape[1] == classes
        wrong = ~(np.isnan(labels) | np.isin(labels, (0, 1))) if fits else None
        allowed = f"(N, {classes}) of 0, 1 or NaN for missing"
    else:
        fits = labels.ndim == 1 and np.issubdtype(labels.dtype, np.integer)
        wrong = ((labels < 0) | (labels >= classes)) if fits else None
        allowed = f"(N,) integers 0 to {classes - 1}"
    if wrong is None:
        raise InputError(
            f"{table.name}: labels are {labels.dtype} with shape {labels.shape}; {table.task} "
            f"labels are {allowed}"
        )
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise InputError(
            f"{table.name}: the label of {table.ids[row]} is {labels[row]}, but {table.task} "
            f"labels are {allowed} ({int(wrong.sum())} such entries)"
        )


def check_table(table: ImageTable, *, duplicates: bool = True) -> list[str]:
    """What a reader should know of the images: constant ones, and equal ones in several splits.

    Every pixel is read, also where pictures have to be decoded for it.

    Args:
        table: A valid table.
        duplicates: Whether to look for byte-equal images, too.

    Returns:
        One text per finding; empty where there is none. Nothing is dropped.
    """
    constant = np.zeros(len(table), dtype=bool)
    digests: list[bytes] = []
    for start, flat in _blocks(table):
        constant[start : start + len(flat)] = (flat == flat[:, :1]).all(1)
        if duplicates:
            digests += [hashlib.blake2b(image.data, digest_size=16).digest() for image in flat]
    notes = list(_constant_notes(table, constant))
    if duplicates:
        notes += _duplicate_notes(table, digests, ~constant)
    return notes


def _blocks(table: ImageTable) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """The images as ``(n, pixels)`` blocks of bounded size, each with its first row's number.

    Pictures in files are decoded in threads, with a progress bar on a terminal.
    """
    images = table.images
    image_bytes = max(1, int(np.prod(images.shape[1:])))

    def read(rows: range) -> tuple[int, NDArray[np.uint8]]:
        block = np.ascontiguousarray(images[rows.start : rows.stop])
        return rows.start, block.reshape(len(block), -1)

    if isinstance(images, LazyImages):
        step = max(1, _PIECE_BYTES // image_bytes)
        title = f"reading {table.name}"
        yield from in_threads(read, len(images), step=step, title=title)
        return
    step = max(1, _BLOCK_BYTES // image_bytes)
    for start in range(0, len(images), step):
        yield read(range(start, min(start + step, len(images))))


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
        f"{table.name}: {len(pairs)} image(s) are byte-equal to one of another split, for example "
        f"{examples}"
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
    for start in range(0, len(rows), 256):
        block = table.images[rows[start : start + 256]]
        for channel in range(channels):
            histogram[channel] += np.bincount(block[:, channel].reshape(-1), minlength=256)
    value = np.arange(256) / 255
    total = histogram.sum(1)
    mean = histogram @ value / total
    variance = (histogram * (value - mean[:, None]) ** 2).sum(1) / total
    present = np.flatnonzero(histogram.sum(0))
    return {
        "name": table.name,
        "task": table.task,
        "channels": channels,
        "spatial_size": list(table.images.shape[2:]),
        "rows": len(rows),
        "mean": mean.tolist(),
        "std": np.sqrt(variance).tolist(),
        "min": int(present[0]),
        "max": int(present[-1]),
    }
