"""A run folder without names.

Its results have numbered items; of the rest there is what says nothing of people and machines.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from medldr.config import RunConfig, dump_config, run_hash
from medldr.config.section import Section
from medldr.data.hashes import hash_split_ids
from medldr.evaluation.predictions.table import read_predictions, write_predictions
from medldr.folders.checksums import checksums_of, result_files
from medldr.folders.evaluation_record import read_evaluation_content, write_evaluation
from medldr.folders.files import RunFolder, read_json, write_json, write_text
from medldr.folders.metrics_log import read_log
from medldr.folders.preprocessing_record import read_preprocessing, write_preprocessing
from medldr.folders.run_record import RunRecord, add_to_run_record
from medldr.sharing.names import Names, is_path, renamed

MANIFEST: Final = "manifest.json"
"""What a shared run has in place of the manifest of its splits: the hash of their ids alone."""
KEPT: Final = (
    *("status", "seed", "primary", "protocol", "data_hash", "split_hash", "spec", "precision"),
    *("device", "threads", "processes", "compile", "lr", "batch_size", "sampler", "steps"),
    *("domains_per_batch", "set_size", "augmentation", "epochs", "stopped_early", "selection"),
    *("scored_with", "validation_of", "train_data_hash", "test_data_hash"),
)
"""Keys of `run.json` that are shared as they are; others are left out, or their sentences are."""
GONE: Final[dict[str, Any]] = {
    **dict.fromkeys(("root", "sheet", "metadata", "card", "subgroups")), "exclude": (), "bands": {},
}  # fmt: skip
"""Keys of a configuration that have no value in a copy."""
SENTENCES: Final = ("notes", "start", "marks")
OF_DATA: Final = ("images", "groups", "reading", "reader")


def copy_run(
    files: RunFolder,
    record: RunRecord,
    config: RunConfig,
    parent: Path,
    names: Names,
    further: Collection[str],
) -> RunFolder:
    """Write the copy of a run that may be shared.

    Args:
        files: The run.
        record: Its `run.json`.
        config: Its configuration.
        parent: The folder that the copy is made in; its own name is noted in `names`.
        names: What stands for each name.
        further: Names of files that go with it as they are.

    Returns:
        The copy.
    """
    old, label = files.path.resolve().name, names.label(config.label)
    draft = parent / old
    write_json(draft / MANIFEST, {"ids_sha256": record.split_hash})  # the hash reads it
    shared = without_names(config, draft / MANIFEST, names)
    identity = run_hash(shared)
    name = f"{label}-{identity}-s{config.seed}"
    if (parent / name).exists():
        name = f"{name}-{len(names.runs)}"
    names.runs[old] = name
    made = RunFolder(draft.rename(parent / name))
    text = dump_config(shared).replace(str(draft / MANIFEST), MANIFEST)
    write_text(made.config, text)
    if MANIFEST not in text:
        (made.path / MANIFEST).unlink()
    if files.predictions.is_file():
        table = read_predictions(files.predictions)
        known = {"id": names.items, "group": names.groups, "domain": names.domains}
        texts: dict[str, Any] = {
            key: np.array([of.get(text, text) for text in getattr(table, key).tolist()], np.str_)
            for key, of in known.items()
        }
        write_predictions(made.predictions, replace(table, **texts, columns={}))
    if files.evaluation.is_file():
        write_evaluation(made, _evaluation(files, names))
    if files.metrics.is_file():
        rows = [json.dumps(renamed(row, names.domains)) for row in read_log(files.metrics)[0]]
        write_text(made.metrics, "".join(f"{row}\n" for row in rows))
    if files.preprocessing.is_file():
        write_preprocessing(made.preprocessing, read_preprocessing(files.preprocessing))
    for path in (files.path / one for one in further if (files.path / one).is_file()):
        (made.path / path.name).write_bytes(path.read_bytes())
    content = _record(record, names)
    if files.splits.is_file():
        splits, groups = (
            {
                split: [new[name] for name in names_of]
                for split, names_of in split_ids(files, of).items()
            }
            for of, new in (("splits", names.items), ("groups", {"": "", **names.groups}))
        )
        content["split_hash"] = hash_split_ids(splits)
        about = {key: content.get(key) for key in ("data_hash", "split_hash")}
        write_json(
            made.splits, {**about, "splits": splits, **({"groups": groups} if groups else {})}
        )
    write_json(made.run, content)
    left_out = sorted(set(result_files(files)) - set(result_files(made)))
    redacted = [*record.redacted, "names of items and groups", "subgroups", *left_out]
    add_to_run_record(
        made, label=label, hash=identity, copy_of=record.copy_of or record.hash, redacted=redacted
    )
    add_to_run_record(made, checksums=checksums_of(made))
    return made


def split_ids(files: RunFolder, of: str = "splits") -> dict[str, list[str]]:
    """The ids of each split of a run, or the ``groups`` of these; empty where it keeps none."""
    return dict(read_json(files.splits).get(of, {})) if files.splits.is_file() else {}


def without_names(config: RunConfig, manifest: Path, names: Names) -> RunConfig:
    """A configuration without paths and ids, whose splits are those of another manifest."""

    def clean(value: Any, key: str) -> Any:
        if key in GONE:
            return GONE[key]
        if isinstance(value, Section):
            keys = type(value).model_fields
            return value.model_copy(update={k: clean(getattr(value, k), k) for k in keys})
        if isinstance(value, dict):
            return {k: clean(one, k) for k, one in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(clean(one, key) for one in value)
        if is_path(value) or (key == "path" and isinstance(value, str) and "/" in value):
            name = Path(value).name
            kept = names.runs.get(name) or names.files.get(name) or f"{key}-not-shared"
            if isinstance(value, str):
                return kept
            return manifest if key == "manifest" else Path(kept)
        return names.domains.get(value, value) if isinstance(value, str) else value

    made: RunConfig = clean(config, "")
    return made.model_copy(update={"label": names.label(config.label)})


def _evaluation(files: RunFolder, names: Names) -> dict[str, Any]:
    content: dict[str, Any] = renamed(read_evaluation_content(files), names.domains)
    content["notes"] = list(map(names.sentence, content.get("notes", ())))
    for split in content["splits"].values():
        for of in (split, split.get("by_group") or {}):
            for key in {"groups", "worst_group"} & {key for key in of if of[key]}:
                of[key] = renamed(of[key], names.groups)
    return content


def _record(record: RunRecord, names: Names) -> dict[str, Any]:
    """`run.json` of the copy."""
    content, data = record.content, record.content.get("data") or {}
    made = {key: content[key] for key in KEPT if key in content}
    made |= {key: [names.sentence(text) for text in content.get(key, ())] for key in SENTENCES}
    origin = content.get("provenance") or {}
    made["provenance"] = {
        key: origin[key] for key in ("python", "packages", "git") if key in origin
    }
    made["stages"] = [{"name": stage["name"]} for stage in content.get("stages", ())]
    made["times"] = {"starts": record.times.starts, "seconds": record.times.seconds}
    rule = record.selection.rule if record.selection is not None else None
    for key in ("selections", "recalibration"):
        made[key] = {k: v for k, v in (content.get(key) or {}).items() if k == rule}
    name = str(data.get("name"))
    made["data"] = {
        "name": names.data.get(name, name),
        "notes": [names.sentence(text) for text in data.get("notes", ())],
        **{key: data[key] for key in OF_DATA if key in data},
    }
    named: dict[str, Any] = renamed(made, names.domains)
    return named
