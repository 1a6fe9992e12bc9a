"""The numbers of a sweep as one flat table, for programs: the lines of `report.csv`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from medldr.config.method import augmentation_id
from medldr.evaluation.comparison.comparison import Comparison, Difference, Score
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import inferred
from medldr.folders.run_record import what_ran
from medldr.metrics import metric_facts
from medldr.reporting.published.numbers import beside
from medldr.reporting.results.class_mix import chance
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.frame import rule_means
from medldr.reporting.results.held_out import HeldOut, mean_over_domains
from medldr.reporting.sections.rows import chance_heading
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.leaks import leaks_over_seeds, measured
from medldr.reporting.sections.sweep.missing_runs import missing_text
from medldr.reporting.wording import TARGETS

Line: TypeAlias = dict[str, Any]

FIELDS = (
    "kind", "column", "split", "domain", "class", "metric", "row", "status", "runs", "planned",
    "mean", "sd", "low", "high", "reason", "var_units", "var_seeds", "var_run_unit",
    "low_these_seeds", "high_these_seeds", "low_these_patients", "high_these_patients",
    "compared_with", "difference", "difference_low",
    "difference_high", "p", "p_holm", "published", "published_source", "published_protocol",
    "protocol", "same_protocol", "oracle", "control", "title", "column_title", "rule",
    "augmentation", "published_augmentation", "images", "groups", "medldr_version", "git", "torch",
    "device",
)  # fmt: skip
"""
``kind`` is ``result``, ``contrast`` (a chosen pair: ``row`` minus ``compared_with``), ``rule`` (a
selection rule besides the one that runs report, which ``rule`` names in the other lines),
``latents`` (what they tell of the domain, see `medldr.evaluation.representation.leaks`) or
``majority`` (always the most frequent class, which ``class`` names: no method). ``images`` and
``groups`` (patients, slides; empty without ids) count what was evaluated; the last four columns say
what ran, several values where runs of a row differ. ``row``
and ``column`` are the names of the sweep file, the titles what tables print. An empty number is
undefined, and ``reason`` says why; ``published`` is the first number that tables show next to ours.

Of a mean over seeds: its variance is ``var_units`` (which patients, else images, were tested) plus
``var_seeds`` (which seeds were trained; not below 0); ``var_run_unit``, the noise of one network on
one patient, is within the first. ``low`` and ``high`` are for other patients and other seeds, those
of ``these_seeds`` for these networks alone, those of ``these_patients`` for these patients alone,
whose degrees of freedom are the seeds' own: of two or three seeds they may be the widest.
"""


HELD_OUT_FIELDS = ("dataset", "seed", "se")
"""
Further fields where one domain was held out at a time. ``kind`` is then ``left_out`` too: ``row``
is the method as printed, ``split`` target_in or target_all, ``domain`` the held-out one, or
``mean`` for the mean over all; a line with a ``seed`` is of that seed alone.
"""


def csv_fields(results: Results) -> tuple[str, ...]:
    """The columns of `report.csv`; `HELD_OUT_FIELDS` follow where a domain was held out."""
    return (*FIELDS, *(HELD_OUT_FIELDS if results.held_out else ()))


def csv_lines(results: Results) -> Iterator[Line]:
    """One line per column, split, domain, class, metric and row."""
    for column in results.columns:
        yield from _column(results, column)
    for found in results.held_out:
        yield from _held_out(found, results.metrics[0])


def _held_out(found: HeldOut, metric: str) -> Iterator[Line]:
    """Every seed of every method, domain and target, and the means over domains."""
    for row in found.rows:
        head: Line = {"kind": "left_out", "dataset": found.dataset, "metric": metric, "row": row}
        head["control"] = row in found.controls
        for target in TARGETS:
            total = mean_over_domains(found, row, target, metric)
            by_domain = {d: found.values(row, d, target, metric) for d in found.domains}
            by_domain["mean"] = {} if total is None else found.seed_means(row, target, metric)
            for domain, values in by_domain.items():
                for seed, value in values.items():
                    place = {"split": target, "domain": domain, "seed": seed}
                    yield {**head, **place, "runs": 1, "mean": value}
            if total is not None:
                numbers = {"runs": total.n, "mean": total.mean, "sd": total.sd, "se": total.se}
                ends = {"low": total.low, "high": total.high}
                ends |= _sources(total, metric)
                yield {**head, "split": target, "domain": "mean", **numbers, **ends}


def _column(results: Results, column: Column) -> Iterator[Line]:
    keys, found = results.study.keys, column.comparison
    heads = {r: _head(results, column, r) for r in results.study.rows if r in column.planned}
    for score in () if found is None else found.scores:
        difference = column.difference(score.split, score.metric, score.method, score.domain)
        minus = _minus(difference, keys[results.study.reference])
        more = {**minus, **_published(results, column, score)}
        yield {**heads[score.method], **_place(score), **_size(found, score), **more}
    yield from _majority(results, column)
    for each in () if found is None else found.classes:
        yield {**heads[each.method], **_of_class(each), **_size(found, each, of_class=True)}
    for row in heads:
        if found is None or all(score.method != row for score in found.scores):
            for metric in results.metrics:
                yield {**heads[row], "split": "test", "metric": metric, "runs": 0}
        yield from ({**heads[row], **line} for line in _latents(results, column, row))
    asked = () if found is None else found.differences
    for pair in (difference for difference in asked if difference.family == "asked"):
        place = {"split": pair.split, "domain": pair.domain, "metric": pair.metric}
        place["reason"] = pair.estimate.reason
        minus = _minus(pair, keys[pair.minus])
        yield {**heads[pair.method], "kind": "contrast", **place, **minus}
    for split in column.splits:
        for metric in results.metrics:
            place = {"kind": "rule", "split": split, "metric": metric}
            for of_rule in rule_means(results.study, column.name, metric, split):
                chosen = {"rule": of_rule.rule, "oracle": of_rule.oracle}
                mean = of_rule.estimate
                numbers = {"runs": mean.n, "mean": mean.mean, "sd": mean.sd}
                if not of_rule.reported:
                    yield {**heads[of_rule.row], **place, **chosen, **numbers}


def _latents(results: Results, column: Column, row: str) -> Iterator[Line]:
    """What the latents of a method tell of the domain, over its seeds."""
    each = list(measured(results.study, column.name, row))
    for metric, split in {key: of.split for of in each for key in of.metrics}.items():
        mean = leaks_over_seeds(results.study, metric, column.name, row)
        numbers = {} if mean is None else {"runs": mean.n, "mean": mean.mean, "sd": mean.sd}
        yield {"kind": "latents", "split": split, "metric": metric, **numbers}


def _majority(results: Results, column: Column) -> Iterator[Line]:
    """Chance level on each split: a line for every metric that it says something of."""
    found = column.comparison
    head = {"kind": "majority", "column": results.study.column_keys[column.name]}
    for split, size in {} if found is None else found.splits.items():
        level = None if found is None else chance(size, found.task)
        if level is None:
            continue
        place = {"column_title": column.name, "title": chance_heading(level), "split": split}
        counts = {"class": level.name, "images": size.n, "groups": size.groups}
        for metric, value in level.values.items():
            yield {**head, **place, **counts, "metric": metric, "mean": value}


def _size(found: Comparison | None, score: Score, *, of_class: bool = False) -> Line:
    """Images and groups behind a score; groups only where images are known to belong to some."""
    if found is None:
        return {}
    size = found.splits[score.split]
    if of_class:
        return {"images": score.n, "groups": None if size.groups is None else score.n_groups}
    size = size if score.domain is None else size.domains[score.domain]
    return {"images": size.n, "groups": size.groups}


def _what_ran(results: Results, column: Column, row: str) -> Line:
    """Code and device of the runs of a row; several values where they differ."""
    there = [entry.files for entry in results.study.of(row, column.name)]
    each = [what_ran(files.record) for files in there if files is not None and files.record]
    found: dict[str, dict[str, None]] = {}
    for fact, value in (pair for facts in each for pair in facts.items()):
        found.setdefault(fact, {}).update({} if value is None else {value: None})
    return {fact: "; ".join(values) for fact, values in found.items()}


def _head(results: Results, column: Column, row: str) -> Line:
    study = results.study
    files = study.files(row, column.name)
    return {
        "kind": "result",
        "column": study.column_keys[column.name],
        "row": study.keys[row],
        "status": _status(column, row),
        "planned": column.planned[row],
        "protocol": None if files is None else files.protocol,
        "rule": None if files is None else next(iter(files.by_rule), None),
        "augmentation": None if files is None else augmentation_id(files.config),
        "oracle": study.oracle(row),
        "control": row in study.layout.controls,
        "title": row,
        "column_title": column.name,
        **_what_ran(results, column, row),
    }


def _status(column: Column, row: str) -> str:
    if column.problem:
        return f"not comparable: {column.problem}"
    missing = missing_text(column.missing[row])
    whole = sum(column.missing[row].values()) == column.planned[row]
    return (missing if whole else f"partly: {missing}") if missing else "done"


def _place(score: Score) -> Line:
    """What a score is of, and its numbers."""
    of = {key: getattr(score, key) for key in ("split", "domain", "metric", "runs")}
    numbers = ("mean", "sd", "low", "high", "reason")
    found = {key: getattr(score.estimate, key) for key in numbers}
    return {**of, **found, **_sources(score.estimate, score.metric)}


def _sources(found: Estimate, metric: str) -> Line:
    """Where the variance of a mean over seeds comes from, and the interval of each source alone."""
    whole = found.variance
    if found.mean is None or whole is None or not whole.seeds:
        return {}
    units = sum(source.variance for source in whole.units)
    line: Line = {"var_units": units, "var_seeds": whole.of_seeds, "var_run_unit": whole.noise}
    alone = {
        "these_seeds": replace(whole, seeds=(), noise=0.0),
        "these_patients": replace(whole, units=(), noise=0.0),
    }
    for name, variance in alone.items():
        ends = inferred(found.mean, variance, metric_facts(metric))
        line |= {f"low_{name}": ends.low, f"high_{name}": ends.high}
    return line


def _of_class(score: Score) -> Line:
    return {**_place(score), "class": score.class_, "metric": score.metric.rpartition("/")[2]}


def _minus(difference: Difference | None, other: str) -> Line:
    if difference is None:
        return {}
    found = difference.estimate
    numbers = {"difference": found.mean, "difference_low": found.low, "difference_high": found.high}
    return {**numbers, "p": difference.p, "p_holm": difference.p_holm, "compared_with": other}


def _published(results: Results, column: Column, score: Score) -> Line:
    if score.split != "test" or score.domain is not None:
        return {}
    found = beside(results.study, column.name, score.method, score.metric)
    if not found:
        return {}
    entry = found[0].entry
    return {
        "published": entry.value,
        "published_source": entry.source,
        "published_protocol": entry.protocol,
        "published_augmentation": entry.augmentation,
        "same_protocol": found[0].same,
    }
