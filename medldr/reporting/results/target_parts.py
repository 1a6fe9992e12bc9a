"""The parts of a held-out domain that a run is evaluated on."""

from __future__ import annotations

from typing import Final

from medldr.folders.evaluation_record import EvaluationRecord

TARGETS: Final = {
    "target_in": "target_in, the 80% of the held-out domain that published tables report",
    "target_all": "target_all, the whole held-out domain",
}
"""What a run is evaluated on, and in words."""


def target_value(evaluation: EvaluationRecord | None, target: str, metric: str) -> float | None:
    """A metric on target_in, target_out or target_all; None where it was not evaluated.

    Args:
        evaluation: The evaluation of the run.
        target: The part of the test split.
        metric: The metric.
    """
    split = None if evaluation is None else evaluation.splits.get("test")
    place = split if split is None or target == "target_all" else split.parts.get(target)
    number = None if place is None else place.metrics.get(metric)
    return None if number is None else number.value
