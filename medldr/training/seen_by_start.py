"""Whether the weights that a run starts from have been trained on images that judge the run.

Source:
    Our choice. Images are the same where their content is, which the digests of both tell
    (`medldr.data.seen`). Where they cannot be compared, ids count if all data is the same, by its
    hash: ids of other data sets (``train/0``, ``1``) coincide without meaning the same image. An
    image whose equal is in our own training split too is not counted: that is a fault of the split,
    which has a note of its own, and not of the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.data import Data
from medldr.data.seen import TRAINED, digests_of, kind_of, line_of, read_seen
from medldr.errors import InputError
from medldr.folders.checksums import changes
from medldr.folders.files import RunFolder
from medldr.folders.records import Record, read_record
from medldr.folders.run_record import CURE, RunRecord, read_run_record

Which = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


class _Manifest(Record):
    """What is needed of `splits.json`: ids by split."""

    splits: dict[str, tuple[str, ...]]


def seen_by_start(config: RunConfig, data: Data, folder: RunFolder) -> dict[str, Any]:
    """What `run.json` says of the images that a run's first weights have seen.

    Args:
        config: The run.
        data: Its images, split.
        folder: Its files; a run that goes on was checked when it started.

    Returns:
        ``start``, what readers should know of it, and ``marks``, what stands beside every number;
        nothing for a run that goes on.

    Raises:
        InputError: If images that the weights were trained on are in a split that selects or
            judges, and `training.allow_seen` is false; or if a record is damaged.
    """
    named = {
        "training.init_from": config.training.init_from,
        "model.weights": getattr(config.model, "weights", None),
    }
    starts = {key: start for key, start in named.items() if start is not None}
    if folder.has_state or not starts:
        return {}
    notes: list[str] = []
    marks: list[str] = []
    for key, start in starts.items():
        try:
            for one in line_of(Path(start)):
                _look(one, data, key, notes, marks)
        except InputError as error:
            raise InputError(f"{key}: {error}") from error
    if marks and not config.training.allow_seen:
        raise InputError(
            f"{' '.join(marks)} Its numbers would be too good. Start from a run that held these "
            "images out too (training.init_from, model.weights), or set training.allow_seen: true, "
            "which marks every number of the run"
        )
    return {"start": notes, "marks": marks}


def _look(one: RunFolder | Path, data: Data, key: str, notes: list[str], marks: list[str]) -> None:
    """Add what is to be said of one run, or of weights that belong to none."""
    if isinstance(one, Path):
        notes.append(f"{key}: what {one.name} was trained on is not known")
        return
    name = one.path.resolve().name
    trained_on = _trained_on(one, data)
    if isinstance(trained_on, str):
        notes.append(f"{key}: images were not compared with those of {name}, {trained_on}")
        return
    counts = ", ".join(_counts(trained_on, data))
    if counts:
        marks.append(f"{counts} were trained on by {name}, from which the run started ({key}).")


def _counts(trained_on: Which, data: Data) -> Iterator[str]:
    for split, rows in data.rows.items():
        known = 0 if split in TRAINED else int(trained_on(rows).sum())
        if known:
            yield f"{known:,} of {len(rows):,} {split} images"


def _trained_on(files: RunFolder, data: Data) -> Which | str:
    """Tells which rows a run was trained on; or why that cannot be told, in words."""
    record = read_run_record(files)
    _refuse_changed(files, record)
    ids, seen = data.table.ids, read_seen(files, record)
    if seen is not None and seen.kind == kind_of(data.table):
        own = set(digests_of(data.table, data.rows["train"]))

        def by_content(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
            digests = [one if one not in own else None for one in digests_of(data.table, rows)]
            return np.array(seen.has(digests, TRAINED), dtype=bool)

        return by_content
    splits = read_record(files.splits, _Manifest, CURE).splits
    if record.data_hash == data.data_hash:
        trained = [name for split in TRAINED for name in splits.get(split, ())]
        return lambda rows: np.isin(ids[rows], trained)
    return "which has other data and keeps no digests of its images that can be compared"


def _refuse_changed(files: RunFolder, record: RunRecord) -> None:
    names = (files.run.name, files.splits.name, files.model.name)
    for name, what in changes(files, record.content, names):
        raise InputError(f"{files.path / name} {what}. {CURE}")
