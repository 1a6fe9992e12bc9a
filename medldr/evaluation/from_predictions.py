"""From predictions to `evaluation.json`: metrics with intervals per split, class and domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.evaluation import (
    aggregate,
    class_mix,
    frequency,
    gap,
    primary,
    recalibration,
    subgroups,
)
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.single_run import METHOD
from medldr.evaluation.metrics import calibration
from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.predictions.log_odds import BY_PROBABILITY, ties_confident
from medldr.evaluation.predictions.table import join
from medldr.evaluation.split_entry import SplitEntry, absent_classes
from medldr.evaluation.split_scores import SplitScores, Thresholds, positive_class, thresholds_of
from medldr.folders.evaluation_parts import GroupScoring, RecalibrationRecord
from medldr.folders.run_record import Selection
from medldr.types import SPLIT_TITLES, DataSpec, Predictions

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig


def check(
    config: EvaluationConfig,
    spec: DataSpec,
    splits: Collection[str],
    metadata: Mapping[str, NDArray[np.str_]] = MappingProxyType({}),
) -> None:
    """Check before training that the run can be scored afterwards.

    Args:
        config: What to score.
        spec: The data.
        splits: Splits that have rows.
        metadata: Further columns of the data.

    Raises:
        InputError: If none of the splits to score has rows, the positive class or a column to
            divide into subgroups does not exist, a prevalence is stated for a task that has none,
            the primary metric is none of the task's, or there is nothing to fit a recalibration or
            the threshold of a share on.
    """
    subgroups.check_subgroups(config, metadata)
    positive_class(spec, config.positive_class)
    _check_prevalence(spec.task, config)
    frequency.check(config, spec.task)
    primary.check(config.primary, spec.task, shots=config.shots is not None)
    scored = set(config.splits) & set(splits)
    if not scored:
        raise InputError(
            f"evaluation.splits: the data has no rows in {', '.join(config.splits)}. "
            f"Available splits: {', '.join(splits)}"
        )
    for key, needs in (
        ("recalibrate", "is fitted on"),
        ("aggregate", "counts images above a threshold from"),
    ):
        value = getattr(config, key)
        if value not in ("temperature", "share") or scored & set(recalibration.VALIDATION):
            continue
        there = [split for split in recalibration.VALIDATION if split in splits]
        cure = f"Add {' or '.join(there)} to evaluation.splits" if there else "The data has neither"
        raise InputError(
            f"evaluation.{key} is {value}, which {needs} "
            f"{' or '.join(recalibration.VALIDATION)}, but evaluation.splits scores only "
            f"{', '.join(s for s in config.splits if s in splits)}. {cure}, or set "
            f"evaluation.{key}=none"
        )


def evaluate(
    predictions: Mapping[str, Predictions],
    config: EvaluationConfig,
    *,
    selection: Mapping[str, Any] | None = None,
    seen: Collection[str] = (),
    shared: Collection[str] = (),
    notes: Sequence[str] = (),
    recalibrated: Mapping[str, Any] | None = None,
    trained_on: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Evaluate one run.

    Args:
        predictions: One table per split. The threshold of ``sensitivity_at_specificity``, of each
            label if there are several, comes from ``val``, or from ``id_val`` where there is none.
        config: What to score, draws, bins, positive class, specificity.
        selection: Which weights these are: rule, split, epoch, step, value, oracle.
        seen: Names of the domains that training rows came from.
        shared: Splits that contain groups with other items among the training rows.
        notes: What readers of the numbers should know about the data.
        recalibrated: How these probabilities were recalibrated, as `recalibration.written` says
            it; None where they are as the network gave them.
        trained_on: Training images of each class, which ``evaluation.shots`` needs.

    Returns:
        The content of `evaluation.json`; plain values only, undefined numbers are None with a
        reason.

    Raises:
        InputError: If there is nothing to score, the positive class or a column to divide into
            subgroups does not exist, a prevalence is stated for a task that has none, or groups
            cannot be scored as asked.
    """
    tables = dict[str, Predictions]()
    tables |= {split: predictions[split] for split in config.splits if split in predictions}
    if not tables:
        raise InputError(
            f"evaluation.splits: none of {', '.join(config.splits)} is in the predictions, "
            f"which hold: {', '.join(predictions) or '(nothing)'}"
        )
    first = next(iter(tables.values()))
    binary = first.task == "binary"
    positive = positive_class(first, config.positive_class)
    _check_prevalence(first.task, config)
    aggregate.check(config, first.task, [(of.label, of.group) for of in predictions.values()])
    columns = join(list(tables.values())).columns
    subgroups.check_subgroups(config, columns)
    divisions, undivided = subgroups.divide(columns, config)
    shots = frequency.shots(config, first, trained_on)
    images = {"per_group": config.per_group, "shots": shots}
    cuts, entries = _entries(predictions, tables, config, positive, tuple(divisions), **images)
    tied = [split for split, table in tables.items() if ties_confident(table)]
    how, by_group = None, dict[str, SplitEntry]()
    if config.aggregate != "none":
        rows = aggregate.grouped_splits(predictions, config.aggregate, positive, cuts.point)
        own, by_group = _entries(rows, tables, config, positive)
        how = GroupScoring(
            aggregate=config.aggregate,
            group_label=config.group_label,
            operating_point=own.point if binary else None,
            operating_points=own.points,
        )
    chosen = None if selection is None else Selection.model_validate(selection)
    points = {name: of.model_dump() for name, of in cuts.points.items()}
    made = None if recalibrated is None else RecalibrationRecord.model_validate(recalibrated)
    return {
        "schema": 1,
        "task": first.task,
        "class_names": list(first.class_names),
        "positive_class": first.class_names[positive] if binary else None,
        **({} if config.primary is None else {"primary": config.primary}),
        "selection": dict(selection) if selection is not None else None,
        "intervals": {
            "method": METHOD,
            "draws": config.draws,
            "seed": config.bootstrap_seed,
            "level": bootstrap.LEVEL,
        },
        "calibration": {"definition": calibration.definition(first.task), "bins": config.bins},
        "operating_point": cuts.point.model_dump() if binary else None,
        **({"operating_points": points} if points else {}),
        "recalibration": None if recalibrated is None else dict(recalibrated),
        **({} if how is None else {"by_group": how.model_dump()}),
        **frequency.content(shots, first.class_names),
        "definitions": metrics.DEFINITIONS,
        "splits": {
            split: entry.content(seen)
            | ({"by_group": by_group[split].content(seen)} if split in by_group else {})
            for split, entry in entries.items()
        },
        "gap": _gap(entries, seen, shared, chosen),
        "notes": [
            *notes,
            *(() if made is None else made.notes),
            *undivided,
            *([f"{', '.join(tied)}: {BY_PROBABILITY}."] if tied else []),
            *(note for split, of in entries.items() for note in split_notes(split, of.scores)),
            *aggregate.notes(config, tables, cuts.point),
        ],
    }


def _entries(
    predictions: Mapping[str, Predictions],
    splits: Collection[str],
    config: EvaluationConfig,
    positive: int,
    divisions: tuple[subgroups.Division, ...] = (),
    **images: Any,
) -> tuple[Thresholds, dict[str, SplitEntry]]:
    """Thresholds and the entry of each split, of images or of groups in their place."""
    asked = config.specificity, config.prevalence, config.draws, config.bootstrap_seed
    cuts = thresholds_of(predictions, positive, *asked)
    headline = next((split for split in SPLIT_TITLES if split in splits), None)
    how, entries = {**cuts._asdict(), **images}, {}
    for split in splits:
        divided = divisions if split == headline else ()
        scores = SplitScores(predictions[split], config.bins, positive, divisions=divided, **how)
        entries[split] = SplitEntry(scores, split, config)
    return cuts, entries


def _check_prevalence(task: str, config: EvaluationConfig) -> None:
    if config.prevalence is not None and task != "binary":
        raise InputError(
            f"evaluation.prevalence is {config.prevalence:g}, but the task is {task}, and only a "
            "binary task has one share of positives. Remove the key."
        )


def _gap(
    entries: Mapping[str, SplitEntry],
    seen: Collection[str],
    shared: Collection[str],
    selection: Selection | None,
) -> dict[str, Any] | None:
    """Seen minus unseen domains; None where not measured."""
    tested = set(entries[gap.UNSEEN].scores.domains) if gap.UNSEEN in entries else set()
    split = gap.seen_split(entries, unseen=bool(tested) and tested.isdisjoint(seen))
    if split is None:
        return None
    one, other = entries[split], entries[gap.UNSEEN]
    shares, names = one.scores.shares, one.scores.table.class_names
    sizes = len(one.scores.table), len(other.scores.table)
    mix = class_mix.note(shares, other.scores.shares, names, one.scores.table.task, sizes)
    return {
        "seen": split,
        "unseen": gap.UNSEEN,
        "metrics": {name: one.minus(other, name) for name in one.scores.headline},
        "shared_groups": split in shared,
        "note": gap.notes(split, [selection], shared=split in shared, mix=mix),
    }


def split_notes(split: str, scores: SplitScores) -> list[str]:
    """What readers of a split's numbers should know."""
    said = []
    if scores.why_not():
        said.append(f"{split}: nothing can be measured: {scores.why_not()}.")
    absent = absent_classes(scores)
    if absent:
        what = "positives" if scores.table.task == "multi-label" else "items"
        said.append(
            f"{split}: no {what} of {', '.join(absent)}; means over classes leave these out."
        )
    missing = int(np.isnan(scores.truth).sum())
    if missing:
        said.append(f"{split}: {missing} of {scores.truth.size} labels are missing and left out.")
    if scores.per_group and scores.units.kind != "group":
        said.append(f"{split}: not scored by group, because no item has a group.")
    if scores.units.few:
        said.append(f"{split}: few groups ({scores.units.count}), so CIs are wide and approximate.")
    return said
