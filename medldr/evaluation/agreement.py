"""Whether an evaluation follows from the predictions beside it.

The entry of each split is made again from `predictions.csv`, as `medldr.evaluation.evaluate` makes
it but without bootstrap draws and curves, and the two are compared: every value of a split, class,
domain, part and group, the gap, the counts and the thresholds. Only keys that both sides have are
compared, as subgroups and calibration fits are left to `medldr verify`. This is
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
from medldr.types import Predictions

TOLERANCE = 1e-9
"""Largest difference, relative or absolute, that another order of summing may cause."""
TEXTS = ("reason", "note", "notes", "method", "definition", "definitions")
"""Keys whose sentences another version may word differently."""
PLAIN = {"splits": "", "metrics": "", "value": "", "parts": "", "classes": "class",
         "domains": "domain", "groups": "group"}  # fmt: skip
"""Parts of a key of `evaluation.json` as they are called everywhere else."""


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
    both = (evaluation, _computed(evaluation, predictions))
    recorded, computed = (each.model_dump(mode="json", exclude_unset=True) for each in both)
    found = leaves(recorded, computed)
    return [each for each in found if not equal(each.recorded, each.computed)]


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
    seen = domains_seen(evaluation)
    images = {"per_group": per_group, "shots": shots_of(evaluation)}
    content: dict[str, Any] = {"task": evaluation.task, "splits": {}}

    def entry(split: str, table: Predictions, how: Thresholds, **more: Any) -> dict[str, Any]:
        scores = SplitScores(table, bins, positive, **how._asdict(), **more, for_draws=False)
        return SplitEntry(scores, split, None).content(seen)

    for split in evaluation.splits:
        content["splits"][split] = {"n": 0}
        if split in tables:
            content["splits"][split] = entry(split, tables[split], cuts, **images)
    how = evaluation.by_group
    if how is not None:
        rows = grouped_splits(tables, how.aggregate, positive, cuts.point)
        own = thresholds_of(rows, positive, *wanted)
        found = {
            "operating_point": how.operating_point and own.point,
            "operating_points": own.points,
        }
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
    for name in recorded.metrics.keys() & seen.keys() & unseen.keys():
        one, other = seen[name]["value"], unseen[name]["value"]
        metrics[name] = {"value": None if None in (one, other) else one - other}
    return {"seen": recorded.seen, "metrics": metrics}


def domains_seen(evaluation: EvaluationRecord) -> set[str]:
    """Names of the domains that training images came from."""
    domains = (item for of in evaluation.splits.values() for item in of.domains.items())
    return {name for name, domain in domains if domain.seen}


def leaves(recorded: Any, computed: Any, key: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every value that both sides have, with its key; sentences are left out.

    Example:
        >>> recorded, computed = {"test": {"n": 3, "old": 1}}, {"test": {"n": 4}}
        >>> [str(each) for each in leaves({"splits": recorded}, {"splits": computed})]
        ['test/n: evaluation.json says 3, predictions.csv gives 4']
    """
    if isinstance(recorded, dict) and isinstance(computed, dict):
        if key[-1:] in (("domain",), ("group",)) and recorded.keys() != computed.keys():
            yield Difference(f"{'/'.join(key)}s", sorted(recorded), sorted(computed))
        for name in (each for each in recorded if each in computed and each not in TEXTS):
            part = PLAIN.get(name, name)
            yield from leaves(recorded[name], computed[name], (*key, part) if part else key)
    elif isinstance(recorded, list) and isinstance(computed, list):
        if len(recorded) != len(computed):
            sizes = f"{len(recorded)} values", f"{len(computed)} values"
            yield Difference("/".join(key), *sizes)
            return
        for place, pair in enumerate(zip(recorded, computed, strict=True)):
            yield from leaves(*pair, (*key, str(place)))
    else:
        yield Difference("/".join(key), recorded, computed)
