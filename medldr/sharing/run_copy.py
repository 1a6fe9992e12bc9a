"""A run folder without names.

Its results have numbered items; of the rest there is what says nothing of people and machines.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medldr.config import RunConfig, dump_config, load_config, run_hash
from medldr.config.section import Section
from medldr.data.hashes import hash_split_ids
from medldr.evaluation.checked import read_results
from medldr.evaluation.predictions.table import read_predictions, write_predictions
from medldr.folders.checksums import checksums_of, result_files
from medldr.folders.evaluation_record import read_evaluation_content, write_evaluation
from medldr.folders.files import RunFolder, read_json, write_json, write_text
from medldr.folders.metrics_log import read_log
from medldr.folders.preprocessing_record import read_preprocessing, write_preprocessing
from medldr.folders.run_record import RunRecord, add_to_run_record
from medldr.sharing.names import Names, column, is_path, renamed
from medldr.types import Predictions

MANIFEST: Final = "manifest.json"
"""What a shared run has in place of the manifest of its splits: the hash of their ids alone."""
KEPT: Final = (
    *("status", "seed", "primary", "protocol", "data_hash", "split_hash", "spec", "precision"),
    *("device", "threads", "processes", "compile", "lr", "batch_size", "sampler", "steps"),
    *("domains_per_batch", "set_size", "augmentation", "epochs", "stopped_early", "selection"),
    *("scored_with", "validation_of", "train_data_hash", "test_data_hash"),
)
"""Keys of `run.json` that are shared as they are; others are left out, or their sentences are."""
SENTENCES: Final = ("notes", "start", "marks")
OF_DATA: Final = ("images", "groups", "reading", "reader")


def read(files: RunFolder, record: RunRecord) -> tuple[RunConfig, Predictions | None]:
    """What names are taken from: the configuration of a run and its predictions.

    Raises:
        InputError: If a file was changed or cannot be read.
    """
    read_results(files, record)  # what is shared has new checksums: they must not hide a change
    table = read_predictions(files.predictions) if files.predictions.is_file() else None
    return load_config(files.config), table


def copy_run(
    files: RunFolder,
    record: RunRecord,
    config: RunConfig,
    parent: Path,
    names: Names,
    *,
    weights: bool,
    seen: bool,
) -> RunFolder:
    """Write the copy of a run that may be shared.

    Args:
        files: The run.
        record: Its `run.json`.
        config: Its configuration.
        parent: The folder that the copy is made in; its own name is noted in `names`.
        names: What stands for each name.
        weights: Whether the reported network goes with it.
        seen: Whether the digests of the images go with it that it was trained and selected on.

    Returns:
        The copy.
    """
    draft = parent / files.path.resolve().name
    shared = without_names(config, draft, names, _manifest_hash(config, record))
    identity = run_hash(shared)
    old, label = files.path.resolve().name, names.label(config.label)
    name = f"{label}-{identity}-s{config.seed}"
    if (parent / name).exists():
        name = f"{name}-{len(names.runs)}"
    names.runs[old] = name
    made = RunFolder(draft.rename(parent / name))
    text = dump_config(shared)
    write_text(made.config, text.replace(str(draft / MANIFEST), MANIFEST))
    if files.predictions.is_file():
        write_predictions(
            made.predictions, numbered_table(read_predictions(files.predictions), names)
        )
    if files.evaluation.is_file():
        write_evaluation(made, _evaluation(files, names))
    if files.metrics.is_file():
        rows = [json.dumps(renamed(row, names.domains)) for row in read_log(files.metrics)[0]]
        write_text(made.metrics, "".join(f"{row}\n" for row in rows))
    if files.preprocessing.is_file():
        write_preprocessing(made.preprocessing, read_preprocessing(files.preprocessing))
    wanted = [*([files.model, files.unlike] if weights else []), *([files.seen] if seen else [])]
    for path in (path for path in wanted if path.is_file()):
        (made.path / path.name).write_bytes(path.read_bytes())
    content = _record(record, names)
    if files.splits.is_file():
        splits = {
            split: [names.items[name] for name in ids] for split, ids in split_ids(files).items()
        }
        content["split_hash"] = hash_split_ids(splits)
        about = {key: content.get(key) for key in ("data_hash", "split_hash")}
        write_json(made.splits, {**about, "splits": splits})
    write_json(made.run, content)
    left_out = sorted(set(result_files(files)) - set(result_files(made)))
    told = [*record.redacted, "names of items and groups", "subgroups", *left_out]
    add_to_run_record(
        made, label=label, hash=identity, copy_of=record.copy_of or record.hash, redacted=told
    )
    add_to_run_record(made, checksums=checksums_of(made))
    return made


def split_ids(files: RunFolder) -> dict[str, list[str]]:
    """The ids of each split of a run; empty where it keeps none."""
    return dict(read_json(files.splits)["splits"]) if files.splits.is_file() else {}


def numbered_table(table: Predictions, names: Names) -> Predictions:
    """Predictions without names; what was known of each item besides is left out."""
    return replace(
        table,
        id=column(names.items, table.id),
        group=column(names.groups, table.group),
        domain=column(names.domains, table.domain),
        columns={},
    )


def without_names(config: RunConfig, folder: Path, names: Names, manifest: str) -> RunConfig:
    """A configuration without paths and ids.

    Args:
        config: The run's.
        folder: Where the copy is made: the hash of the ids of the splits is written to it.
        names: What stands for each name.
        manifest: That hash; empty where the run has no manifest.
    """
    folder.mkdir()
    own: dict[str, Any] = {"root": None, "metadata": None, "card": None, "exclude": ()}
    if manifest:
        write_json(folder / MANIFEST, {"ids_sha256": manifest})
    data = config.data.model_copy(update=own)
    about = config.evaluation.model_copy(update={"subgroups": None, "bands": {}})
    plain = config.model_copy(
        update={"data": data, "evaluation": about, "label": names.label(config.label)}
    )
    clean: RunConfig = _clean(plain, "", names)
    if manifest:
        data = clean.data.model_copy(update={"manifest": folder / MANIFEST})
        clean = clean.model_copy(update={"data": data})
    return clean


def _clean(value: Any, key: str, names: Names) -> Any:
    """A part of a configuration with the name of its key in place of each path."""
    if isinstance(value, Section):
        return value.model_copy(
            update={k: _clean(getattr(value, k), k, names) for k in type(value).model_fields}
        )
    if isinstance(value, dict):
        return {k: _clean(one, k, names) for k, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_clean(one, key, names) for one in value)
    if is_path(value) or (key == "path" and isinstance(value, str) and "/" in value):
        path = Path(value)
        known = names.runs.get(path.name) or names.files.get(path.name)
        kept = known or f"{key}-not-shared"
        return Path(kept) if isinstance(value, Path) else kept
    if isinstance(value, str):
        return names.domains.get(value, value)
    return value


def _manifest_hash(config: RunConfig, record: RunRecord) -> str:
    place = getattr(config.data, "manifest", None)
    if place is None:
        return ""
    return str(read_json(place)["ids_sha256"] if place.is_file() else record.split_hash)


def _evaluation(files: RunFolder, names: Names) -> dict[str, Any]:
    content: dict[str, Any] = renamed(read_evaluation_content(files), names.domains)
    content["notes"] = list(map(names.sentence, content.get("notes", ())))
    for split in content["splits"].values():
        for of in (split, split.get("by_group") or {}):
            if of.get("groups"):
                of["groups"] = renamed(of["groups"], names.groups)
            if of.get("worst_group"):
                of["worst_group"] = renamed(of["worst_group"], names.groups)
    return content


def _record(record: RunRecord, names: Names) -> dict[str, Any]:
    """`run.json` of the copy."""
    content, data = record.content, record.content.get("data") or {}
    made = {key: content[key] for key in KEPT if key in content}
    made |= {key: [names.sentence(text) for text in content.get(key, ())] for key in SENTENCES}
    told = content.get("provenance") or {}
    made["provenance"] = {key: told[key] for key in ("python", "packages", "git") if key in told}
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
