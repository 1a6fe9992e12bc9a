"""All methods on one split, in the same bootstrap draws: their means and their differences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np

from medldr.evaluation.class_mix import shares
from medldr.evaluation.comparison.comparison import (
    Collapse,
    Difference,
    Family,
    Score,
    Size,
    corrected,
)
from medldr.evaluation.comparison.runs import MethodRuns, Run, aligned
from medldr.evaluation.comparison.scoring import Settings, recorded_noise, scores_of
from medldr.evaluation.curves import confusion
from medldr.evaluation.groups import WORST_GROUP
from medldr.evaluation.intervals import bootstrap, single_run
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import (
    NO_SPREAD,
    Scores,
    inferred,
    of_difference,
    of_mean,
)
from medldr.evaluation.intervals.single_run import BIASED
from medldr.evaluation.metrics.counts import degenerate
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.split_entry import absent_classes
from medldr.evaluation.split_scores import DOMAIN_METRICS, WORST_DOMAIN, SplitScores
from medldr.metrics import metric_facts

COMPARED = ("recall",)
"""Per-class metrics of a comparison; a run's own evaluation has more."""
OF_LABELS = ("sensitivity_at_specificity", "specificity_at_threshold")
"""The same of labels, which are decided at their own thresholds."""
NOT_SMOOTH = "no interval: which one is lowest changes with the test images"
"""Which domain or group is the lowest changes with the draw, and always to the lower side."""


class SplitComparison:
    """All methods on one split, in the same bootstrap draws.

    Args:
        split: The split.
        methods: All methods.
        base: The reference.
        settings: How runs are scored.
        prefix: In front of each metric: ``by_group/`` where the rows of the runs are groups.

    Attributes:
        per_run: One per run, with the runs of a method adjacent; by group where all runs were.
        scores: By method and name of the metric (as in `SplitScores`).
        reasons: Why a mean is undefined, by the same key.
        first: Place of the first run of each method in `per_run`.
    """

    def __init__(
        self,
        split: str,
        methods: Sequence[MethodRuns],
        base: MethodRuns,
        settings: Settings,
        prefix: str = "",
    ) -> None:
        self.split, self.methods, self.base, self.prefix = split, methods, base, prefix
        runs = [run for method in methods for run in method.runs]
        tables = aligned(runs, split)
        by_group = [not prefix and _by_group(run, split) for run in runs]
        self.per_group, self.some_by_group = all(by_group), any(by_group)
        self.per_run = [
            scores_of(run, table, settings, self.per_group)
            for run, table in zip(runs, tables, strict=True)
        ]
        # One pass over the draws for all runs, so the weights of the groups are made only once.
        parts = [
            (f"{i}/{prefix}", sums)
            for i, scores in enumerate(self.per_run)
            for prefix, sums in scores.parts
        ]
        generator = bootstrap.stream(settings.seed, split)
        unit = self.per_run[0].units
        drawn = bootstrap.resample(parts, unit, draws=settings.draws, generator=generator)
        self.scores: dict[tuple[str, str], Scores] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        self.first: dict[str, int] = {}
        start = 0
        for method in methods:
            self.first[method.name] = start
            self._add(method, start, drawn, settings.draws)
            start += len(method.runs)

    def _add(self, method: MethodRuns, start: int, drawn: Mapping[str, Array], draws: int) -> None:
        no_draws = np.full(draws, np.nan)
        members = range(start, start + len(method.runs))
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
        """Metrics of single classes (or labels), named as in `SplitScores`; of images alone."""
        count = 0 if self.prefix else len(self.per_run[0].table.class_names)
        metrics = COMPARED + (OF_LABELS if self.per_run[0].labels else ())
        return [f"class/{k}/{m}" for k in range(count) for m in metrics]

    def units(self, name: str) -> int:
        """Number of test units that a metric of `names` or `class_names` depends on."""
        return self.per_run[0].units_of(name)

    def size(self) -> Size:
        """Sizes of the split and of its domains."""
        scores = self.per_run[0]
        domains = {}
        for name, rows in scores.domains.items():
            (n, groups), mix = scores.size(rows), _by_class(scores, shares(scores.truth[rows]))
            domains[name] = Size(
                n, groups, groups < bootstrap.FEW_GROUPS, {}, scores.units.kind, mix
            )
        units, mix = scores.units, _by_class(scores, scores.shares)
        absent = tuple(absent_classes(scores))
        return Size(len(scores.table), units.count, units.few, domains, units.kind, mix, absent)

    @cached_property
    def estimates(self) -> dict[tuple[str, str], Estimate]:
        """The mean of each method over its runs, by method and name of the metric."""
        names = [*self.names(), *self.class_names()]
        return {(m.name, name): self._estimate(m, name) for name in names for m in self.methods}

    def _estimate(self, method: MethodRuns, name: str) -> Estimate:
        scores, metric = self.scores[method.name, name], metric_facts(name)
        reason = self.reasons.get((method.name, name), "")
        variance = _no_interval(name, scores) or of_mean(scores, self.units(name))
        estimate = inferred(scores.mean, variance, metric, reason=reason)
        # A single run has the interval of its own evaluation: it is of this network alone. So has a
        # share that is the same for every seed in every draw, as where all images are right, and
        # one of exactly 0 or 1: how the threshold spreads over draws says nothing of its images.
        same = bool(metric.share) and (estimate.reason == NO_SPREAD or scores.mean in (0, 1))
        if (len(scores.values) == 1 or same) and not _no_interval(name):
            sample = self.per_run[self.first[method.name]].sample(name)
            own = single_run.number(metric, scores.mean, scores.draws.mean(axis=0), sample, reason)
            ends = {"low": own["low"], "high": own["high"]}
            estimate = replace(estimate, mean=own["value"], reason=own["reason"] or "", **ends)
        if metric.biased and estimate.mean is not None:
            # The noise beside it says why it has no interval.
            estimate = replace(estimate, reason="")
        several = len(scores.values) > 1 and estimate.mean is not None
        return replace(
            estimate,
            sd=float(scores.values.std(ddof=1)) if several else None,
            noise=recorded_noise(method.runs, self.split, *self._place(name)),
        )

    def means(self) -> Iterator[Score]:
        """One per metric and method."""
        size, names = self.size(), self.per_run[0].table.class_names
        counts = np.nansum(self.per_run[0].truth, axis=0).astype(int).tolist()
        for (method, name), estimate in self.estimates.items():
            domain, metric = self._place(name)
            few = size.domains[domain].few_groups if domain else size.few_groups
            seen, values = self._seen(method, domain), self._values(method, name)
            score = Score(self.split, domain, metric, method, estimate, values, seen, few)
            if name.startswith("class/"):
                k = int(name.split("/")[1])
                score = score._replace(class_=names[k], n=counts[k], n_groups=self.units(name))
            yield score

    def _place(self, name: str) -> tuple[str | None, str]:
        """Domain and metric of a name; no domain for what is of the whole split."""
        domain, metric = None, name
        if name in (WORST_DOMAIN, WORST_GROUP):
            metric = name.removesuffix("/accuracy")
        elif name.startswith("domain/"):
            domain, metric = name[len("domain/") :].rsplit("/", 1)
        return domain, f"{self.prefix}{metric}"

    def _values(self, method: str, name: str) -> tuple[float | None, ...]:
        values = self.scores[method, name].values
        return tuple(None if np.isnan(value) else float(value) for value in values)

    def _seen(self, method: str, domain: str | None) -> bool | None:
        if domain is None:
            return None
        first = next(m.runs[0] for m in self.methods if m.name == method)
        scored = first.evaluation.splits.get(self.split)
        entry = None if scored is None else scored.domains.get(domain)
        return None if entry is None else entry.seen

    def differences(
        self, pairs: Sequence[tuple[MethodRuns, MethodRuns]], controls: Collection[str]
    ) -> Iterator[Difference]:
        """Every method minus the reference, the pairs asked for, and all that compete.

        Args:
            pairs: Methods to compare further: the first minus the second.
            controls: Methods that explain others: no further chances of finding one better.
        """
        others = [method for method in self.methods if method.name != self.base.name]
        for name in [*self.names(), *self.class_names()]:
            column = [self._minus(method, self.base, name, "reference") for method in others]
            yield from corrected(column, controls)
        for name in self.names():
            asked = {(one.name, other.name): (one, other) for one, other in pairs}
            yield from corrected([self._minus(*pair, name, "asked") for pair in asked.values()])
        competing = [m for m in self.methods if not m.oracle and m.name not in controls]
        for name in self.per_run[0].headline:
            if not metric_facts(name).biased:
                for pair in combinations(competing, 2):
                    yield self._minus(*pair, name, "competing")

    def _minus(self, method: MethodRuns, base: MethodRuns, name: str, family: Family) -> Difference:
        one, other = self.scores[method.name, name], self.scores[base.name, name]
        reason = self.reasons.get((method.name, name)) or self.reasons.get((base.name, name), "")
        variance = _no_interval(name, one, other) or of_difference(one, other, self.units(name))
        span = metric_facts(name).span
        estimate = inferred(one.mean - other.mean, variance, reason=reason, span=span)
        if method.oracle or base.oracle:
            # Weights chosen on the test split make any p meaningless.
            estimate = replace(estimate, p=None)
        seeds = min(len(method.runs), len(base.runs))
        place = self.split, *self._place(name), method.name, base.name
        return Difference(*place, estimate, seeds=seeds, family=family)

    def collapses(self) -> Iterator[Collapse]:
        """One per run that no accuracy should be read without."""
        runs = [(method.name, run.seed) for method in self.methods for run in method.runs]
        for (method, seed), scores in zip(runs, self.per_run, strict=True):
            counts = confusion(scores, at_thresholds=True)
            wrong = degenerate(counts, scores.table.class_names)
            if wrong is not None:
                yield Collapse(self.split, method, seed, *wrong)


def _by_class(scores: SplitScores, values: Array) -> dict[str, float]:
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
