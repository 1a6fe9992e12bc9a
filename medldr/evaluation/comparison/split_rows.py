"""All methods on one split, in the same bootstrap draws: the rows of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medldr.errors import InputError
from medldr.evaluation import intervals
from medldr.evaluation.comparison.runs import Method, Run, aligned
from medldr.evaluation.groups import WORST_GROUP
from medldr.evaluation.metrics import operating_point
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.split_entry import absent_classes
from medldr.evaluation.split_scores import (
    DOMAIN_METRICS,
    WORST_DOMAIN,
    SplitScores,
    headline_metrics,
    positive_class,
)
from medldr.types import Predictions

COMPARED = ("recall",)
"""Per-class metrics of a comparison; a run's own evaluation has more."""
DEFAULT_SPECIFICITY = 0.9
"""Used where the task has no operating point; no number depends on it."""


@dataclass(frozen=True)
class MethodScores:
    """One metric of one method: a value per run, and the mean over runs in each draw."""

    values: Array
    draws: Array

    @property
    def mean(self) -> float:
        """Mean over the runs; NaN where any is undefined."""
        return float(self.values.mean())


@dataclass(frozen=True)
class Settings:
    """The evaluation settings of all runs, which are those of the first one.

    Attributes:
        draws: Bootstrap draws.
        seed: Their seed.
        bins: Bins of the calibration error.
        positive_class: Of a binary task.
        specificity: At which sensitivity is reported.
    """

    draws: int
    seed: int
    bins: int
    positive_class: str | None
    specificity: float

    @classmethod
    def of(cls, run: Run) -> Settings:
        """The settings of a run.

        Raises:
            InputError: If its `evaluation.json` does not record how its intervals were made.
        """
        scored = run.evaluation
        if scored.intervals is None:
            raise InputError(
                f"{run.name}: its evaluation.json does not record how its intervals were made. Run "
                "`medldr evaluate` on the run to score it again"
            )
        point = scored.operating_point
        wanted = None if point is None else point.specificity
        return cls(
            scored.intervals.draws,
            scored.intervals.seed,
            scored.calibration.bins,
            scored.positive_class,
            DEFAULT_SPECIFICITY if wanted is None else wanted,
        )


class SplitRows:
    """All methods on one split, in the same bootstrap draws.

    Attributes:
        per_run: One per run, with the runs of a method adjacent; by group where all runs were.
        scores: By method and name of the metric (as in `SplitScores`).
        reasons: Why a mean is undefined, by the same key.
    """

    def __init__(
        self, split: str, known: Sequence[Method], base: Method, settings: Settings
    ) -> None:
        self.split, self.known, self.base = split, known, base
        runs = [run for method in known for run in method.runs]
        tables = aligned(runs, split)
        by_group = [_by_group(run, split) for run in runs]
        self.per_group, self.some_by_group = all(by_group), any(by_group)
        self.per_run = [
            _scores_of(run, table, settings, self.per_group)
            for run, table in zip(runs, tables, strict=True)
        ]
        draws, seed = settings.draws, settings.seed
        first = self.per_run[0]
        # One pass over the draws for all runs, so the weights of the groups are made only once.
        parts = [
            (f"{i}/{prefix}", sums)
            for i, scores in enumerate(self.per_run)
            for prefix, sums in scores.parts
        ]
        drawn = intervals.resample(
            parts, first.units, draws=draws, generator=intervals.stream(seed, split)
        )
        self.scores: dict[tuple[str, str], MethodScores] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        start = 0
        for method in known:
            members = range(start, start + len(method.runs))
            start += len(method.runs)
            self._add(method, members, drawn, draws, seed)

    def _add(
        self, method: Method, members: range, drawn: Mapping[str, Array], draws: int, seed: int
    ) -> None:
        weights = intervals.run_weights(
            len(members), draws, intervals.stream(seed, "runs", method.name)
        )
        values = [self.per_run[i].values() for i in members]
        of_run = [_under(f"{i}/", drawn) for i in members]
        of_run = [
            self.per_run[i].with_worst(found) for i, found in zip(members, of_run, strict=True)
        ]
        undefined, no_draws = np.array([np.nan]), np.full(draws, np.nan)
        for name in [*self.names(), *self.class_names()]:
            value = np.concatenate([found.get(name, undefined) for found in values])
            each = np.stack([found.get(name, no_draws) for found in of_run])
            self.scores[method.name, name] = MethodScores(value, intervals.over_runs(each, weights))
            odd = np.flatnonzero(np.isnan(value))
            if len(odd):
                scores, run = self.per_run[members[odd[0]]], method.runs[odd[0]]
                where = f"{run.name}: " if len(members) > 1 else ""
                self.reasons[method.name, name] = where + scores.reason(name)

    def names(self) -> list[str]:
        """Metrics of the split, of each domain, of the worst domain and the worst group."""
        scores = self.per_run[0]
        of_domains = [f"domain/{d}/{m}" for d in scores.domains for m in DOMAIN_METRICS]
        worst = [WORST_DOMAIN] if scores.domains else []
        worst += [WORST_GROUP] if self.per_group else []
        return headline_metrics(scores.table.task) + worst + of_domains

    def class_names(self) -> list[str]:
        """Metrics of single classes (or labels), named as in `SplitScores`."""
        count = len(self.per_run[0].table.class_names)
        return [f"class/{k}/{m}" for k in range(count) for m in COMPARED]

    def about(self) -> dict[str, Any]:
        """Sizes of the split and of its domains."""
        scores = self.per_run[0]
        return {
            "n": len(scores.table),
            "n_groups": scores.units.count,
            "unit": scores.units.kind,
            "few_groups": scores.units.few,
            "absent_classes": absent_classes(scores),
            "domains": {name: self._about_domain(name) for name in scores.domains},
        }

    def _about_domain(self, name: str) -> dict[str, Any]:
        scores = self.per_run[0]
        rows = scores.domains[name]
        groups = len(np.unique(scores.units.number[rows]))
        few = groups < intervals.FEW_GROUPS
        return {"n": int(rows.sum()), "n_groups": groups, "few_groups": few}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per metric and method, as `medldr.evaluation.compare` describes them."""
        about = self.about()
        for name in [*self.names(), *self.class_names()]:
            domain, metric = _parse(name)
            few = about["domains"][domain]["few_groups"] if domain else about["few_groups"]
            differences = {m.name: self._difference(m, name) for m in self.known}
            p = {m: d["p"] for m, d in differences.items() if d is not None}
            adjusted = intervals.holm(p)
            for method in self.known:
                difference = differences[method.name]
                if difference is not None:
                    difference["p_holm"] = adjusted[method.name]
                yield {
                    "split": self.split,
                    "domain": domain,
                    "seen": _seen(method, self.split, domain),
                    "metric": metric,
                    "method": method.name,
                    **self._numbers(method, name),
                    "few_groups": few,
                    "difference": difference,
                }

    def class_rows(self) -> Iterator[dict[str, Any]]:
        """One dict per class, metric and method, as `medldr.evaluation.compare` describes them."""
        table = self.per_run[0].table
        counts = np.nansum(self.per_run[0].truth, axis=0)
        for name in self.class_names():
            _, number, metric = name.split("/")
            for method in self.known:
                yield {
                    "split": self.split,
                    "class": table.class_names[int(number)],
                    "n": int(counts[int(number)]),
                    "metric": metric,
                    "method": method.name,
                    **self._numbers(method, name),
                }

    def contrasts(self, pairs: Sequence[tuple[Method, Method]]) -> Iterator[dict[str, Any]]:
        """One dict per metric and pair, as `medldr.evaluation.compare` describes them."""
        for name in self.names():
            domain, metric = _parse(name)
            found = {(one.name, other.name): self._minus(one, other, name) for one, other in pairs}
            labels = {str(number): pair for number, pair in enumerate(found)}
            adjusted = intervals.holm({k: found[pair]["p"] for k, pair in labels.items()})
            for number, pair in labels.items():
                yield {
                    "split": self.split,
                    "domain": domain,
                    "metric": metric,
                    "method": pair[0],
                    "minus": pair[1],
                    **found[pair],
                    "p_holm": adjusted[number],
                }

    def _numbers(self, method: Method, name: str) -> dict[str, Any]:
        scores = self.scores[method.name, name]
        whole = intervals.number(scores.mean, scores.draws, self.reasons.get((method.name, name)))
        several = len(scores.values) > 1 and whole["value"] is not None
        return {
            "runs": len(scores.values),
            "values": [None if np.isnan(v) else float(v) for v in scores.values],
            "mean": whole["value"],
            "sd": float(scores.values.std(ddof=1)) if several else None,
            **{key: whole[key] for key in ("low", "high", "reason")},
        }

    def _difference(self, method: Method, name: str) -> dict[str, Any] | None:
        return None if method.name == self.base.name else self._minus(method, self.base, name)

    def _minus(self, method: Method, base: Method, name: str) -> dict[str, Any]:
        one, other = self.scores[method.name, name], self.scores[base.name, name]
        draws = one.draws - other.draws
        reason = self.reasons.get((method.name, name)) or self.reasons.get((base.name, name))
        out = intervals.number(one.mean - other.mean, draws, reason)
        p = intervals.p_value(draws) if out["value"] is not None else None
        return {**{k: out[k] for k in ("value", "low", "high", "reason")}, "p": p, "p_holm": None}


def _by_group(run: Run, split: str) -> bool:
    """Whether a run's own evaluation scored the groups of a split."""
    scored = run.evaluation.splits.get(split)
    return scored is not None and scored.worst_group is not None


def _scores_of(run: Run, table: Predictions, settings: Settings, per_group: bool) -> SplitScores:
    """Score a run with the settings of the first one and its own threshold."""
    positive, wanted = positive_class(table, settings.positive_class), settings.specificity
    point = operating_point.OperatingPoint(wanted)
    if table.task == "binary":
        point = operating_point.find(run.predictions, positive=positive, specificity=wanted)
    return SplitScores(table, settings.bins, positive, point, per_group)


def _under(prefix: str, found: Mapping[str, Array]) -> dict[str, Array]:
    return {name[len(prefix) :]: v for name, v in found.items() if name.startswith(prefix)}


def _parse(name: str) -> tuple[str | None, str]:
    if name in (WORST_DOMAIN, WORST_GROUP):
        return None, name.removesuffix("/accuracy")
    if not name.startswith("domain/"):
        return None, name
    domain, metric = name[len("domain/") :].rsplit("/", 1)
    return domain, metric


def _seen(method: Method, split: str, domain: str | None) -> bool | None:
    if domain is None:
        return None
    scored = method.runs[0].evaluation.splits.get(split)
    entry = None if scored is None else scored.domains.get(domain)
    return None if entry is None else entry.seen
