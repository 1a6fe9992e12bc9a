"""Decisions of the folds of a binary task, pooled: each fold decides at its own threshold.

A decision is written as a probability of 0.75 or 0.25 and cut at 0.5, so that what scores any run
scores the pooled decisions too, with its intervals over groups and its paired differences.

Source:
    Our choice. A threshold belongs to the model that it was found with; one threshold for all
    folds would be found on items that other folds trained on. The thresholds are taken as given:
    intervals of what is measured at them count test items and seeds, not the validation parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from medldr.evaluation import Run
from medldr.evaluation.comparison.comparison import Comparison, Difference, Score
from medldr.evaluation.evaluate import evaluate
from medldr.evaluation.predictions.table import predictions_of
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts
from medldr.types import Predictions

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

L = TypeVar("L", Score, Difference)
OWN_THRESHOLDS: Final = "the folds have no common threshold: each decides at its own"
"""In place of the reason why a pooled run has no threshold."""

_NO, _CUT, _YES = 0.25, 0.5, 0.75


def decided_run(pooled: Run, folds: Mapping[str, Run]) -> Run | None:
    """A pooled run with decisions in place of probabilities.

    Args:
        pooled: The predictions of all folds.
        folds: The folds, as each was scored by itself.

    Returns:
        The run; None where the task is not binary or a fold has no threshold.
    """
    names = pooled.evaluation.class_names
    points = {fold: run.evaluation.operating_point for fold, run in folds.items()}
    thresholds = {
        fold: point.threshold
        for fold, point in points.items()
        if point is not None and point.threshold is not None
    }
    if pooled.evaluation.task != "binary" or len(thresholds) < len(folds):
        return None
    positive = names.index(pooled.evaluation.positive_class or names[1])
    above: dict[str, bool] = {}
    for fold, run in folds.items():
        for split in pooled.predictions:
            table = run.predictions[split]
            called = table.prob[:, positive] > thresholds[fold]
            above |= zip(table.id.tolist(), called.tolist(), strict=True)
    tables = {split: _decided(t, above, positive) for split, t in pooled.predictions.items()}
    # One negative at the cut is a validation split whose threshold is the cut, in every draw.
    anchor = [0.0, 0.0]
    anchor[positive], anchor[1 - positive] = _CUT, 1 - _CUT
    val = predictions_of("binary", [1 - positive], [anchor], class_names=names, split="val")
    return replace(pooled, predictions={"val": val, **tables}, thresholds={})


def _decided(table: Predictions, above: Mapping[str, bool], positive: int) -> Predictions:
    called = np.array([above[item] for item in table.id.tolist()], dtype=bool)
    prob = np.empty_like(table.prob)
    prob[:, positive] = np.where(called, _YES, _NO)
    prob[:, 1 - positive] = 1 - prob[:, positive]
    return replace(table, prob=prob)


def with_decisions(
    evaluation: EvaluationRecord, decided: Run, config: EvaluationConfig
) -> EvaluationRecord:
    """An evaluation with what is measured at a threshold taken from the decisions.

    Args:
        evaluation: Of the pooled probabilities.
        decided: From `decided_run`.
        config: How both are scored.
    """
    found = EvaluationRecord.model_validate(evaluate(decided.predictions, config))
    splits = {}
    for split, scored in evaluation.splits.items():
        other = found.splits[split]
        metrics = {
            name: other.metrics[name] if metric_facts(name).threshold else number
            for name, number in scored.metrics.items()
        }
        splits[split] = scored.model_copy(
            update={
                "metrics": metrics,
                "decisions": other.decisions,
                "at_prevalence": other.at_prevalence,
            }
        )
    made: EvaluationRecord = evaluation.model_copy(update={"splits": splits})
    return made


def at_thresholds(made: Comparison, decided: Comparison) -> Comparison:
    """A comparison of pooled runs with what is measured at a threshold from their decisions.

    Args:
        made: The comparison of the pooled runs.
        decided: The same of their decisions.
    """

    def chosen(probable: Sequence[L], called: Sequence[L]) -> tuple[L, ...]:
        pairs = zip(probable, called, strict=True)
        return tuple(two if metric_facts(one.metric).threshold else one for one, two in pairs)

    return replace(
        made,
        scores=chosen(made.scores, decided.scores),
        differences=chosen(made.differences, decided.differences),
    )
