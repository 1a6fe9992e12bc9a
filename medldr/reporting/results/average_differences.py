"""Differences of averages over data sets: what a table of several sets is read for."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.comparison.records import Difference
from medldr.evaluation.estimate import Estimate
from medldr.evaluation.inference import average
from medldr.evaluation.intervals import holm
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column


def average_differences(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> dict[str, Difference]:
    """Each row minus the reference, averaged over all sets.

    As for the averages themselves, every planned run of the row and of the reference has to be
    there. The sets are a fixed choice, and their variances add up. Holm's correction is over the
    rows, without controls and oracles.

    Args:
        study: The sweep.
        columns: The sets.
        metric: The metric.
        split: The split.
    """
    found: dict[str, Difference] = {}
    whole = [row for row in study.rows if all(_whole(c, split, metric, row) for c in columns)]
    for row in whole if study.reference in whole else ():
        pairs = [column.difference(split, metric, row) for column in columns]
        there = [pair for pair in pairs if pair is not None and pair.estimate.mean is not None]
        if len(there) < len(columns):
            continue
        values = [pair.estimate.mean or 0.0 for pair in there]
        inferred, variance = average(values, [pair.estimate.variance for pair in there])
        p = None if any(pair.p is None for pair in there) else inferred.p
        mean = sum(values) / len(values)
        estimate = Estimate(mean, low=inferred.low, high=inferred.high, variance=variance)
        share = None if variance is None else variance.share_of_seeds
        found[row] = Difference(estimate, p, share_of_seeds=share)
    family = {row: of.p for row, of in found.items() if row not in study.layout.controls}
    adjusted = holm(family)
    return {row: of._replace(p_holm=adjusted.get(row)) for row, of in found.items()}


def _whole(column: Column, split: str, metric: str, row: str) -> bool:
    found = column.estimate(split, metric, row)
    return found is not None and found.n == found.planned
