"""Camelyon17-WILDS: tumor in patches of lymph nodes; five hospitals, two of them never trained on.

455,954 patches of 96 x 96 pixels from 50 slides of 5 hospitals. Three hospitals train and give
``id_val``, one (``val``) selects, one (``test``) is read once. A patch is *tumor* if its central
32 x 32 pixels hold any. Domains are hospitals, groups are slides.

Patches are read on demand. Before that, each is decoded once, which takes minutes and is
remembered; any that is absent, damaged or of another size is an error, or is left out and listed
(`data.on_bad_file`).

Source:
    Bandi et al., "From Detection of Individual Metastases to Classification of Lymph Node Status
    at the Patient Level", IEEE TMI 2019 (CC0), as patches of Koh et al., "WILDS", ICML 2021.
    Labels, splits, hospitals and slides come from the `wilds` package's own loader.
    Our choice: an id is the name of the patch's file; a slide has no name of the patient in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from medldr.data.files.scan import ABSENT
from medldr.data.image_table import Looks
from medldr.data.reading.pictures import PictureFiles, looks_of, unusable
from medldr.datasets._camelyon17 import published
from medldr.datasets._camelyon17.folder import NAME, PATCHES, find, locate, require_folder
from medldr.datasets._camelyon17.metadata import read_rows
from medldr.datasets._camelyon17.published import notes_of, require_hospitals
from medldr.datasets._camelyon17.wilds import require_wilds
from medldr.datasets.base import BadFile, DatasetConfig, ImageTable, Seen
from medldr.errors import InputError
from medldr.folders.files import checksum
from medldr.types import Predictions

__all__ = ["Config", "examine", "load", "load_again", "present", "require", "submission"]

_LISTED: Final = 5
_SCORED: Final = ("id_val", "val", "test")
"""The splits that WILDS scores."""


class Config(DatasetConfig):
    """Keys of the dataset ``camelyon17``."""

    name: Literal["camelyon17"] = "camelyon17"
    split_scheme: Literal["official", "mixed-to-test"] = Field(
        "official",
        description="WILDS scheme; mixed-to-test trains on slide 23 of the test hospital",
    )
    on_bad_file: Literal["error", "skip"] = Field(
        "error",
        description="missing or broken patches: error stops; skip leaves them out and lists them",
    )

    @field_validator("root")
    @classmethod
    def _holds_the_folder(cls, value: Path | None) -> Path | None:
        # Either may be given; a pack is found by one of them.
        return value.parent if value is not None and value.name == NAME else value


def load(config: Config) -> ImageTable:
    """Read labels, splits, hospitals and slides; the patches are only looked at.

    Raises:
        InputError: If the folder is absent or in another layout, metadata.csv is broken, a patch
            is absent or broken and may not be left out, or a split lacks a hospital of its own.
    """
    folder, rows, pictures = _listed(config)
    examined = pictures.examined(title="checking patches")
    bad = unusable(rows["path"].tolist(), examined)
    table = _table(config, folder, rows, pictures, bad)
    good = [one for one in examined if not one.reason]
    return replace(table, looks=Looks(looks_of(table.ids.tolist(), good)))


def load_again(config: Config, bad_files: tuple[BadFile, ...]) -> ImageTable:
    """What `load` returns, where a pack already recorded which patches cannot be used.

    Raises:
        InputError: As `load`; but only `LazyImages.stamp` shows whether a patch was replaced.
    """
    return _table(config, *_listed(config), bad_files)


def _listed(config: Config) -> tuple[Path, pd.DataFrame, PictureFiles]:
    require_wilds()
    folder = locate(config.root, download=config.download)
    rows = read_rows(folder, config.split_scheme)
    return folder, rows, PictureFiles(folder, rows["path"].tolist(), published.SIZE)


def _table(
    config: Config,
    folder: Path,
    rows: pd.DataFrame,
    pictures: PictureFiles,
    bad: tuple[BadFile, ...],
) -> ImageTable:
    if bad:
        _refuse_bad(folder, bad, len(pictures), skip=config.on_bad_file == "skip")
        kept = np.flatnonzero(~rows["path"].isin([file.path for file in bad]))
        rows, pictures = rows.iloc[kept], pictures.take(kept)
    require_hospitals(folder, rows, config.split_scheme)
    official = config.split_scheme == "official"
    return ImageTable(
        name="camelyon17" if official else "camelyon17_mixed_to_test",
        task="binary",
        class_names=published.CLASS_NAMES,
        images=pictures,
        labels=rows["label"].to_numpy(),
        ids=rows["id"].to_numpy(np.str_),
        splits=rows["split"].to_numpy(np.str_),
        domains=rows["hospital"].map(published.domain).to_numpy(np.str_),
        groups=rows["slide"].map(published.group).to_numpy(np.str_),
        notes=notes_of(rows, bad, official=official),
        hashes={
            "metadata.csv": checksum(folder / "metadata.csv", "sha256"),
            "patches": pictures.digest(),
        },
        shared_groups=(("train", "id_val"),),
        bad_files=bad,
        reading=pictures.reading,
    )


def present(config: Config) -> str:
    """Where the folder is on this machine, or that it is absent; no patch is checked."""
    folder = find(config.root)
    return "missing (camelyon17_v1.0)" if folder is None else f"in {folder}"


def require(config: Config) -> None:
    """Check that the folder exists or may be downloaded; nothing in it is read.

    Raises:
        InputError: Naming the folder, where it was looked for and how to get it.
    """
    require_wilds()
    require_folder(config.root, download=config.download)


def examine(config: Config, seen: Seen) -> dict[str, Any]:
    """Compare a folder with what was published; every patch is decoded.

    Counts are of the official scheme whatever `split_scheme` is, as only its are published.

    Args:
        config: Where it is.
        seen: Called with the id and the pixels ``(3, H, W)`` of each patch that is whole.

    Returns:
        ``folder``; ``counts``, one record per split and domain with ``found`` (usable patches) and
        ``published``; ``missing`` and ``extra``, lists of paths; ``unreadable``, a list of
        (path, reason).

    Raises:
        InputError: If there is no such folder, it is in another layout, or metadata.csv is broken.
    """
    require_wilds()
    folder = locate(config.root, download=False)
    rows = read_rows(folder, "official")
    pictures = PictureFiles(folder, rows["path"].tolist(), published.SIZE)
    ids = rows["id"].tolist()
    examined = pictures.examined(
        seen=lambda row, pixels: seen(ids[row], pixels), title="decoding the patches"
    )
    bad = unusable(rows["path"].tolist(), examined)
    good = rows[~rows["path"].isin([file.path for file in bad])]
    counts = (
        dict.fromkeys(published.COUNTS, 0) | good.groupby(["split", "hospital"]).size().to_dict()
    )
    return {
        "folder": str(folder),
        "counts": [
            {
                "split": split,
                "domain": published.domain(hospital),
                "found": count,
                "published": published.COUNTS.get((split, hospital), 0),
            }
            for (split, hospital), count in counts.items()
        ],
        "missing": [file.path for file in bad if file.reason == ABSENT],
        "unreadable": [tuple(file) for file in bad if file.reason != ABSENT],
        "extra": _extra(folder, set(rows["path"])),
    }


def _extra(folder: Path, known: set[str]) -> list[str]:
    extra = []
    for parent, _, files in os.walk(folder / PATCHES):
        below = Path(parent).relative_to(folder).as_posix()
        extra += [f"{below}/{name}" for name in files if f"{below}/{name}" not in known]
    return sorted(extra)


def _refuse_bad(folder: Path, bad: tuple[BadFile, ...], total: int, *, skip: bool) -> None:
    absent = [file.path for file in bad if file.reason == ABSENT]
    broken = [f"{file.path} ({file.reason})" for file in bad if file.reason != ABSENT]
    if skip and len(bad) < total:
        return
    faults = [
        f"{len(files)} of the {total} patches listed in metadata.csv {what}, "
        f"for example {', '.join(files[:_LISTED])}"
        for files, what in ((absent, "are missing"), (broken, "cannot be used"))
        if files
    ]
    cure = "Extract the archive again, metadata.csv included"
    if not skip:
        cure += ", or leave them out with data.on_bad_file=skip"
    raise InputError(
        f"{folder}: {'; '.join(faults)}. {cure}. `medldr data check camelyon17 {folder}` lists them"
    )


def submission(config: Any, predictions: Mapping[str, Predictions], seed: int) -> dict[str, str]:
    r"""The prediction files that WILDS scores, by name, for the splits that were predicted.

    One label per line, in the order of the data set's own table. The name holds split and seed, the
    epoch is literally ``epoch:best``. An entry of the benchmark has ten seeds, 0 to 9.

    Args:
        config: The dataset's section; its split scheme must be the official one.
        predictions: One table per split, rows in the order of the dataset.
        seed: The run's seed.

    Source:
        WILDS, `examples/evaluate.py` and its submission guidelines.

    Raises:
        InputError: If the splits are not those that WILDS scores.

    Example:
        >>> from types import SimpleNamespace
        >>> from medldr.evaluation import predictions_of
        >>> table = predictions_of("binary", [0, 0], [[0.5, 0.5], [0.4, 0.6]])
        >>> submission(SimpleNamespace(split_scheme="official"), {"test": table}, 3)
        {'camelyon17_split:test_seed:3_epoch:best_pred.csv': '0\n1\n'}
    """
    scheme = getattr(config, "split_scheme", "official")
    if scheme != "official":
        raise InputError(f"WILDS scores the official splits, and data.split_scheme is {scheme}")
    return {
        f"camelyon17_split:{split}_seed:{seed}_epoch:best_pred.csv": _lines(predictions[split])
        for split in _SCORED
        if split in predictions
    }


def _lines(table: Predictions) -> str:
    # Equal logits are class 0, as in an argmax.
    return "".join(f"{int(tumour > 0.5)}\n" for tumour in table.prob[:, 1])
