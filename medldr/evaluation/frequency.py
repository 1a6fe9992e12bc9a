"""Frequent and rare classes: what ``evaluation.shots`` asks for, and what files say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medldr.errors import InputError
from medldr.evaluation.metrics.items import Shots
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import METRICS
from medldr.types import Predictions, Task

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig


def check(config: EvaluationConfig, task: Task) -> None:
    """Refuse ``evaluation.shots`` for labels without frequent and rare classes.

    Raises:
        InputError: Naming the key.
    """
    fitting = METRICS["few_shot_accuracy"].tasks
    if config.shots is not None and task not in fitting:
        raise InputError(
            f"evaluation.shots tells frequent from rare classes of {' and '.join(fitting)} tasks, "
            f"but the task is {task}. Remove the key"
        )


def shots(
    config: EvaluationConfig, predictions: Predictions, trained_on: Sequence[int] | None
) -> Shots | None:
    """How frequent each class is; None where that is not asked for.

    Args:
        config: What to score.
        predictions: Any table of the run.
        trained_on: Training images of each class.

    Raises:
        InputError: If it is asked for and does not suit the task, or the training images are not
            known.
    """
    check(config, predictions.task)
    if config.shots is None:
        return None
    if trained_on is None:
        raise InputError(
            "evaluation.shots needs the training images of each class, which are not known here. "
            "Remove the key, or score the run with `medldr evaluate`"
        )
    return Shots(tuple(trained_on), *config.shots)


def content(found: Shots | None, class_names: Sequence[str]) -> dict[str, Any]:
    """What `evaluation.json` says of it; nothing where it is not asked for."""
    if found is None:
        return {}
    counts = dict(zip(class_names, found.counts, strict=True))
    buckets = {name: found.bucket(count) for name, count in counts.items()}
    return {"shots": {"many": found.many, "few": found.few, "counts": counts, "buckets": buckets}}


def shots_of(evaluation: EvaluationRecord) -> Shots | None:
    """The same from the file."""
    said = evaluation.shots
    return None if said is None else Shots(tuple(said.counts.values()), said.many, said.few)


def common_shots(evaluations: Sequence[EvaluationRecord]) -> Shots | None:
    """How frequent each class is for several runs; None where they differ in which are rare.

    Training images may differ a little between runs, as folds do: the numbers are the first run's.
    """
    buckets = [each.shots.buckets for each in evaluations if each.shots is not None]
    if not buckets or len(buckets) < len(evaluations) or any(b != buckets[0] for b in buckets):
        return None
    return shots_of(evaluations[0])


def shots_notes(evaluations: Sequence[EvaluationRecord]) -> list[str]:
    """Says so where frequent and rare classes cannot be scored apart for all of several runs."""
    asked = any(evaluation.shots is not None for evaluation in evaluations)
    if not asked or common_shots(evaluations) is not None:
        return []
    return [
        "Frequent and rare classes are not scored apart: runs differ in evaluation.shots or in "
        "which classes are rare."
    ]
