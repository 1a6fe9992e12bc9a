"""The folds of one method and seed as one run: each item is tested once, by the model of its fold.

The rest of a report takes such a run like any other. What is pooled are the predictions of the test
parts, one per item, so metrics and their intervals are of all items, and methods are compared
item by item.

Source:
    Our choice. A fold decides at its own threshold, from its own validation part, before its
    decisions are pooled (`Predictions.decision`): one threshold for all folds would be found on
    items that other folds trained on. Thresholds are taken as given: intervals of what is measured
    at them count test items and seeds, not the validation parts. Probabilities are pooled as they
    are; the report gives the mean over folds beside what it computes from them, because an AUC of
    all ranks scores of different models.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from medldr.config.sections import held_out, section
from medldr.errors import InputError
from medldr.evaluation import Run
from medldr.evaluation.comparison.runs import same_task
from medldr.evaluation.frequency import common_shots, shots_notes
from medldr.evaluation.from_predictions import evaluate
from medldr.evaluation.predictions.table import join
from medldr.evaluation.split_scores import positive_class
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.files import RunFolder, read_json
from medldr.folders.run_record import RunRecord
from medldr.folders.sweep_record import FOLD, Member, SweepFolder, joined, without_fold
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import STATES, Entry
from medldr.types import Predictions

SHOWN: Final = 3
"""Ids that a message names."""
OWN_THRESHOLDS: Final = "the folds have no common threshold: each decides at its own"
"""In place of the reason why a pooled run has no threshold."""


def pool_folds(folder: SweepFolder, entries: Sequence[Entry]) -> list[Entry]:
    """Entries in their order, with one in place of all that differ in their fold alone.

    A row of a single fold is no cross-validation and stays a run like any other. Where a fold has
    no result, the pooled entry has none either, and says which folds they are.

    Args:
        folder: Folder of the sweep.
        entries: Its runs; where folds make rows, `row_values` names them.
    """
    cells: dict[tuple[str, str, int], dict[str, Entry]] = {}
    places: list[Entry | tuple[str, str, int]] = []
    for entry in entries:
        values = dict(entry.member.row_values)
        fold = values.pop(FOLD, None)
        if fold is None:
            places.append(entry)
            continue
        member = replace(entry.member, row=joined(values), row_values=values)
        cell = (member.row, member.column, member.seed)
        if cell not in cells:
            places.append(cell)
        cells.setdefault(cell, {})[fold] = replace(entry, member=member)
    return [place if isinstance(place, Entry) else _one(folder, cells[place]) for place in places]


def fold_notes(entries: Sequence[Entry]) -> list[str]:
    """What a reader of any number must know where folds were pooled; empty where none were."""
    counts = sorted({len(entry.folds) for entry in entries if entry.folds and entry.run})
    if not counts:
        return []
    number = " or ".join(map(str, counts))
    return [
        f"Pooled over {number} folds: every item is tested once, by the model of the fold that had "
        "not seen it."
    ]


def _one(folder: SweepFolder, folds: Mapping[str, Entry]) -> Entry:
    name, first = next(iter(folds.items()))
    if len(folds) == 1:
        return first
    member = _member(first.member, name, [entry.member.run for entry in folds.values()])
    # Their predictions are pooled; only their numbers are still needed.
    kept = {fold: replace(entry, run=None) for fold, entry in folds.items()}
    lost = {fold: entry for fold, entry in folds.items() if entry.run is None}
    config = _common_config(folds)
    if lost:
        worst = min((entry.state for entry in lost.values()), key=STATES.index)
        each = ", ".join(f"{f} {e.state}{_because(e.error)}" for f, e in lost.items())
        error = f"{len(lost)} of {len(folds)} folds without a result: {each}"
        return Entry(member, worst, error, planned=config, folds=kept)
    try:
        run, files = _pooled(folder, member, folds)
    except InputError as error:
        return Entry(member, "unreadable", f"the folds: {error}", planned=config, folds=kept)
    return Entry(member, "done", run=run, files=files, folds=kept)


def _because(error: str) -> str:
    return f" ({error})" if error else ""


def _member(first: Member, fold: str, runs: Sequence[str]) -> Member:
    """A member that stands for all folds; seeds of one method have the same label and hash."""
    same = sorted(run.rpartition("-s")[0] for run in runs)
    digits = hashlib.sha256("\n".join(same).encode()).hexdigest()[:8]
    label = without_fold(first.label, fold)
    return replace(first, run=f"{label}-{digits}-s{first.seed}", label=label, after=())


def _common_config(folds: Mapping[str, Entry]) -> dict[str, Any]:
    """The configuration of the first fold without what is its own: fold, and domain left out."""
    config = next(iter(folds.values())).config
    own: dict[str, Any] = {"fold": None}
    if len({held_out(entry.config) for entry in folds.values()}) > 1:
        own["held_out"] = []
    return {**config, "data": {**section(config, "data"), **own}} if config else {}


def _pooled(
    folder: SweepFolder, member: Member, folds: Mapping[str, Entry]
) -> tuple[Run, RunFiles]:
    runs = {fold: entry.run for fold, entry in folds.items() if entry.run is not None}
    files = [entry.files for entry in folds.values() if entry.files is not None]
    same_task(list(runs.values()))
    if len({run.facts.data_hash for run in runs.values()}) > 1:
        raise InputError(
            "they were trained on different data (their data_hash differs), so their predictions "
            "are not of one data set. Train them again on the same data"
        )
    tables = _tables(runs)
    _each_once(tables, {f: folder.run(entry.member.run) for f, entry in folds.items()})
    first = next(iter(runs.values()))
    evaluations = [run.evaluation for run in runs.values()]
    shots = common_shots(evaluations)
    # Only where there are folds: it loads every section of a configuration.
    from medldr.evaluation.verification import evaluation_settings

    limits = None if shots is None else (shots.many, shots.few)
    configured = section(files[0].stated, "evaluation")
    content = evaluate(
        tables,
        evaluation_settings(first.evaluation, configured, splits=("id_test", "test"), shots=limits),
        selection=_selection(list(runs.values())),
        seen=_seen(list(runs.values())),
        notes=shots_notes(evaluations),
        trained_on=None if shots is None else shots.counts,
    )
    points = [content["operating_point"], *content.get("operating_points", {}).values()]
    of_groups = content.get("by_group", {})
    points += [of_groups.get("operating_point"), *of_groups.get("operating_points", {}).values()]
    for point in filter(None, points):
        point["reason"] = OWN_THRESHOLDS
    evaluation = EvaluationRecord.model_validate(content)
    hashes = "\n".join(f"{fold} {run.facts.split_hash}" for fold, run in sorted(runs.items()))
    *_, digits, _ = member.run.rsplit("-", 2)
    record: RunRecord = first.facts.model_copy(
        update={
            "label": member.label,
            "hash": digits,
            "split_hash": hashlib.sha256(hashes.encode()).hexdigest(),
            "selections": {},
            "selection": evaluation.selection,
        }
    )
    run = Run(member.run, member.label, digits, member.seed, tables, evaluation, record)
    pooled = replace(
        files[0],
        name=member.run,
        config=_common_config(folds),
        record=record,
        log=(),
        evaluation=evaluation,
        further={},
        mistakes=None,
        problems=tuple(dict.fromkeys(text for each in files for text in each.problems)),
        ids=frozenset().union(*(each.ids for each in files)),
        notes=tuple(dict.fromkeys(text for each in files for text in each.notes)),
    )
    return run, pooled


def _tables(runs: Mapping[str, Run]) -> dict[str, Predictions]:
    """The test items of all folds; items of seen domains too where no fold tests one again."""
    found = {}
    for split in ("id_test", "test"):
        there = [_decided(run, split) for run in runs.values() if split in run.predictions]
        if split == "test" and len(there) < len(runs):
            lacking = [fold for fold, run in runs.items() if split not in run.predictions]
            raise InputError(
                f"{', '.join(lacking)} has no predictions of the test split. Add test to "
                "evaluation.splits"
            )
        if len(there) < len(runs):
            continue
        table = join(there)
        if split == "test" or len(set(table.id.tolist())) == len(table):
            # Parts of held-out domains are those of single folds.
            found[split] = replace(table, part=np.full(len(table), "", np.str_))
    return found


def _decided(run: Run, split: str) -> Predictions:
    """A split of a fold, with what it decides at its own threshold where it has one."""
    table, point = run.predictions[split], run.evaluation.operating_point
    if cuts := [of.threshold for of in run.evaluation.operating_points.values()]:
        return replace(table, decision=table.prob > [0.5 if cut is None else cut for cut in cuts])
    if point is None or point.threshold is None:
        return table
    positive = positive_class(table, run.evaluation.positive_class)
    return replace(table, decision=table.prob[:, positive] > point.threshold)


def _each_once(tables: Mapping[str, Predictions], folders: Mapping[str, RunFolder]) -> None:
    """Every item of the folds is tested in one of them, and in one only."""
    tested = tables["test"].id.tolist()
    twice = [item for item, count in Counter(tested).items() if count > 1]
    if twice:
        raise InputError(
            f"{_items(twice)} tested more than once, so the folds are not those of one manifest. "
            "Take them from one that `medldr data split --folds` made"
        )
    known = set(tested).union(*(table.id.tolist() for table in tables.values()))
    for fold, files in folders.items():
        if not os.path.lexists(files.splits):
            continue
        parts = read_json(files.splits).get("splits", {})
        never = sorted({item for ids in parts.values() for item in ids} - known)
        if never:
            raise InputError(
                f"{_items(never)} of {fold} tested in none of the folds {', '.join(folders)}. Add "
                "the other folds of the manifest to axes.data.fold, or show each fold by itself "
                "with table.columns: data.fold"
            )


def _items(ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:SHOWN])) + (", ..." if len(ids) > SHOWN else "")
    return f"{len(ids):,} item{' is' if len(ids) == 1 else 's are'} ({shown})"


def _selection(runs: Sequence[Run]) -> dict[str, Any] | None:
    """The rule of the folds, without what each chose by it."""
    chosen = runs[0].evaluation.selection
    if chosen is None:
        return None
    return {
        "rule": chosen.rule,
        "split": chosen.split,
        "oracle": any(run.oracle for run in runs),
    }


def _seen(runs: Sequence[Run]) -> set[str]:
    """Domains that a model was tested on after it had been trained on images of them."""
    return {
        name
        for run in runs
        for name, entry in run.evaluation.splits["test"].domains.items()
        if entry.seen
    }
