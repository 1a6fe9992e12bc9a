"""From predictions to `evaluation.json`: metrics with intervals per split, class and domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import calibration, intervals, metrics, operating_point
from medldr.evaluation.judge import (
    CLASS_METRICS,
    DOMAIN_METRICS,
    WORST_DOMAIN,
    Judge,
    headline_metrics,
    positive_class,
)
from medldr.evaluation.pictures import pictures
from medldr.evaluation.sums import Array
from medldr.types import DataSpec, Predictions


def check(config: EvaluationConfig, spec: DataSpec, splits: Collection[str]) -> None:
    """Refuse before training what could not be scored after it.

    Args:
        config: What to score.
        spec: The data.
        splits: Splits that have rows.

    Raises:
        InputError: If none of the splits to score has rows, or the positive class does not exist.
    """
    positive_class(spec, config.positive_class)
    if not set(config.splits) & set(splits):
        raise InputError(
            f"evaluation.splits: the data has no rows in {', '.join(config.splits)}. "
            f"Splits: {', '.join(splits)}"
        )


def evaluate(
    predictions: Mapping[str, Predictions],
    config: EvaluationConfig,
    *,
    selection: Mapping[str, Any] | None = None,
    seen: Collection[str] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Judge one run.

    Args:
        predictions: One table per split. The threshold of ``sensitivity_at_specificity`` comes
            from ``val``, or from ``id_val`` where there is no ``val``.
        config: What to score, draws, bins, positive class, specificity.
        selection: Which weights these are: rule, split, epoch, step, value, oracle.
        seen: Names of the domains that training rows came from.
        notes: What a reader of the numbers must be told, from the data.

    Returns:
        The content of `evaluation.json`; plain values only, undefined numbers are None with a
        reason.

    Raises:
        InputError: If there is nothing to score, or the positive class does not exist.
    """
    tables = {split: predictions[split] for split in config.splits if split in predictions}
    if not tables:
        raise InputError(
            f"evaluation.splits: none of {', '.join(config.splits)} is in the predictions, "
            f"which hold: {', '.join(predictions) or '(nothing)'}"
        )
    first = next(iter(tables.values()))
    binary = first.task == "binary"
    positive = positive_class(first, config.positive_class)
    point = operating_point.OperatingPoint(config.specificity)
    if binary:
        point = operating_point.find(predictions, positive=positive, specificity=config.specificity)
    judges = {split: Judge(table, config.bins, positive, point) for split, table in tables.items()}
    found = {split: _Entry(judge, split, config) for split, judge in judges.items()}
    said = [note for split, judge in judges.items() for note in split_notes(split, judge)]
    return {
        "schema": 1,
        "task": first.task,
        "class_names": list(first.class_names),
        "positive_class": first.class_names[positive] if binary else None,
        "selection": dict(selection) if selection is not None else None,
        "intervals": {
            "method": "percentile bootstrap",
            "draws": config.draws,
            "seed": config.bootstrap_seed,
            "level": intervals.LEVEL,
        },
        "calibration": {"definition": calibration.definition(first.task), "bins": config.bins},
        "operating_point": asdict(point) if binary else None,
        "definitions": metrics.DEFINITIONS,
        "splits": {split: entry.content(seen) for split, entry in found.items()},
        "notes": [*notes, *said],
    }


class _Entry:
    """The entry of one split in `evaluation.json`."""

    def __init__(self, judge: Judge, split: str, config: EvaluationConfig) -> None:
        self.judge = judge
        self.values: dict[str, Array] = judge.values()
        self.draws = judge.draws(config.draws, config.bootstrap_seed, split)

    def content(self, seen: Collection[str]) -> dict[str, Any]:
        judge, table = self.judge, self.judge.table
        names = headline_metrics(table.task)
        return {
            "n": len(table),
            "n_groups": judge.units.count,
            "unit": judge.units.kind,
            "few_groups": judge.units.few,
            "absent_classes": absent_classes(judge),
            "metrics": {name: self.number(name) for name in names},
            "classes": {name: self.of_class(k) for k, name in enumerate(table.class_names)},
            "domains": {name: self.of_domain(name, seen) for name in judge.domains},
            "worst_domain": self.worst(),
            **pictures(judge),
        }

    def number(self, name: str) -> dict[str, Any]:
        value = self.values.get(name, np.array([np.nan]))[0]
        reason = self.judge.reason(name) if np.isnan(value) else None
        return intervals.number(value, self.draws.get(name), reason)

    def of_class(self, k: int) -> dict[str, Any]:
        numbers = {name: self.number(f"class/{k}/{name}") for name in CLASS_METRICS}
        return {"n": int(np.nansum(self.judge.truth[:, k])), **numbers}

    def of_domain(self, name: str, seen: Collection[str]) -> dict[str, Any]:
        rows = self.judge.domains[name]
        groups = len(np.unique(self.judge.units.number[rows]))
        return {
            "n": int(rows.sum()),
            "n_groups": groups,
            "few_groups": groups < intervals.FEW_GROUPS,
            "seen": name in seen,
            "metrics": {m: self.number(f"domain/{name}/{m}") for m in DOMAIN_METRICS},
        }

    def worst(self) -> dict[str, Any] | None:
        """The domain with the lowest accuracy; in each draw it may be another one."""
        if WORST_DOMAIN not in self.values:
            return None
        accuracy = {d: self.values.get(f"domain/{d}/accuracy") for d in self.judge.domains}
        known = {d: float(value[0]) for d, value in accuracy.items() if value is not None}
        return {"name": min(known, key=lambda d: known[d]), "accuracy": self.number(WORST_DOMAIN)}


def absent_classes(judge: Judge) -> list[str]:
    """Classes without an item (multi-label: labels without a positive) in the split."""
    occurs = np.nansum(judge.truth, axis=0) > 0
    return [c for c, there in zip(judge.table.class_names, occurs, strict=True) if not there]


def split_notes(split: str, judge: Judge) -> list[str]:
    """What a reader of a split's numbers must be told."""
    said = []
    if judge.why_not():
        said.append(f"{split}: nothing can be measured: {judge.why_not()}.")
    absent = absent_classes(judge)
    if absent:
        what = "positives" if judge.table.task == "multi-label" else "items"
        said.append(
            f"{split}: no {what} of {', '.join(absent)}; means over classes are over the others."
        )
    missing = int(np.isnan(judge.truth).sum())
    if missing:
        said.append(f"{split}: {missing} of {judge.truth.size} labels are missing and left out.")
    if judge.units.few:
        said.append(f"{split}: few groups ({judge.units.count}); intervals are too narrow.")
    return said


def flat(evaluation: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers of an evaluation under slash-separated keys, None where undefined.

    Keys are ``<split>/<metric>``, ``<split>/class/<class>/<metric>``,
    ``<split>/domain/<domain>/<metric>`` and ``<split>/worst_domain/accuracy``.
    """
    out: dict[str, float | None] = {}
    for split, judged in evaluation["splits"].items():
        groups = {f"{split}/": judged["metrics"]}
        groups |= {f"{split}/class/{c}/": numbers for c, numbers in judged["classes"].items()}
        groups |= {f"{split}/domain/{d}/": of["metrics"] for d, of in judged["domains"].items()}
        if judged["worst_domain"]:
            groups[f"{split}/worst_domain/"] = {"accuracy": judged["worst_domain"]["accuracy"]}
        for prefix, numbers in groups.items():
            named = {k: v for k, v in numbers.items() if isinstance(v, Mapping)}
            out |= {prefix + name: number["value"] for name, number in named.items()}
    return out
