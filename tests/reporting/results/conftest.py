"""Sweeps in memory, for tests of what is computed from several runs: no folder, no bootstrap."""

from types import SimpleNamespace

import numpy as np
import pytest

from medldr.evaluation.comparison.comparison import Comparison, Difference, Method, Score, Size
from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.evaluation.intervals.inference import inferred, of_seeds
from medldr.folders.run_record import RunRecord
from medldr.folders.sweep_record import Layout, Member
from medldr.metrics import metric_facts
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column

UNITS = 0.0004
"""Variance that test images give every mean, and every difference."""


def _record(facts):
    record = RunRecord.model_validate({"status": "done", **facts})
    record._content = facts
    return record


def _estimate(value, of_runs, metric):
    values = np.array(of_runs)
    variance = Variance((Source(UNITS, 99),), tuple(of_runs and _source(values)), 0.0, len(values))
    ends = inferred(value, variance, metric)
    n = len(values)
    return Estimate(value, low=ends.low, high=ends.high, n=n, planned=n, variance=variance)


def _source(*methods):
    fewest = min(map(len, methods))
    each = [float(values.var(ddof=1)) / len(values) for values in methods] if fewest > 1 else []
    return (of_seeds(each, fewest),) if each else ()


def _difference(place, row, minus, one, other):
    seeds = min(len(one), len(other))
    sources = _source(np.array(one), np.array(other))
    variance = Variance((Source(UNITS, 99),), sources, 0.0, seeds)
    value = float(np.mean(one) - np.mean(other))
    return Difference(*place, row, minus, inferred(value, variance), seeds=seeds)


@pytest.fixture
def in_memory():
    """A sweep in memory, with its compared columns.

    Every run's score is ``value(row, column, place, seed)``, where a place is None for the whole
    test split, or (split, domain). ``config``, ``facts`` and ``log`` give the configuration,
    `run.json` and `metrics.jsonl` of a run by row, column and seed; ``places`` the domains of a
    column, each with whether it was seen; ``without`` the runs that have no result.
    """

    def make(
        rows, columns, value, *, seeds=(0, 1, 2), config=lambda *_: {}, facts=lambda *_: {},
        log=lambda *_: (), places=lambda _: {}, without=(), values=lambda *_: ({}, {}), **layout,
    ):  # fmt: skip
        entries, found = [], []
        planned = Layout(**{"title": "Made", "reference": rows[0], **layout})
        for column in columns:
            done = {r: [s for s in seeds if (r, column, s) not in without] for r in rows}
            for row in rows:
                of_row, of_column = values(row, column)
                for seed in seeds:
                    name = f"{row}-{column}-s{seed}"
                    member = Member(name, f"{row}-{column}", seed, row, column,
                                    row_values=of_row, column_values=of_column)  # fmt: skip
                    if seed not in done[row]:
                        entries.append(Entry(member, "failed", planned=config(row, column, seed)))
                        continue
                    record = _record(facts(row, column, seed))
                    logged = tuple(log(row, column, seed))
                    files = RunFiles(name, config(row, column, seed), record, log=logged)
                    run = SimpleNamespace(oracle=False, predictions={})
                    entries.append(Entry(member, "done", run=run, files=files))
            found.append(_column(rows, column, done, len(seeds), value, places(column)))
        names = {row: row for row in rows}
        return Study("made", planned, tuple(entries), names, {c: c for c in columns}), found

    return make


def _column(rows, column, done, planned, value, places):
    metric = metric_facts("accuracy")
    scores, differences, splits = [], [], {}
    for split in dict.fromkeys(["test", *(split for split, _ in places)]):
        domains = [domain for of, domain in places if of == split]
        splits[split] = Size(10, domains={name: Size(5) for name in domains})
        for domain in (None, *domains):
            place = (split, domain) if domain or split != "test" else None
            of = {r: [value(r, column, place, seed) for seed in done[r]] for r in rows}
            of = {row: values for row, values in of.items() if values}
            for row, values in of.items():
                base = of.get(rows[0])
                where = split, domain, "accuracy"
                mean = _estimate(float(np.mean(values)), values, metric)
                seen = places.get((split, domain))
                scores.append(Score(*where, row, mean, tuple(values), seen))
                if row != rows[0] and base is not None:
                    differences.append(_difference(where, row, rows[0], values, base))
    methods = tuple(Method(row, seeds=tuple(done[row])) for row in rows if done[row])
    missing = {row: {"failed": planned - len(done[row])} for row in rows}
    comparison = Comparison("multi-class", rows[0], methods, splits, tuple(scores),
                            differences=tuple(differences))  # fmt: skip
    return Column(column, comparison if methods else None, dict.fromkeys(rows, planned), missing)
