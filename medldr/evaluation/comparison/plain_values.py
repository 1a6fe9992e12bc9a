"""A comparison as the plain values that `medldr.evaluation.compare` describes, ready for JSON."""

from __future__ import annotations

from typing import Any

from medldr.evaluation.comparison.comparison import (
    Comparison,
    Difference,
    Method,
    Score,
    Size,
)
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.score import DEFINITIONS


def plain_values(comparison: Comparison) -> dict[str, Any]:
    """Dicts, lists, texts and numbers.

    Args:
        comparison: The comparison.
    """
    to_reference = {d[:4]: d for d in comparison.differences if d.family == "reference"}
    written = {
        "schema": 1,
        "task": comparison.task,
        "class_names": list(comparison.class_names),
        "positive_class": comparison.positive_class,
        "intervals": None if comparison.intervals is None else comparison.intervals.written(),
        "calibration": comparison.calibration.written(),
        "definitions": DEFINITIONS,
        "reference": comparison.reference,
        "methods": [_method(method, comparison.footnotes) for method in comparison.methods],
        "splits": {name: _split(size) for name, size in comparison.splits.items()},
        "rows": [
            _row(score, to_reference.get(score[:4]), comparison) for score in comparison.scores
        ],
        "gaps": [
            {"metric": gap.metric, "method": gap.method, "seen": gap.seen}
            | {"value": gap.estimate.mean, **_ends(gap.estimate), "note": gap.note or None}
            for gap in comparison.gaps
        ],
        "contrasts": [_pair(d) for d in comparison.differences if d.family == "asked"],
        "pairs": [_pair(d) for d in comparison.differences if d.family == "competing"],
        "degenerate": [collapse._asdict() for collapse in comparison.collapses],
        "classes": [
            {"split": score.split, "class": score.class_, "n": score.n, "n_groups": score.n_groups}
            | {"metric": metric, "method": score.method, **_mean(score)}
            for score in comparison.classes
            for metric in [score.metric.rpartition("/")[2]]
        ],
        "footnotes": list(comparison.footnotes),
        "missing": [missing._asdict() for missing in comparison.missing],
        "notes": list(comparison.notes),
    }
    return (
        written if comparison.margin is None else {**written, "margin": comparison.margin._asdict()}
    )


def _method(method: Method, footnotes: tuple[str, ...]) -> dict[str, Any]:
    written = {key: value for key, value in vars(method).items() if key != "control"}
    numbers = [footnotes.index(text) + 1 for text in method.footnotes]
    lists = {"seeds": list(method.seeds), "runs": list(method.runs), "footnotes": numbers}
    return {"method": written.pop("name"), **written, **lists}


def _split(size: Size) -> dict[str, Any]:
    keys = ("n", "n_groups", "unit", "few_groups", "absent_classes", "class_shares", "domains")
    of_domain = ("n", "n_groups", "few_groups", "unit", "class_shares")
    domains = {
        name: {key: getattr(domain, key) for key in of_domain}
        for name, domain in size.domains.items()
    }
    written = {key: getattr(size, key) for key in keys}
    return {**written, "absent_classes": list(size.absent_classes), "domains": domains}


def _row(score: Score, difference: Difference | None, comparison: Comparison) -> dict[str, Any]:
    """A mean beside its difference from the reference, which is judged where there is a margin."""
    minus = None if difference is None else _difference(difference)
    if minus and difference and comparison.margin and comparison.margin.metric == score.metric:
        minus["non_inferiority"] = difference.non_inferiority
    place = {key: getattr(score, key) for key in ("split", "domain", "seen", "metric", "method")}
    return {**place, **_mean(score), "few_groups": score.few_groups, "difference": minus}


def _mean(score: Score) -> dict[str, Any]:
    mean = score.estimate
    written = {"runs": score.runs, "values": list(score.values), "sd": mean.sd, "noise": mean.noise}
    return {**written, "mean": mean.mean, **_ends(mean), "variance": _variance(mean)}


def _pair(difference: Difference) -> dict[str, Any]:
    keys = ("split", "domain", "metric", "method", "minus")
    return {**{key: getattr(difference, key) for key in keys}, **_difference(difference)}


def _difference(difference: Difference) -> dict[str, Any]:
    value, variance = difference.estimate, difference.estimate.variance
    return {
        "value": value.mean,
        "low": value.low,
        "high": value.high,
        "p": value.p,
        "reason": value.reason or None,
        "share_of_seeds": None if variance is None else variance.share_of_seeds,
        "variance": _variance(value),
        "p_holm": difference.p_holm,
    }


def _ends(value: Estimate) -> dict[str, Any]:
    return {"low": value.low, "high": value.high, "reason": value.reason or None}


def _variance(value: Estimate) -> dict[str, Any] | None:
    return None if value.variance is None else value.variance.written()
