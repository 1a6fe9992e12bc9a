"""Whether the weights that a run starts from have been trained on images that judge the run.

Source:
    Our choice. Images are the same where their content is, which the digests of both tell
    (`medldr.data.seen`). Where they cannot be compared, ids count if all data is the same, by its
    hash: ids of other data sets (``train/0``, ``1``) coincide without meaning the same image. An
    image whose equal is in our own training split too is not counted: that is a fault of the split,
    which has a note of its own, and not of the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medldr.config import RunConfig
from medldr.data import Data
from medldr.data.seen import TRAINED, SeenImages, digests_of, line_of, seen_by
from medldr.errors import InputError
from medldr.folders.checksums import changes
from medldr.folders.files import RunFolder
from medldr.folders.run_record import CURE, read_run_record


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
        "model.pretrained": getattr(config.model, "pretrained", None),
    }
    starts = {key: start for key, start in named.items() if isinstance(start, Path)}
    if folder.has_state or not starts:
        return {}
    notes: list[str] = []
    marks: list[str] = []
    for key, start in starts.items():
        try:
            _refuse_changed(Path(start))
            found, lacking = seen_by(Path(start), data.table, data.data_hash)
        except InputError as error:
            raise InputError(f"{key}: {error}") from error
        notes += [f"{key}: {text}" for text in lacking]
        marks += [
            f"{counts} were trained on by {one.run}, from which the run started ({key})."
            for one in found
            if (counts := ", ".join(_counts(one, data)))
        ]
    if marks and not config.training.allow_seen:
        raise InputError(
            f"{' '.join(marks)} Its numbers would be too good. Start from a run that held these "
            "images out too (training.init_from, model.weights), or set training.allow_seen: true, "
            "which marks every number of the run"
        )
    return {"start": notes, "marks": marks}


def _counts(seen: SeenImages, data: Data) -> Iterator[str]:
    """How many images of each split a run was trained on that ours is not trained on."""
    own = set(digests_of(data.table, data.rows["train"], seen.kind))
    for split, rows in data.rows.items():
        held = [None if of in own else of for of in digests_of(data.table, rows, seen.kind)]
        if known := sum(seen.has(held, TRAINED)):
            yield f"{known:,} of {len(rows):,} {split} images"


def _refuse_changed(start: Path) -> None:
    for files in (one for one in line_of(start) if isinstance(one, RunFolder)):
        names = (files.run.name, files.splits.name, files.model.name)
        for name, what in changes(files, read_run_record(files).content, names):
            raise InputError(f"{files.path / name} {what}. {CURE}")
