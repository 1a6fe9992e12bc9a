"""The primary metric: the one that a study was planned for, stated before its results are seen.

It leads every table and verdict. `run.json` keeps what it was when training started and
`evaluation.json` what it is, so that a page can say where it was changed after the fact.
"""

from __future__ import annotations

from collections.abc import Iterable

from medldr.errors import InputError, did_you_mean, some
from medldr.evaluation.split_scores import headline_metrics
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.run_record import RunRecord
from medldr.metrics import ALIASES, metric_facts
from medldr.types import Task

DEFAULT = "accuracy"
"""What leads where no study says otherwise."""


def check(primary: str | None, task: Task, *, shots: bool) -> None:
    """Check before training that the task has the primary metric.

    Raises:
        InputError: If it has not; names those that it has.

    Example:
        >>> check("auc", "binary", shots=False)
    """
    facts = map(metric_facts, headline_metrics(task, shots=shots))
    known = [each.name for each in facts if each.better and not each.biased]
    if primary is not None and primary not in known:
        raise InputError(
            f"evaluation.primary: {primary!r} cannot lead a study of a {task} task."
            f"{did_you_mean(ALIASES.get(primary, primary), known)} Known: {some(known)}"
        )


def primary_of(evaluations: Iterable[EvaluationRecord]) -> str:
    """The primary metric that all runs state; that of no study where they state none or several."""
    stated = {evaluation.primary for evaluation in evaluations}
    (only,) = stated if len(stated) == 1 else (None,)
    return only or DEFAULT


def changed(record: RunRecord | None, evaluation: EvaluationRecord | None) -> str:
    """That the primary metric was changed after training began, as a sentence; empty if not.

    Example:
        >>> scored = EvaluationRecord(task="binary", splits={}, primary="auc")
        >>> print(changed(RunRecord(status="done", primary="accuracy"), scored))
        The primary metric was accuracy when training began and is auc now: changed after the fact.
        >>> changed(RunRecord(status="done", primary="auc"), scored)
        ''
    """
    if record is None or evaluation is None or record.primary == evaluation.primary:
        return ""
    before, now = record.primary or "not stated", evaluation.primary or "not stated"
    return (
        f"The primary metric was {before} when training began and is {now} now: changed "
        "after the fact."
    )
