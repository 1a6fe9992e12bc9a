"""Looking at a table before it is trained on: broken values are errors, odd ones are notes."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.bags import Bags
from medldr.data.checks.duplicates import Findings, duplicates
from medldr.data.checks.windows import unlike_windows
from medldr.data.image_table import BadFile, Images, ImageTable, LazyImages, Look, digest_of
from medldr.data.proven import ProvenImages
from medldr.data.spec import task_of
from medldr.data.threads import Made, in_threads
from medldr.errors import InputError
from medldr.foreign_text import cell
from medldr.types import SPLITS, TASKS

_LISTED = 10
_BLOCK_BYTES = 1 << 24
_PIECE_BYTES = 1 << 20  # worked on by one thread at a time
_MUCH_BYTES = 1 << 28


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
    kind, axes = table.images.dtype, table.images.ndim
    latents = kind == np.float32 and axes == 2
    if not latents and (kind not in (np.uint8, np.float32) or axes not in (4, 5)):
        raise InputError(
            f"{name}: images are {kind} with shape {table.images.shape}; expected uint8 from 0 to "
            "255 or float32 from 0 to 1, (N, C, H, W), or (N, C, D, H, W) for volumes; or stored "
            "latents, (N, D) float32"
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
    """The same as `find_faults`, in one list, for those who only tell them."""
    found = find_faults(table, known)
    return [*found.notes, *found.wrong]


def find_faults(table: ImageTable, known: Mapping[str, Look] | None = None) -> Findings:
    """What readers should know about the images: constant ones, equal ones, how files were read.

    Every pixel is read, also where pictures have to be decoded for it, unless that was done before.

    Args:
        table: A valid table; where it has looks, these are taken.
        known: Looks at images by id, where they were read before; these are not read again.

    Returns:
        What is wrong, and what is to be known. Nothing is dropped.
    """
    by_id, notes = table.looks if table.looks is not None else (known or {}, ())
    looks = dict(by_id)
    ids = table.ids.tolist()
    rows = np.array([row for row, item in enumerate(ids) if item not in looks], dtype=np.int64)
    found = looks_of(table.images, rows, title=f"reading {table.name}")
    looks.update(zip([ids[row] for row in rows], found, strict=True))
    constant = np.array([looks[item].constant for item in ids], dtype=bool)
    digests = [looks[item].digest for item in ids]
    equal = duplicates(table, digests, np.flatnonzero(~constant).tolist())
    same = _constant_notes(table, constant, by_name=bool(by_id))
    return Findings(equal.wrong, (*notes, *same, *equal.notes, *unlike_windows(table)))


def _constant_notes(
    table: ImageTable, constant: NDArray[np.bool_], *, by_name: bool
) -> Iterator[str]:
    """Images of a single colour: by name where files were looked at one by one, else by number."""
    for split in dict.fromkeys(table.splits.tolist()):
        of_split = np.flatnonzero(table.splits == split)
        found = np.flatnonzero(constant[of_split])  # counted within the split, as its file does
        if not len(found):
            continue
        label = f"{split} images" if split else "images"
        if len(found) == len(of_split):
            yield f"{table.name}: all {len(found)} {label} are constant: the file may be damaged"
            continue
        names = table.ids[of_split[found]] if by_name else found
        listed = ", ".join(map(str, names[:_LISTED].tolist()))
        more = ", ..." if len(found) > _LISTED else ""
        one = label[:-1] if len(found) == 1 else label
        yield f"{table.name}: {len(found)} constant {one}: {listed}{more}"


def list_bad_files(table: ImageTable) -> str:
    """The files that were left out, as a CSV text with the columns ``path`` and ``reason``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(BadFile._fields)
    writer.writerows(map(cell, one) for one in table.bad_files)
    return text.getvalue()


def count_rows(table: ImageTable, splits: NDArray[np.str_] | None = None) -> list[dict[str, Any]]:
    """Rows per split and domain, in all and per class (multi-label: positives per label).

    Args:
        table: A valid table.
        splits: ``(N,)`` split of each row; None: the data set's own.

    Returns:
        One flat record per split and domain, with keys ``split``, ``domain``, ``rows``, ``groups``
        and ``classes`` (name -> count); of items of several images also ``missing``, those that
        lack one.
    """
    records = []
    of_row = table.splits if splits is None else splits
    order = [s for s in (*SPLITS, "") if (of_row == s).any()]
    lacking = np.array([None in of for of in zip(*table.facts_by_column.values(), strict=True)])
    for split in order:
        for domain in np.unique(table.domains[of_row == split]).tolist():
            here = (of_row == split) & (table.domains == domain)
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
                    **({"missing": int(lacking[here].sum())} if len(lacking) else {}),
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
    images = table.images
    read = rows
    if isinstance(images, Bags):
        bags: Bags = images
        read, images = np.concatenate([bags.members(row) for row in rows.tolist()]), bags.latents
    counted = list(each_part(images, read, _sums, title=f"reading {table.name}"))
    count, first, second = np.sum([part.sums for part in counted], axis=0).T
    # Whole numbers are summed as such, so nothing is rounded before the last division.
    scale = 255 if table.images.dtype == np.uint8 else 1
    mean = first / count / scale
    variance = np.maximum(second / count / scale**2 - mean**2, 0)
    return {
        "name": table.name,
        "task": task_of(table),
        "channels": channels,
        "spatial_size": list(table.images.shape[2:]),
        "rows": len(rows),
        "mean": mean.tolist(),
        "std": np.sqrt(variance).tolist(),
        "min": min(part.low for part in counted),
        "max": max(part.high for part in counted),
    }


class _Sums(NamedTuple):
    sums: NDArray[Any]  # (C, 3): number of pixels, their sum, the sum of their squares
    low: float
    high: float


def _sums(block: NDArray[Any]) -> _Sums:
    """What mean and standard deviation of each channel are made of."""
    exact = block.astype(np.int64 if block.dtype == np.uint8 else np.float64)
    flat = exact.swapaxes(0, 1).reshape(block.shape[1], -1)
    sums = [np.full(len(flat), flat.shape[1]), flat.sum(1), np.square(flat).sum(1)]
    return _Sums(np.stack(sums, axis=1), block.min().item(), block.max().item())


def look_at(block: NDArray[np.uint8]) -> list[Look]:
    """A look at each of some images ``(n, ...)``.

    Example:
        >>> one, other = look_at(np.uint8([[[0, 0]], [[0, 1]]]))
        >>> one.constant, other.constant, one.digest == other.digest
        (True, False, False)
    """
    flat = np.ascontiguousarray(block).reshape(len(block), -1)
    constant = (flat == flat[:, :1]).all(1).tolist()
    return list(map(Look, constant, map(digest_of, block)))


def looks_of(images: Images, rows: NDArray[np.int64], *, title: str) -> list[Look]:
    """A look at each of some images, which a pack has kept and others are read for.

    Args:
        images: Where the rows are.
        rows: Their numbers.
        title: What is being done, for those who watch.
    """
    if isinstance(images, Bags):  # each by itself: padding depends on the others
        return [look_at(images[row][None])[0] for row in rows.tolist()]
    if isinstance(images, ProvenImages) and images.looks is not None:
        return [Look(bool(one[0]), one[1:].tobytes()) for one in images.looks()[rows]]
    return list(itertools.chain.from_iterable(each_part(images, rows, look_at, title=title)))


def each_part(
    images: Images,
    rows: NDArray[np.int64],
    work: Callable[[NDArray[np.uint8]], Made],
    *,
    title: str,
) -> Iterator[Made]:
    """``work`` on the pixels ``(n, C, [D,] H, W)`` of part after part of some rows, in order.

    Args:
        images: Where the rows are.
        rows: Their numbers.
        work: Called in threads where pictures have to be decoded, or there is much to work on.
        title: What is being done, for those who watch.
    """
    image_bytes = max(1, int(np.prod(images.shape[1:])))
    threaded = isinstance(images, LazyImages) or len(rows) * image_bytes > _MUCH_BYTES
    step = max(1, (_PIECE_BYTES if threaded else _BLOCK_BYTES) // image_bytes)

    def of(part: range) -> Made:
        return work(images[rows[part.start : part.stop]])

    if threaded:
        yield from in_threads(of, len(rows), step=step, title=title)
        return
    for start in range(0, len(rows), step):
        yield of(range(start, min(start + step, len(rows))))
