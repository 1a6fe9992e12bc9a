"""All methods on one split, in the same bootstrap draws: the rows of a comparison."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from medldr.evaluation import intervals, single_run
from medldr.evaluation.class_mix import shares
from medldr.evaluation.comparison.runs import Method, Run, aligned
from medldr.evaluation.comparison.scoring import Settings, recorded_noise, scores_of
from medldr.evaluation.degenerate import degenerate
from medldr.evaluation.groups import WORST_GROUP
from medldr.evaluation.inference import NO_SPREAD, Scores, numbers, of_difference, of_mean
from medldr.evaluation.metrics.counts import confusion
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.single_run import BIASED
from medldr.evaluation.split_entry import absent_classes
from medldr.evaluation.split_scores import (
    DOMAIN_METRICS,
    WORST_DOMAIN,
    SplitScores,
)
from medldr.metrics import metric_facts

COMPARED = ("recall",)
"""Per-class metrics of a comparison; a run's own evaluation has more."""
NOT_SMOOTH = "no interval: which one is lowest changes with the test images"
"""Which domain or group is the lowest changes with the draw, and always to the lower side."""


class SplitRows:
    """All methods on one split, in the same bootstrap draws.

    Attributes:
        per_run: One per run, with the runs of a method adjacent; by group where all runs were.
        scores: By method and name of the metric (as in `SplitScores`).
        reasons: Why a mean is undefined, by the same key.
    """

    def __init__(
        self,
        split: str,
        known: Sequence[Method],
        base: Method,
        settings: Settings,
        controls: Collection[str] = (),
    ) -> None:
        self.split, self.known, self.base, self.controls = split, known, base, controls
        runs = [run for method in known for run in method.runs]
        tables = aligned(runs, split)
        by_group = [_by_group(run, split) for run in runs]
        self.per_group, self.some_by_group = all(by_group), any(by_group)
        self.per_run = [
            scores_of(run, table, settings, self.per_group)
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
        self.scores: dict[tuple[str, str], Scores] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        self.first: dict[str, int] = {}
        start = 0
        for method in known:
            members = range(start, start + len(method.runs))
            self.first[method.name] = start
            start += len(method.runs)
            self._add(method, members, drawn, draws)

    def _add(self, method: Method, members: range, drawn: Mapping[str, Array], draws: int) -> None:
        no_draws = np.full(draws, np.nan)
        for name in [*self.names(), *self.class_names()]:
            value = np.array([self.per_run[i].values.get(name, np.nan) for i in members])
            each = np.stack([drawn.get(f"{i}/{name}", no_draws) for i in members])
            self.scores[method.name, name] = Scores(value, each)
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
        return scores.headline + worst + of_domains

    def class_names(self) -> list[str]:
        """Metrics of single classes (or labels), named as in `SplitScores`."""
        count = len(self.per_run[0].table.class_names)
        return [f"class/{k}/{m}" for k in range(count) for m in COMPARED]

    def units(self, name: str) -> int:
        """Number of test units that a metric of `names` or `class_names` depends on."""
        return self.per_run[0].units_of(name)

    def about(self) -> dict[str, Any]:
        """Sizes of the split and of its domains."""
        scores = self.per_run[0]
        return {
            "n": len(scores.table),
            "n_groups": scores.units.count,
            "unit": scores.units.kind,
            "few_groups": scores.units.few,
            "absent_classes": absent_classes(scores),
            "class_shares": _named(scores, scores.shares),
            "domains": {name: self._about_domain(name) for name in scores.domains},
        }

    def _about_domain(self, name: str) -> dict[str, Any]:
        scores = self.per_run[0]
        rows = scores.domains[name]
        groups = len(np.unique(scores.units.number[rows]))
        few = groups < intervals.FEW_GROUPS
        return {
            "n": int(rows.sum()),
            "n_groups": groups,
            "few_groups": few,
            "unit": scores.units.kind,
            "class_shares": _named(scores, shares(scores.truth[rows])),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per metric and method, as `medldr.evaluation.compare` describes them."""
        about = self.about()
        for name in [*self.names(), *self.class_names()]:
            domain, metric = _parse(name)
            few = about["domains"][domain]["few_groups"] if domain else about["few_groups"]
            differences = {m.name: self._difference(m, name) for m in self.known}
            # Controls explain other methods; they are no further chances of finding one better.
            family = {
                m: d["p"]
                for m, d in differences.items()
                if d is not None and m not in self.controls
            }
            adjusted = intervals.holm(family)
            for method in self.known:
                difference = differences[method.name]
                if difference is not None:
                    difference["p_holm"] = adjusted.get(method.name)
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
                    "n_groups": self.units(name),
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

    def pairs(self) -> Iterator[dict[str, Any]]:
        """One dict per metric and two methods, as `medldr.evaluation.compare` describes them."""
        oracles = {m.name for m in self.known if any(run.oracle for run in m.runs)}
        competing = [m for m in self.known if m.name not in oracles and m.name not in self.controls]
        for metric in self.per_run[0].headline:
            for one, other in combinations(competing, 2) if not metric_facts(metric).biased else ():
                place = {"split": self.split, "domain": None, "metric": metric}
                between = {"method": one.name, "minus": other.name}
                yield {**place, **between, **self._minus(one, other, metric)}

    def degenerate(self) -> Iterator[dict[str, Any]]:
        """One dict per run that no accuracy should be read without."""
        runs = [(method.name, run.seed) for method in self.known for run in method.runs]
        for (name, seed), scores in zip(runs, self.per_run, strict=True):
            table = scores.table
            counts = None if scores.why_not() else confusion(table.label, table.prob, table.task)
            found = degenerate(counts, table.class_names)
            if found is not None:
                yield {"split": self.split, "method": name, "seed": seed, **found._asdict()}

    def _numbers(self, method: Method, name: str) -> dict[str, Any]:
        scores, metric = self.scores[method.name, name], metric_facts(name)
        several = len(scores.values) > 1 and not np.isnan(scores.mean)
        reason = self.reasons.get((method.name, name))
        variance = _no_interval(name, scores) or of_mean(scores, self.units(name))
        whole = numbers(scores.mean, variance, reason, metric)
        # A single run has the interval of its own evaluation: it is of this network alone. So has a
        # share that is the same for every seed in every draw, as where all images are right.
        same = bool(metric.share) and whole["reason"] == NO_SPREAD
        if (len(scores.values) == 1 or same) and not _no_interval(name):
            sample = self.per_run[self.first[method.name]].sample(name)
            whole |= single_run.number(metric, scores.mean, scores.draws[0], sample, reason)
        whole["mean"] = whole["value"]
        if metric.biased and whole["value"] is not None:
            whole["reason"] = None  # the noise beside it says why it has no interval
        return {
            "runs": len(scores.values),
            "values": [None if np.isnan(v) else float(v) for v in scores.values],
            "sd": float(scores.values.std(ddof=1)) if several else None,
            "noise": recorded_noise(method.runs, self.split, *_parse(name)),
            **{key: whole[key] for key in ("mean", "low", "high", "reason", "variance")},
        }

    def _difference(self, method: Method, name: str) -> dict[str, Any] | None:
        return None if method.name == self.base.name else self._minus(method, self.base, name)

    def _minus(self, method: Method, base: Method, name: str) -> dict[str, Any]:
        one, other = self.scores[method.name, name], self.scores[base.name, name]
        reason = self.reasons.get((method.name, name)) or self.reasons.get((base.name, name))
        variance = _no_interval(name, one, other) or of_difference(one, other, self.units(name))
        found = numbers(one.mean - other.mean, variance, reason, span=metric_facts(name).span)
        if any(run.oracle for each in (method, base) for run in each.runs):
            found["p"] = None  # weights chosen on the test split make any p meaningless
        return {**found, "p_holm": None}


def _named(scores: SplitScores, values: Array) -> dict[str, float]:
    """Shares by class; a label that no item knows has none."""
    names = scores.table.class_names
    return {n: float(v) for n, v in zip(names, values, strict=True) if not np.isnan(v)}


def _no_interval(name: str, *scores: Scores) -> str:
    """Why a number has no interval; empty if it may have one."""
    metric = metric_facts(name)
    if name in (WORST_DOMAIN, WORST_GROUP):
        return NOT_SMOOTH
    if metric.biased:
        return BIASED
    infinite = (single_run.often_infinite(metric, each) for of in scores for each in of.draws)
    return next(filter(None, infinite), "")


def _by_group(run: Run, split: str) -> bool:
    """Whether a run's own evaluation scored the groups of a split."""
    scored = run.evaluation.splits.get(split)
    return scored is not None and scored.worst_group is not None


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
