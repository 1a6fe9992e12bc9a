"""Whether an evaluation follows from the predictions beside it.

The entry of each split is made again from `predictions.csv`, as `medldr.evaluation.evaluate` makes
it but without bootstrap draws and curves, and the two frames of scores are compared: every value of
a split, class, domain, part and group, the gap, the counts and the thresholds. Only keys that both
sides have are compared, as subgroups and calibration fits are left to `medldr verify`. This is
cheap enough for every report; ends of intervals are protected by checksums
(`medldr.folders.checksums`) and by `medldr verify`, which draws again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from medldr.evaluation.aggregate import grouped_splits
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.gap import UNSEEN
from medldr.evaluation.predictions.table import by_split
from medldr.evaluation.split_entry import SplitEntry
from medldr.evaluation.split_scores import SplitScores, Thresholds, thresholds_of
from medldr.folders.evaluation_record import EvaluationRecord, GapRecord
from medldr.metrics import BY_GROUP
from medldr.types import Predictions

TOLERANCE = 1e-9
"""Largest difference, relative or absolute, that another order of summing may cause."""


class Difference(NamedTuple):
    """A number of `evaluation.json` that does not follow from `predictions.csv`.

    Attributes:
        key: Its name, such as ``test/accuracy``.
        recorded: What `evaluation.json` says.
        computed: What the predictions give.
    """

    key: str
    recorded: Any
    computed: Any

    def __str__(self) -> str:
        """In words.

        Example:
            >>> print(Difference("test/accuracy", 0.913, 0.874))
            test/accuracy: evaluation.json says 0.913, predictions.csv gives 0.874
        """
        recorded, computed = _shown(self.recorded), _shown(self.computed)
        if recorded == computed:  # they differ beyond the digits shown
            recorded, computed = repr(self.recorded), repr(self.computed)
        return f"{self.key}: evaluation.json says {recorded}, predictions.csv gives {computed}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "undefined" if value is None else str(value)


def differences(evaluation: EvaluationRecord, predictions: Predictions) -> list[Difference]:
    """The numbers of an evaluation that do not follow from the predictions.

    Args:
        evaluation: What `evaluation.json` says, with the settings that it was made with.
        predictions: The whole table, read with the task of the evaluation.

    Returns:
        One entry per number; empty where all agree.

    Example:
        >>> from medldr.config import EvaluationConfig
        >>> from medldr.evaluation import evaluate, predictions_of
        >>> table = predictions_of("binary", [0, 1], [[0.9, 0.1], [0.2, 0.8]])
        >>> content = evaluate({"test": table}, EvaluationConfig(draws=100))
        >>> differences(EvaluationRecord.model_validate(content), table)
        []
        >>> content["splits"]["test"]["metrics"]["accuracy"]["value"] = 0.5
        >>> [str(found) for found in differences(EvaluationRecord.model_validate(content), table)]
        ['test/accuracy: evaluation.json says 0.5, predictions.csv gives 1']
    """
    about = list(_about(evaluation, predictions))
    if about:  # nothing can be computed with another task or other classes
        return about
    recorded, computed = _numbers(evaluation), _numbers(_computed(evaluation, predictions))
    return [
        Difference(key, value, computed[key])
        for key, value in recorded.items()
        if key in computed and not equal(value, computed[key])
    ]


def equal(one: Any, other: Any) -> bool:
    """Whether two values agree; None (undefined) only equals itself.

    Example:
        >>> equal(0.1 + 0.2, 0.3), equal(0.913, 0.874), equal(None, 0.5), equal(None, None)
        (True, False, False, True)
    """
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def _about(evaluation: EvaluationRecord, table: Predictions) -> Iterator[Difference]:
    """Task and classes, where they are not those of the columns of the table."""
    task, many = evaluation.task, table.label.ndim == 2
    if (task == "multi-label") != many or (task == "binary" and len(table.class_names) != 2):
        yield Difference("task", task, "multi-label" if many else "multi-class")
    if evaluation.class_names and evaluation.class_names != table.class_names:
        yield Difference("class_names", evaluation.class_names, table.class_names)


def _computed(evaluation: EvaluationRecord, predictions: Predictions) -> EvaluationRecord:
    """The same splits scored again from the predictions, values and counts alone."""
    tables, names = by_split(predictions), predictions.class_names
    positive, asked = 1, evaluation.operating_point
    if evaluation.positive_class in names:
        positive = names.index(evaluation.positive_class)
    wanted = evaluation.specificity, None if asked is None else asked.prevalence
    cuts = thresholds_of(tables, positive, *wanted)
    bins, per_group = evaluation.calibration.bins, any(s.groups for s in evaluation.splits.values())
    images = {"per_group": per_group, "shots": shots_of(evaluation)}
    content: dict[str, Any] = {"task": evaluation.task, "splits": {}}

    def entry(split: str, table: Predictions, how: Thresholds, **more: Any) -> dict[str, Any]:
        scores = SplitScores(table, bins, positive, **how._asdict(), **more, for_draws=False)
        return SplitEntry(scores, split, None).content()

    for split in evaluation.splits:
        content["splits"][split] = {"n": 0}
        if split in tables:
            content["splits"][split] = entry(split, tables[split], cuts, **images)
    how = evaluation.by_group
    if how is not None:
        rows = grouped_splits(tables, how.aggregate, positive, cuts.point)
        own = thresholds_of(rows, positive, *wanted)
        found = {"operating_point": own.point, "operating_points": own.points}
        content["by_group"] = how.model_copy(update=found)
        for split in set(evaluation.splits) & set(rows):
            content["splits"][split]["by_group"] = entry(split, rows[split], own)
    if evaluation.positive_class is not None:
        content["positive_class"] = names[positive]
    if asked is not None:
        content["operating_point"] = cuts.point
    content["operating_points"] = cuts.points
    if evaluation.gap is not None:
        content["gap"] = _gap(evaluation.gap, content["splits"])
    return EvaluationRecord.model_validate(content)


def _gap(recorded: GapRecord, splits: Mapping[str, Any]) -> dict[str, Any]:
    """A seen split minus the unseen one, of splits that were scored again."""
    seen, unseen = (splits.get(s, {}).get("metrics", {}) for s in (recorded.seen, UNSEEN))
    metrics = {}
    for name in (name for name in recorded.metrics if name in seen and name in unseen):
        one, other = seen[name]["value"], unseen[name]["value"]
        metrics[name] = {"value": None if one is None or other is None else one - other}
    return {"seen": recorded.seen, "metrics": metrics}


def _numbers(evaluation: EvaluationRecord) -> dict[str, Any]:
    """The values and counts of an evaluation that follow from predictions alone, by key."""
    numbers: dict[str, Any] = {}
    for row in evaluation.scores.rows:
        numbers[row.key] = row.value
        place = f"{row.place}/by_group" if row.metric.startswith(BY_GROUP) else row.place
        if row.n is not None:
            numbers[f"{place}/n"] = row.n
    if evaluation.positive_class is not None:
        numbers["positive_class"] = evaluation.positive_class
    for place, decided in (("", evaluation), ("by_group/", evaluation.by_group)):
        if decided is not None:
            points = {"operating_point": decided.operating_point}
            points |= {f"operating_points/{n}": of for n, of in decided.operating_points.items()}
            known = {key: point for key, point in points.items() if point is not None}
            numbers |= {f"{place}{key}/threshold": of.threshold for key, of in known.items()}
    if evaluation.gap is not None:
        numbers |= {f"gap/{name}": of.value for name, of in evaluation.gap.metrics.items()}
    held = {f"{split}/by_group": of.by_group for split, of in evaluation.splits.items()}
    held |= evaluation.splits
    for split, of in ((split, of) for split, of in held.items() if of is not None):
        counts: dict[str, Any] = {"n": of.n, **_cells(of.confusion)}
        if of.n_groups is not None:
            counts["n_groups"] = of.n_groups
        if of.domains:
            counts["domains"] = sorted(of.domains)
        if of.groups:
            counts["groups"] = sorted(of.groups)
        if of.worst_domain is not None:
            counts["worst_domain/name"] = of.worst_domain.name
        if of.worst_group is not None:
            counts |= {"worst_group/name": of.worst_group.name, "worst_group/n": of.worst_group.n}
        counts |= {f"group/{name}/correct": group.correct for name, group in of.groups.items()}
        numbers |= {f"{split}/{key}": value for key, value in counts.items()}
    return numbers


def _cells(confusion: Any, key: str = "confusion") -> dict[str, Any]:
    """The cells of a confusion matrix by their place, counted from 0."""
    if not isinstance(confusion, list):
        return {} if confusion is None else {key: confusion}
    return {
        place: value
        for number, part in enumerate(confusion)
        for place, value in _cells(part, f"{key}/{number}").items()
    }
