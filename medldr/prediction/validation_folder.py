"""The folder that leaves a site: a run's, without weights, pictures, paths and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.config.identity import dump_config, run_hash
from medldr.data.hashes import hash_split_ids
from medldr.datasets import table as table_plugin
from medldr.evaluation import recalibration
from medldr.evaluation.from_predictions import evaluate
from medldr.evaluation.predictions.table import join, write_predictions
from medldr.folders import provenance
from medldr.folders.checksums import checksums_of
from medldr.folders.evaluation_record import write_evaluation
from medldr.folders.files import RunFolder, write_json, write_text
from medldr.folders.preprocessing_record import write_preprocessing
from medldr.folders.run_record import RunRecord, add_to_run_record, read_run_record
from medldr.prediction.trained import Trained
from medldr.types import Predictions

REDACTED: Final = (
    "items are numbered in the order of the table",
    "patients are numbered by split",
    "weights, pictures, paths and the log of training are left out",
)


def numbered(groups: NDArray[np.str_]) -> NDArray[np.str_]:
    """Numbers in place of names, in the order of the names; none in place of none.

    The order stays, so that resampling draws the same groups.

    Example:
        >>> numbered(np.array(["p9", "", "anna", "p9"])).tolist()
        ['group 2', '', 'group 1', 'group 2']
    """
    names = sorted(set(groups.tolist()) - {""})
    width = len(str(len(names)))
    number = {name: f"group {place:0{width}}" for place, name in enumerate(names, start=1)}
    return np.array([number.get(name, "") for name in groups.tolist()], dtype=np.str_)


def write_validation(
    made: RunFolder,
    trained: Trained,
    files: RunFolder,
    tables: Mapping[str, Predictions],
    site: str,
    data_hash: str,
    notes: Sequence[str],
    marks: Sequence[str],
) -> None:
    """Score the site and write the folder.

    Args:
        made: The folder to write; it exists and is empty.
        trained: The run.
        files: Its files.
        tables: Its validation split, and the site's as ``test``.
        site: What the site is called.
        data_hash: Of the site's images.
        notes: What was noticed in the site's table, without names of files or patients.
        marks: What stands beside every number.
    """
    record = read_run_record(files)
    config = _without_paths(trained.config, site, trained)
    content = _evaluated(config, record, tables, notes)
    write_text(made.config, dump_config(config))
    splits = {split: table.id.tolist() for split, table in tables.items()}
    hashes = {"data_hash": data_hash, "split_hash": hash_split_ids(splits)}
    write_json(
        made.splits, {"dataset": site, **hashes, "splits": splits, "parts": {}, "left_out": []}
    )
    write_predictions(made.predictions, join(list(tables.values())))
    write_preprocessing(made.preprocessing, trained.record)
    now = provenance.now()
    add_to_run_record(
        made,
        status="done",
        label=record.label,
        seed=record.seed,
        hash=run_hash(config),
        times={"started": now, "starts": 1, "latest_start": now, "seconds": 0.0, "finished": now},
        provenance={"command": ["medldr", "validate"], "packages": provenance.versions()},
        data={
            "name": site,
            "notes": content["notes"],
            "images": {split: len(table) for split, table in tables.items()},
            "groups": {
                split: len(set(table.group.tolist()) - {""}) for split, table in tables.items()
            },
        },
        **hashes,
        redacted=REDACTED,
        marks=list(marks),
        spec=None if record.spec is None else asdict(record.spec),
        validation_of={
            "hash": record.hash,
            "seed": record.seed,
            "weights": (record.checksums or {}).get(files.model.name),
        },
        scored_with=dict(provenance.scoring()),
        **_training(record),
    )
    write_evaluation(made, content)
    add_to_run_record(made, checksums=checksums_of(made))


def _evaluated(
    config: RunConfig, record: RunRecord, tables: Mapping[str, Predictions], notes: Sequence[str]
) -> dict[str, Any]:
    """The content of `evaluation.json`."""
    settings = config.evaluation.model_copy(update={"splits": tuple(tables)})
    what = f"external validation of {record.label} (seed {record.seed}) on scans of another site"
    made = record.recalibration.get(record.selection.rule) if record.selection else None
    how = None
    if made is not None:
        back = 1 / (made.temperature or 1.0)
        raw = {split: recalibration.tempered(table, back) for split, table in tables.items()}
        how = recalibration.written(made, raw, settings)
    return evaluate(
        tables,
        settings,
        selection=None if record.selection is None else record.selection.written(),
        seen=() if record.spec is None else record.spec.train_domains,
        notes=[what, *notes],
        recalibrated=how,
        trained_on=None if record.spec is None else record.spec.class_counts,
    )


def _training(record: RunRecord) -> dict[str, Any]:
    """How the run was trained, for the tables that show it."""
    keys = (
        *("precision", "device", "threads", "batch_size", "sampler", "augmentation", "steps"),
        *("epochs", "stopped_early"),
    )
    facts = {key: getattr(record, key) for key in keys}
    if record.selection is not None:
        facts["selection"] = record.selection.written()
        facts["selections"] = {record.selection.rule: record.selection.written()}
        facts["recalibration"] = {r: one.model_dump() for r, one in record.recalibration.items()}
    return facts


def _without_paths(config: RunConfig, site: str, trained: Trained) -> RunConfig:
    """The run's configuration; in place of its data the site's, without a path."""
    changed: dict[str, Any] = {
        "data": table_plugin.Config(
            set=site, file=Path("site.csv"), classes=trained.record.class_names
        ),
        "model": config.model.model_copy(update={"weights": None}),
        "evaluation": config.evaluation.model_copy(update={"subgroups": None, "bands": {}}),
        "training": config.training.model_copy(update={"init_from": None}),
    }
    return config.model_copy(update={**changed, "protocol": "", "pinned": {}})
