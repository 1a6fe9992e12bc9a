"""Whether the records of a run fit each other: each says again what another one has said.

A checksum shows that a file is as it was. What is here shows more: who changes a file and its
checksum must also change every other file that tells of the same thing. The configuration, the
splits, the log, the choice of weights and the predictions are followed from one to the next. No
data is read, and nothing that a folder names is imported.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from medldr.config import load_config
from medldr.config.sections import section
from medldr.config.training_options import SWAD
from medldr.config.yaml import read_yaml
from medldr.data.hashes import PARTS, hash_part, hash_split_ids, hash_texts
from medldr.errors import InputError, some
from medldr.evaluation.agreement import equal
from medldr.evaluation.checked import unlike_config
from medldr.evaluation.predictions.table import by_split
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.files import RunFolder, read_json
from medldr.folders.metrics_log import LogRow, last_stage, read_log
from medldr.folders.preprocessing_record import read_preprocessing
from medldr.folders.run_record import RunRecord, Selection
from medldr.metrics import METRICS
from medldr.plugins import allowed
from medldr.types import Predictions

CLOSE: Final = 0.01
"""How far a metric of the validation rows may be from the one that chose the weights: they may have
been scored again on another device. One row more or less may always be called otherwise."""
_HASHED: Final = dict(zip(PARTS, ("train", "test"), strict=True))
_RULE: Final = re.compile(r"(id_val|val|oracle_out|oracle)_(\w+)")


def broken_links(
    files: RunFolder, record: RunRecord, evaluation: EvaluationRecord, predictions: Predictions
) -> Iterator[str]:
    """What the records of a run say differently, in words.

    Args:
        files: The run folder.
        record: Its `run.json`.
        evaluation: Its `evaluation.json`.
        predictions: Its `predictions.csv`.
    """
    yield from _configuration(files, record)
    tables = by_split(predictions)
    yield from _splits(files, record)
    yield from _said_twice(files, record, evaluation)
    if set(evaluation.splits) != set(tables):
        yield (
            f"evaluation.json scores {', '.join(evaluation.splits)}, but predictions.csv holds "
            f"{', '.join(tables)}"
        )
    if not record.validation_of:  # there, no log is, and the groups of each split have numbers
        yield from _groups(files, record, tables)
        yield from _choices(files, record, evaluation)


def not_followed(files: RunFolder) -> str:
    """Why the hash of a configuration cannot be checked here, in words; empty where it can."""
    values = read_yaml(files.config).values if files.config.is_file() else {}
    manifest = section(values, "data").get("manifest")
    if _outside(values):
        return "config.yaml names other packages, which are not allowed, so its hash is unchecked"
    if manifest is not None and not (files.path / str(manifest)).is_file():
        return "config.yaml names a manifest of splits that is not here, so its hash is unchecked"
    return ""


def _outside(value: Any) -> bool:
    """Whether a section names a module of another package that may not be imported."""
    if not isinstance(value, Mapping):
        return False
    named = value.get("name")
    package, dot, _ = named.partition(".") if isinstance(named, str) else ("", "", "")
    return bool(dot and package not in allowed()) or any(map(_outside, value.values()))


def _configuration(files: RunFolder, record: RunRecord) -> Iterator[str]:
    if not files.config.is_file():
        yield "config.yaml is missing"
    elif not not_followed(files):
        try:
            config = load_config(files.config)
            wrong = unlike_config(config, record)
            if (config.protocol or None) != (record.protocol or None):
                wrong.append(f"protocol is {config.protocol}, that of the run {record.protocol}")
            lr = config.training.lr * getattr(config.algorithm, "lr_scale", 1.0)
            if record.lr is not None and not equal(record.lr, lr):
                wrong.append(f"the learning rate is {lr:g}, that of the run {record.lr:g}")
        except InputError as error:
            wrong = [str(error)]
        yield from (f"config.yaml: {text}" for text in wrong)


def _splits(files: RunFolder, record: RunRecord) -> Iterator[str]:
    """Splits that are not those of the run, or overlap."""
    if not files.splits.is_file():
        yield "splits.json is missing, so its items cannot be compared with predictions.csv"
        return
    content = read_json(files.splits)
    splits: dict[str, list[str]] = content["splits"]
    for key, made in (
        ("split_hash", hash_split_ids(splits)),
        ("split_hash", content["split_hash"]),
        ("data_hash", content["data_hash"]),
    ):
        if made != getattr(record, key):
            yield f"splits.json: {key} is not that of run.json"
    places = Counter(itertools.chain(*(set(ids) for ids in splits.values())))
    if twice := [item for item, count in places.items() if count > 1]:
        yield f"splits.json: {_items(twice)} in more than one split"


def _said_twice(files: RunFolder, record: RunRecord, evaluation: EvaluationRecord) -> Iterator[str]:
    """Facts of `run.json` that follow from other records, and are not what these say."""
    splits = read_json(files.splits)["splits"] if files.splits.is_file() else None
    pairs: dict[str, tuple[Any, Any]] = {}
    if splits is not None:
        pairs["data.images"] = record.data.images, {name: len(of) for name, of in splits.items()}
    for part, names in PARTS.items():
        columns, name = record.data.parts.get(part), f"{_HASHED[part]}_data_hash"
        if columns is None:
            continue
        pairs[name] = getattr(record, name), hash_part(columns)
        if splits is not None and not record.redacted:  # there, items have numbers
            items = (f"{of}/{item}" for of in names for item in splits.get(of, ()))
            pairs[f"data.parts.{part}.items"] = columns.get("items"), hash_texts(items)
    if record.spec is not None and evaluation.class_names:
        pairs["spec.class_names"] = record.spec.class_names, tuple(evaluation.class_names)
    for name, row in (("steps", "step"), ("epochs", "epoch")):
        if logged := [each[row] for each in read_log(files.metrics)[0] if each.get(row)]:
            pairs[name] = getattr(record, name), max(logged)
    for name, (said, made) in pairs.items():
        if said != made:
            yield f"run.json: {name} does not follow from the other records"
    yield from _preprocessing(files, record, evaluation)


def _preprocessing(
    files: RunFolder, record: RunRecord, evaluation: EvaluationRecord
) -> Iterator[str]:
    """What answers are made of in prediction, where it is not what was scored."""
    if not files.preprocessing.is_file():
        return
    inputs = read_preprocessing(files.preprocessing)
    made = record.recalibration.get(record.selection.rule) if record.selection else None
    point = evaluation.operating_point
    pairs = {
        "task": (inputs.task, evaluation.task),
        "class_names": (inputs.class_names, tuple(evaluation.class_names)),
        "positive_class": (inputs.positive_class, evaluation.positive_class),
        "temperature": (inputs.temperature, None if made is None else made.temperature),
        "threshold": (inputs.threshold, None if point is None else point.threshold),
    }
    for name, (said, scored) in pairs.items():
        if not equal(said, scored):
            yield f"preprocessing.json: {name} is {said}, but the run was scored with {scored}"


def unscored(files: RunFolder, predictions: Predictions) -> Iterator[str]:
    """Items of `splits.json` that were not scored, and others that were, for any rule."""
    if not files.splits.is_file():
        return
    splits, tables = read_json(files.splits)["splits"], by_split(predictions)
    asked = section(read_yaml(files.config).values, "evaluation").get("splits") or ()
    for split in dict.fromkeys((*tables, *(s for s in asked if splits.get(s)))):
        ids = Counter(tables[split].id.tolist() if split in tables else ())
        listed = Counter(splits.get(split, ()))
        for side, other, where in ((listed, ids, "splits.json"), (ids, listed, "predictions.csv")):
            if alone := list((side - other).elements()):
                yield f"{_items(alone)} of {split} in {where} alone"


def _groups(
    files: RunFolder, record: RunRecord, tables: Mapping[str, Predictions]
) -> Iterator[str]:
    """Groups in two splits, scored or not, and those that another record gives to other items."""
    content = read_json(files.splits) if files.splits.is_file() else {}
    ids, listed = content.get("splits", {}), content.get("groups", {})
    of = {split: dict(zip(ids[split], groups, strict=False)) for split, groups in listed.items()}
    where = "splits.json" if of else "predictions.csv"
    for split, table in tables.items():
        scored = dict(zip(table.id.tolist(), table.group.tolist(), strict=True))
        if any(known != scored.get(item, known) for item, known in of.get(split, {}).items()):
            yield f"splits.json: groups of {split} are not those of predictions.csv"
        of.setdefault(split, scored)
    for part, columns in ((record.content.get("data") or {}).get("parts") or {}).items():
        groups = itertools.chain(*(listed[split] for split in PARTS[part] if split in listed))
        if listed and columns["groups"] != hash_texts(groups):
            yield f"splits.json: groups of the {part} splits are not those of run.json"
    names = {split: {n.strip().casefold() for n in of[split].values()} - {""} for split in of}
    for one, other in itertools.combinations(names, 2):
        pair = {one, other}
        if len({split.removeprefix("id_") for split in pair}) == 1 or pair == {"train", "id_val"}:
            continue  # one kind; and some data sets share the second pair by their definition
        if both := names[one] & names[other]:
            yield f"{where}: {len(both)} groups of {one} are in {other}, too"


def _items(ids: Iterable[str]) -> str:
    found = sorted(ids)
    what = "item is" if len(found) == 1 else "items are"
    return f"{len(found):,} {what} ({some(found, most=3)})"


def _choices(files: RunFolder, record: RunRecord, evaluation: EvaluationRecord) -> Iterator[str]:
    """Choices of weights that do not follow from the log, or are not those that were scored."""
    chosen, scored = record.selection, evaluation.selection
    if chosen is None:
        yield "run.json does not say which weights were selected"
        return
    if scored is not None and scored != chosen:
        yield "evaluation.json: selection is not that of run.json"
    if record.selections.get(chosen.rule) != chosen:
        yield f"run.json: selection is not the choice of {chosen.rule} in selections"
    rows = last_stage(read_log(files.metrics)[0])
    stages = [stage["name"] for stage in record.content.get("stages", ())]
    for rule, choice in record.selections.items():
        if stages[-1:] == ["tau_norm"] and (rule != chosen.rule or rule == SWAD):
            continue  # each rule has a tau of its own, and the log those of the reported one
        found = _best(rule, rows) if rule != SWAD else _row_of(choice, rows)
        if found is None:
            yield f"run.json: {rule} chose an evaluation that metrics.jsonl does not hold"
            continue
        for key in ("epoch", "step", "value"):
            said, logged = getattr(choice, key), found[key]
            if not equal(said, logged):
                yield f"run.json: {rule} chose {key} {said}, but metrics.jsonl gives {logged}"
    if stages[-1:] != ["retrain_all"]:  # whose weights are not those that validation judged
        yield from _validated(chosen, record, evaluation)


def _best(rule: str, rows: Sequence[LogRow]) -> dict[str, Any] | None:
    """The evaluation that a rule chooses: the first of the best ones."""
    named = _RULE.fullmatch(rule)
    if named is None or not rows:
        return {**rows[-1], "value": None} if rows else None
    column, sign = f"{named[1]}/{named[2]}", 1 if METRICS[named[2]].better == "higher" else -1

    def merit(row: LogRow) -> float:
        value = row.get(column)
        return -math.inf if value is None else sign * float(value)

    best = max(rows, key=merit)
    return {**best, "value": best.get(column)}


def _row_of(choice: Selection, rows: Sequence[LogRow]) -> dict[str, Any] | None:
    """The evaluation at the end of averaged weights, if the value was logged at all."""
    values = {row.get("val/domain_loss", row.get("val/loss")) for row in rows}
    ends = [row for row in rows if row["step"] == choice.step and choice.value in values]
    return {**ends[0], "value": choice.value} if ends else None


def _validated(chosen: Selection, record: RunRecord, evaluation: EvaluationRecord) -> Iterator[str]:
    """The value that chose the weights, against the same metric of the rows that it came from."""
    named = _RULE.fullmatch(chosen.rule)
    scored = evaluation.splits.get(chosen.split or "")
    if named is None or scored is None or record.recalibration or chosen.value is None:
        return
    metric = scored.metrics.get(named[2])
    if metric is None or metric.value is None or named[1] == "oracle_out":
        return
    if abs(metric.value - chosen.value) > max(CLOSE, 1.5 / scored.n):
        yield (
            f"run.json: {chosen.rule} chose by {chosen.value:.6g}, but predictions.csv gives "
            f"{chosen.split}/{named[2]} {metric.value:.6g}"
        )
