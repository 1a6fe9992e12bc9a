"""Data sets with two or more held-out domains, one per run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation import Run
from medldr.evaluation.class_mix import shares
from medldr.evaluation.comparison.averages import AveragedSet, metric_scores
from medldr.evaluation.comparison.comparison import Size
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.estimate import Estimate, Mark, Variance, spread
from medldr.evaluation.intervals.inference import inferred, of_mean
from medldr.evaluation.metrics.ranking import positives
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.averages import NOT_DRAWN
from medldr.reporting.results.class_mix import Chance, chance, mean_of_levels
from medldr.reporting.results.frame import score_frame
from medldr.reporting.results.held_runs import HeldRun, domain_of, held_runs, set_domains

SEEN = "seen"
"""In place of a target: images of the domains trained on, of id_test, else of id_val."""


class LostRun(NamedTuple):
    """A run without a result; `state` is the reason, or that it was not planned."""

    domain: str
    seed: int
    state: str


@dataclass
class HeldOut:
    """All runs of one data set that held a single domain out.

    Attributes:
        dataset: The data set.
        domains: Domains that were held out, in the order of the data set.
        never: Domains of the data set that no run held out.
        rows: Methods from top to bottom, controls last.
        controls: Those that are set apart.
        searched: Those that were chosen among several settings.
        runs: Method and domain to the runs.
        scores: Method, domain, target and metric to the numbers by seed.
    """

    dataset: str
    domains: list[str]
    never: list[str]
    rows: list[str]
    controls: list[str]
    searched: list[str]
    runs: dict[tuple[str, str], list[Entry]]
    scores: Mapping[tuple[str, str, str, str], Mapping[int, float]] = field(repr=False)

    def of(self, row: str) -> list[Entry]:
        """All runs of a method."""
        return [entry for domain in self.domains for entry in self.runs.get((row, domain), ())]

    def values(self, row: str, domain: str, target: str, metric: str) -> Mapping[int, float]:
        """A metric of a method's runs on a domain, by seed; runs without it are left out.

        Args:
            row: The method.
            domain: The domain.
            target: ``target_in``, ``target_out``, ``target_all`` or `SEEN`.
            metric: The metric.
        """
        return self.scores.get((row, domain, target, metric), {})

    def seed_means(self, row: str, target: str, metric: str) -> dict[int, float]:
        """Mean over the domains within each seed that has them all."""
        of = [self.values(row, domain, target, metric) for domain in self.domains]
        seeds = sorted(set.intersection(*map(set, of)))
        return {seed: statistics.fmean(of_domain[seed] for of_domain in of) for seed in seeds}

    def variance(self, row: str, metric: str, weights: Mapping[str, float]) -> Variance | str:
        """Variance of a method's mean over the domains, all of whose test sets are drawn together.

        Args:
            row: The method.
            metric: The metric.
            weights: Of the target, and of `SEEN` where it is taken off.

        Returns:
            The variance, or why there is none.
        """
        sets = list[AveragedSet]()
        for domain in self.domains:
            there = self.runs.get((row, domain), ())
            by_seed = {e.member.seed: e.run for e in there if e.run is not None}  # the last counts
            runs = [by_seed[seed] for seed in sorted(by_seed)]
            for target, weight in weights.items():
                split, part = "test", "" if target == "target_all" else target
                if target == SEEN:
                    inside = all("id_test" in run.predictions for run in runs)
                    split, part = "id_test" if inside else "id_val", ""
                share = weight / len(self.domains)
                sets.append(AveragedSet(runs, split, part, share, self.dataset))
        drawn = metric_scores(sets, metric)
        return NOT_DRAWN if drawn is None else of_mean(*drawn)

    def missing(self, row: str) -> list[LostRun]:
        """Runs without a result, also those that nobody planned."""
        seeds = sorted({entry.member.seed for entry in self.of(row)})
        lost = []
        for domain in self.domains:
            planned = {entry.member.seed: entry for entry in self.runs.get((row, domain), ())}
            for seed in seeds:
                if seed not in planned:
                    lost.append(LostRun(domain, seed, "not planned"))
                elif planned[seed].run is None:
                    lost.append(LostRun(domain, seed, planned[seed].state))
        return lost

    def unscored(self, row: str, target: str, metric: str) -> bool:
        """Whether a finished run has no number on a target."""
        numbers = sum(len(self.values(row, domain, target, metric)) for domain in self.domains)
        return numbers < sum(entry.run is not None for entry in self.of(row))


def mean_over_domains(data: HeldOut, row: str, target: str, metric: str) -> Estimate | None:
    """Over the domains within a seed, then over seeds; None where a run lacks a number."""
    means = data.seed_means(row, target, metric)
    planned = {entry.member.seed for entry in data.of(row)}
    if not means or set(means) != planned:
        return None
    mean = spread(list(means.values()))
    variance = data.variance(row, metric, {target: 1.0})
    ends = inferred(mean.mean or 0.0, variance, metric_facts(metric))
    return replace(mean, low=ends.low, high=ends.high, variance=ends.variance)


def seeds_over_sets(
    sets: Sequence[HeldOut], row: str, target: str, metric: str
) -> tuple[NDArray[np.float64], ...]:
    """``(k,)`` mean of each seed over several data sets; empty where their seeds differ."""
    of_sets = [found.seed_means(row, target, metric) for found in sets]
    if len({tuple(means) for means in of_sets}) != 1:
        return ()
    return (
        np.array(
            [
                statistics.fmean(of)
                for of in zip(*(means.values() for means in of_sets), strict=True)
            ]
        ),
    )


class RowScores(NamedTuple):
    """What a table says of one method.

    Attributes:
        by_domain: In the order of the domains; the lowest is marked. None without a number.
        mean: Over the domains.
        seen: The same mean on the seen domains; None without a mean over the held-out ones.
        lost: Seen minus unseen.
    """

    by_domain: tuple[Estimate | None, ...]
    mean: Estimate | None
    seen: Estimate | None
    lost: Estimate | None


def row_scores(data: HeldOut, row: str, target: str, metric: str) -> RowScores:
    """A metric of one method on a target."""
    values = {d: list(data.values(row, d, target, metric).values()) for d in data.domains}
    lowest = _lowest(values, metric_facts(metric).better)
    by_domain: list[Estimate | None] = [spread(of) if of else None for of in values.values()]
    for place, domain in enumerate(values):
        if (own := by_domain[place]) is not None:
            planned = len(data.runs.get((row, domain), ()))
            marks: tuple[Mark, ...] = ("lowest",) if domain == lowest else ()
            by_domain[place] = replace(own, se=None, planned=planned, marks=marks)
    total = mean_over_domains(data, row, target, metric)
    seen, unseen = (data.seed_means(row, where, metric) for where in (SEEN, target))
    if total is None or set(seen) != set(unseen):
        return RowScores(tuple(by_domain), total, None, None)
    lost = statistics.fmean(seen[seed] - unseen[seed] for seed in unseen)
    of_seen = replace(spread(list(seen.values())), se=None)
    ends = inferred(lost, data.variance(row, metric, {SEEN: 1.0, target: -1.0}))
    return RowScores(tuple(by_domain), total, of_seen, Estimate(lost, low=ends.low, high=ends.high))


def _lowest(values: Mapping[str, Sequence[float]], better: str) -> str:
    """The domain on which a method does worst; empty where one has no number or several do.

    Example:
        >>> _lowest({"a": [0.5], "b": [0.4, 0.2]}, "higher")
        'b'
        >>> _lowest({"a": [0.1, 0.2], "b": [0.15, 0.15]}, "higher")  # 0.15000000000000002 and 0.15
        ''
    """
    means = {domain: statistics.fmean(of) for domain, of in values.items() if of}
    if len(means) < len(values) or not better:
        return ""  # the worst of some domains may not be the worst of all
    worst = (min if better == "higher" else max)(means.values())
    lowest = [domain for domain, mean in means.items() if math.isclose(mean, worst, abs_tol=1e-9)]
    return lowest[0] if len(lowest) == 1 else ""


def held_out_sets(study: Study) -> list[HeldOut]:
    """Data sets with two or more domains held out, one at a time."""
    sets: dict[str, list[HeldRun]] = {}
    for run in held_runs(study, study.entries):
        if len(run.domains) == 1:
            sets.setdefault(run.dataset, []).append(run)
    several = {name: of for name, of in sets.items() if len({run.domains for run in of}) > 1}
    return [_held_out(study, name, of_set) for name, of_set in several.items()]


def _held_out(study: Study, dataset: str, of_set: list[HeldRun]) -> HeldOut:
    names = list(dict.fromkeys(run.domains[0] for run in of_set))
    domains = set_domains(dataset, [run.entry for run in of_set])
    domains = [domain_of(names, name) or name for name in domains]
    domains += [name for name in names if name not in domains]
    chosen = {pick.row for pick in study.picks if pick.by and pick.settings > 1}
    member_rows: dict[str, set[str]] = {}
    runs: dict[tuple[str, str], list[Entry]] = {}
    for run in of_set:
        member_rows.setdefault(run.row, set()).add(run.entry.member.row)
        runs.setdefault((run.row, run.domains[0]), []).append(run.entry)
    controls = [row for row, rows in member_rows.items() if rows & set(study.layout.controls)]
    return HeldOut(
        dataset,
        domains=[name for name in domains if name in names],
        never=[name for name in domains if name not in names],
        rows=sorted(member_rows, key=lambda row: row in controls),
        controls=controls,
        searched=[row for row, rows in member_rows.items() if rows & chosen],
        runs=runs,
        scores=_scores(study, dataset, names),
    )


def _scores(
    study: Study, dataset: str, domains: list[str]
) -> dict[tuple[str, str, str, str], dict[int, float]]:
    """Numbers by the reported rule; of several runs of one place the last one counts."""
    import pandas as pd

    every = score_frame(study)
    reported = every.shown & every.reported & (every.dataset == dataset) & (every.domain == "")
    lines = every[reported & every.held_out.isin(domains)].dropna(subset="value")
    test = lines[lines.split == "test"]
    test = test.assign(target=test.part.where(test.part != "", "target_all"))
    seen = lines[lines.split.isin(["id_test", "id_val"])].assign(target=SEEN)
    seen = seen.sort_values("split", ascending=False, kind="stable")  # id_test last, for it counts
    lines = pd.concat([test, seen])[["method", "held_out", "target", "metric", "seed", "value"]]
    scores: dict[tuple[str, str, str, str], dict[int, float]] = {}
    for *place, seed, value in lines.itertuples(index=False, name=None):
        scores.setdefault(tuple(place), {})[seed] = value
    return scores


def held_size(data: HeldOut, domain: str, target: str) -> Size | None:
    """A held-out domain, as one of the runs that held it out was evaluated; None without any.

    Args:
        data: The runs of a data set.
        domain: The domain.
        target: ``target_in``, ``target_out`` or ``target_all``.
    """
    runs = _runs(data, domain)
    if not runs or "test" not in runs[0].predictions:
        return None
    table = runs[0].predictions["test"]
    if target != "target_all":
        table = table.select(table.part == target)
    if not len(table):
        return None
    units = bootstrap.units(table)
    mix = shares(positives(table.label, len(table.class_names), table.task))
    named = {n: float(v) for n, v in zip(table.class_names, mix, strict=True) if v == v}
    return Size(len(table), units.count, units.few, unit=units.kind, class_shares=named)


def held_chance(data: HeldOut, domain: str, target: str) -> Chance | None:
    """Chance level on a held-out domain; None where its labels are not known."""
    size = held_size(data, domain, target)
    return None if size is None else chance(size, _runs(data, domain)[0].evaluation.task)


def mean_chance(data: HeldOut, target: str) -> Chance | None:
    """Its mean over the domains; None where any has none."""
    return mean_of_levels([held_chance(data, domain, target) for domain in data.domains])


def _runs(data: HeldOut, domain: str) -> list[Run]:
    """Finished runs that held a domain out."""
    entries = [entry for row in data.rows for entry in data.runs.get((row, domain), ())]
    return [entry.run for entry in entries if entry.run is not None]
