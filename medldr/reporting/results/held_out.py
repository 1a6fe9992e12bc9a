"""Data sets with two or more held-out domains, one per run."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation import Run
from medldr.evaluation.class_mix import shares
from medldr.evaluation.comparison.averages import AveragedSet, metric_scores
from medldr.evaluation.comparison.comparison import Size
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.estimate import Estimate, Variance, spread
from medldr.evaluation.intervals.inference import inferred, of_mean
from medldr.evaluation.metrics.ranking import positives
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.averages import NOT_DRAWN
from medldr.reporting.results.class_mix import Chance, chance
from medldr.reporting.results.frame import HeldRun, domain_of, held_runs, score_frame, set_domains


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
            target: ``target_in``, ``target_out`` or ``target_all``.
            metric: The metric.
        """
        return self.scores.get((row, domain, target, metric), {})

    def on_domain(self, row: str, domain: str, target: str, metric: str) -> Estimate | None:
        """The mean over seeds on a domain, without an interval; None without a number."""
        values = list(self.values(row, domain, target, metric).values())
        planned = len(self.runs.get((row, domain), ()))
        return replace(spread(values), se=None, planned=planned) if values else None

    def seed_means(self, row: str, target: str, metric: str) -> dict[int, float]:
        """Mean over the domains within each seed that has them all."""
        of = [self.values(row, domain, target, metric) for domain in self.domains]
        seeds = sorted(set.intersection(*map(set, of)))
        return {seed: statistics.fmean(of_domain[seed] for of_domain in of) for seed in seeds}

    def variance(self, row: str, target: str, metric: str) -> Variance | str:
        """Variance of a method's mean over the domains, all of whose test sets are drawn together.

        Returns:
            The variance, or why there is none.
        """
        part, share = "" if target == "target_all" else target, 1 / len(self.domains)
        sets = list[AveragedSet]()
        for domain in self.domains:
            there = self.runs.get((row, domain), ())
            by_seed = {e.member.seed: e.run for e in there if e.run is not None}  # the last counts
            runs = [by_seed[seed] for seed in sorted(by_seed)]
            sets.append(AveragedSet(runs, "test", part, share, self.dataset))
        drawn = metric_scores(sets, metric)
        return NOT_DRAWN if drawn is None else of_mean(*drawn)


def mean_over_domains(data: HeldOut, row: str, target: str, metric: str) -> Estimate | None:
    """Over the domains within a seed, then over seeds; None where a run lacks a number."""
    means = data.seed_means(row, target, metric)
    planned = {entry.member.seed for entry in data.of(row)}
    if not means or set(means) != planned:
        return None
    mean = spread(list(means.values()))
    variance = data.variance(row, target, metric)
    ends = inferred(mean.mean or 0.0, variance, metric_facts(metric))
    return replace(mean, low=ends.low, high=ends.high, variance=ends.variance)


def seeds_over_sets(
    sets: Sequence[HeldOut], row: str, target: str, metric: str
) -> tuple[NDArray[np.float64], ...]:
    """``(k,)`` mean of each seed over several data sets; empty where their seeds differ."""
    of_sets = [found.seed_means(row, target, metric) for found in sets]
    if len({tuple(means) for means in of_sets}) != 1:
        return ()
    return (np.mean([[*means.values()] for means in of_sets], axis=0),)


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
    every = score_frame(study)
    kept = every.shown & every.reported & (every.dataset == dataset) & (every.domain == "")
    lines = every[kept & (every.split == "test") & every.held_out.isin(domains)]
    lines = lines.assign(target=lines.part.where(lines.part != "", "target_all"))
    columns = ["method", "held_out", "target", "metric", "seed", "value"]
    scores: dict[tuple[str, str, str, str], dict[int, float]] = {}
    for *place, seed, value in lines[columns].dropna().itertuples(index=False, name=None):
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


def _runs(data: HeldOut, domain: str) -> list[Run]:
    """Finished runs that held a domain out."""
    entries = [entry for row in data.rows for entry in data.runs.get((row, domain), ())]
    return [entry.run for entry in entries if entry.run is not None]
