"""Whether an evaluation follows from the predictions beside it.

The point values of every split, class, domain, part and group, the gap, the counts and the
threshold are computed again from `predictions.csv` and compared with `evaluation.json`. Only keys
that both sides have are compared, so files of older and newer versions can be read. There is no
bootstrap, which keeps this cheap enough for every report; ends of intervals are protected by
checksums (`medldr.folders.checksums`) and by `medldr verify`, which draws again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from medldr.evaluation.evaluate import flat
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.gap import UNSEEN
from medldr.evaluation.groups import WORST_GROUP
from medldr.evaluation.metrics import counts, operating_point
from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.predictions.table import by_split
from medldr.evaluation.split_scores import (
    CLASS_METRICS,
    WORST_DOMAIN,
    SplitScores,
)
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts
from medldr.types import Predictions

TOLERANCE = 1e-9
"""Largest difference, relative or absolute, that another order of summing may cause."""


class Difference(NamedTuple):
    """A number of `evaluation.json` that does not follow from `predictions.csv`.

    Attributes:
        key: Its name, such as ``test/accuracy``.
        said: What `evaluation.json` says.
        found: What the predictions give.
    """

    key: str
    said: Any
    found: Any

    def __str__(self) -> str:
        """In words.

        Example:
            >>> print(Difference("test/accuracy", 0.913, 0.874))
            test/accuracy: evaluation.json says 0.913, predictions.csv gives 0.874
        """
        said, found = _shown(self.said), _shown(self.found)
        if said == found:  # they differ beyond the digits shown
            said, found = repr(self.said), repr(self.found)
        return f"{self.key}: evaluation.json says {said}, predictions.csv gives {found}"


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
    about = list(unlike(_about(evaluation), _about_table(evaluation, predictions)))
    if about:  # nothing can be computed with another task or other classes
        return about
    return list(unlike(_recorded(evaluation), _computed(evaluation, predictions)))


def unlike(said: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
    """What differs among the keys that both sides have."""
    for key, value in said.items():
        if key in found and not equal(value, found[key]):
            yield Difference(key, value, found[key])


def equal(one: Any, other: Any) -> bool:
    """Whether two values agree; None (undefined) only equals itself.

    Example:
        >>> equal(0.1 + 0.2, 0.3), equal(0.913, 0.874), equal(None, 0.5), equal(None, None)
        (True, False, False, True)
    """
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def _about(evaluation: EvaluationRecord) -> dict[str, Any]:
    names = evaluation.class_names
    return {"task": evaluation.task} | ({"class_names": names} if names else {})


def _about_table(evaluation: EvaluationRecord, table: Predictions) -> dict[str, Any]:
    """Task and classes as the columns of the table allow them to be."""
    task: str = evaluation.task
    if (task == "multi-label") != (table.label.ndim == 2):
        task = "multi-label" if table.label.ndim == 2 else "multi-class"
    elif task == "binary" and len(table.class_names) != 2:
        task = "multi-class"
    return {"task": task, "class_names": table.class_names}


def _recorded(evaluation: EvaluationRecord) -> dict[str, Any]:
    """The numbers that `evaluation.json` holds, by key."""
    found: dict[str, Any] = dict(flat(evaluation))
    if evaluation.positive_class is not None:
        found["positive_class"] = evaluation.positive_class
    if evaluation.operating_point is not None:
        found["operating_point/threshold"] = evaluation.operating_point.threshold
    for split, entry in evaluation.splits.items():
        of_split: dict[str, Any] = {"n": entry.n, **_cells(entry.confusion)}
        if entry.n_groups is not None:
            of_split["n_groups"] = entry.n_groups
        if entry.domains:
            of_split["domains"] = sorted(entry.domains)
        if entry.groups:
            of_split["groups"] = sorted(entry.groups)
        if entry.worst_domain is not None:
            of_split["worst_domain/name"] = entry.worst_domain.name
        if entry.worst_group is not None:
            worst = entry.worst_group
            of_split |= {"worst_group/name": worst.name, "worst_group/n": worst.n}
        of_split |= {f"class/{name}/n": of.n for name, of in entry.classes.items()}
        of_split |= {f"domain/{name}/n": of.n for name, of in entry.domains.items()}
        of_split |= {f"{name}/n": of.items for name, of in entry.parts.items()}
        of_split |= {f"group/{name}/n": of.n for name, of in entry.groups.items()}
        of_split |= {f"group/{name}/correct": of.correct for name, of in entry.groups.items()}
        found |= {f"{split}/{key}": value for key, value in of_split.items()}
    if evaluation.gap is not None:
        found |= {f"gap/{name}": number.value for name, number in evaluation.gap.metrics.items()}
    return found


def _computed(evaluation: EvaluationRecord, predictions: Predictions) -> dict[str, Any]:
    """The same numbers from the predictions, by the same keys, and more."""
    tables, names = by_split(predictions), predictions.class_names
    positive, point = 1, operating_point.OperatingPoint(0.5)
    found: dict[str, Any] = {}
    if evaluation.positive_class is not None:
        known = evaluation.positive_class in names
        positive = names.index(evaluation.positive_class) if known else 1
        found["positive_class"] = evaluation.positive_class if known else names[1]
    asked = evaluation.operating_point
    if asked is not None and asked.specificity is not None:
        point = operating_point.find(tables, positive=positive, specificity=asked.specificity)
        found["operating_point/threshold"] = point.threshold
    bins, shots = evaluation.calibration.bins, shots_of(evaluation)
    for split, entry in evaluation.splits.items():
        if split not in tables:
            found[f"{split}/n"] = 0
            continue
        by_group = bool(entry.groups) or entry.worst_group is not None
        scores = SplitScores(tables[split], bins, positive, point, by_group, shots=shots)
        of_split = _values(scores) | _sizes(scores)
        of_split |= _by_domain(scores, of_split)
        for name in entry.parts:
            part = scores.of_part(name)
            of_split |= {f"{name}/{metric}": value for metric, value in _values(part).items()}
            of_split[f"{name}/n"] = len(part.table)
        found |= {f"{split}/{key}": value for key, value in of_split.items()}
    if asked is None:  # without a specificity there is nothing to take the threshold at
        found = {key: v for key, v in found.items() if not metric_facts(key).threshold}
    if evaluation.gap is not None:
        found |= _gap(found, evaluation.gap.seen, evaluation.gap.metrics)
    return found


def _values(scores: SplitScores, domain: str | None = None) -> dict[str, Any]:
    """Every metric of a split or of a domain, None where undefined, by the keys of `flat`.

    They are not summed by group, as `SplitScores` does for its draws: that takes longer.
    """
    table, names = scores.table, scores.table.class_names
    of_split = scores.headline
    if scores.why_not(domain) is not None:
        of_classes = [f"class/{name}/{metric}" for name in names for metric in CLASS_METRICS]
        return dict.fromkeys([*of_split, *of_classes])
    rows = slice(None) if domain is None else scores.domains[domain]
    made = metrics.measures(
        table.label[rows],
        table.prob[rows],
        table.task,
        bins=scores.bins,
        positive=scores.positive,
        threshold=scores.point.threshold,
        shots=scores.shots,
    )
    # Without a threshold they are not computed.
    found: dict[str, Any] = {name: None for name in of_split if metric_facts(name).threshold}
    for name, value in metrics.values(made).items():
        kind, _, rest = name.partition("/")
        number, _, metric = rest.partition("/")
        key = f"class/{names[int(number)]}/{metric}" if kind == "class" else name
        found[key] = None if math.isnan(value) else value
    return found


def _by_domain(scores: SplitScores, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Every metric of each domain, and the lowest accuracy of any."""
    found: dict[str, Any] = {}
    accuracies = {}
    for name, rows in scores.domains.items():
        values = whole if rows.all() else _values(scores, name)
        found |= {f"domain/{name}/{metric}": value for metric, value in values.items()}
        if scores.why_not(name) is None:
            accuracies[name] = values["accuracy"]
    defined = {name: value for name, value in accuracies.items() if value is not None}
    if accuracies:  # undefined where that of any domain is
        found[WORST_DOMAIN] = min(defined.values()) if defined == accuracies else None
    if defined:
        found["worst_domain/name"] = min(defined, key=lambda name: defined[name])
    return found


def _sizes(scores: SplitScores) -> dict[str, Any]:
    """Counts of a split and of its parts, and the numbers of its groups."""
    table, why_not = scores.table, scores.why_not()
    positives = np.nansum(scores.truth, axis=0).astype(int).tolist()
    found: dict[str, Any] = {
        "n": len(table),
        "n_groups": scores.units.count,
        "domains": list(scores.domains),
        **{f"class/{c}/n": n for c, n in zip(table.class_names, positives, strict=True)},
        **{f"domain/{name}/n": int(rows.sum()) for name, rows in scores.domains.items()},
    }
    if why_not is None:
        found |= _cells(counts.confusion(table.label, table.prob, table.task).tolist())
    groups = scores.groups
    if groups is not None:
        entries = groups.content()
        found["groups"] = list(entries)
        for name, entry in entries.items():
            found |= {f"group/{name}/{key}": entry[key] for key in ("n", "correct", "accuracy")}
        if groups.worst is not None:
            worst = groups.names[groups.worst]
            found |= {"worst_group/name": worst, "worst_group/n": entries[worst]["n"]}
            found[WORST_GROUP] = entries[worst]["accuracy"]
    return found


def _cells(confusion: Sequence[Any] | None) -> dict[str, Any]:
    """The cells of a confusion matrix by their place, counted from 0."""

    def walk(value: Any, key: str) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, list):
            yield key, value
            return
        for place, item in enumerate(value):
            yield from walk(item, f"{key}/{place}")

    return {} if confusion is None else dict(walk(list(confusion), "confusion"))


def _gap(found: Mapping[str, Any], seen: str, metrics: Iterable[str]) -> dict[str, float | None]:
    """A seen split minus the unseen one, from numbers computed before."""
    out = {}
    for name in metrics:
        keys = f"{seen}/{name}", f"{UNSEEN}/{name}"
        if all(key in found for key in keys):
            one, other = (found[key] for key in keys)
            out[f"gap/{name}"] = None if one is None or other is None else one - other
    return out
