"""The grid of a sweep: methods down, data sets across, the best marked as in a paper.

What counts as the best of a column is in `medldr.reporting.results.ranks`. Control and oracle rows
do not compete: controls explain other rows, oracles have seen the test split. Nor does a number of
fewer runs than others have, because runs may not be missing by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from medldr.evaluation.estimate import Estimate
from medldr.evaluation.inference import average
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.held_out import plain_average
from medldr.reporting.results.ranks import Paired, marks


@dataclass(frozen=True)
class Grid:
    """One metric of all methods on all sets.

    Attributes:
        metric: The metric.
        split: The split.
        columns: Sets whose runs could be compared.
        cells: By row, an estimate for each column; None where no run has a result.
        averages: By row, the mean over the columns, undefined unless every planned run is there;
            empty where the columns are not averaged.
    """

    metric: str
    split: str
    columns: Sequence[Column]
    cells: Mapping[str, Sequence[Estimate | None]]
    averages: Mapping[str, Estimate]


def make_grid(
    study: Study, columns: Sequence[Column], metric: str, split: str, *, averaged: bool
) -> Grid:
    """Lay one metric out; columns whose runs cannot be compared are left out.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric.
        split: The split.
        averaged: Whether a mean over several columns says anything.
    """
    shown = [column for column in columns if not column.problem]
    known = metric_facts(metric)
    cells = {r: [column.estimate(split, metric, r) for column in shown] for r in study.rows}
    competing = [r for r in study.rows if r not in study.layout.controls and not study.oracle(r)]
    for number in range(len(shown)):
        there = {r: found for r in competing if (found := cells[r][number]) is not None}
        most = max((found.n or 0 for found in there.values()), default=0)
        full = {r: found.mean for r, found in there.items() if found.n == most}
        paired: Paired = partial(shown[number].paired_p, split, metric)
        for row, mark in marks(full, known, paired).items():
            cells[row][number] = replace(there[row], marks=(mark,))
    averages: dict[str, Estimate] = {}
    if averaged and len(shown) > 1:
        for r, of_row in cells.items():  # a mean over sets needs every planned run of all of them
            whole = [
                each if each is not None and each.n == each.planned else None for each in of_row
            ]
            averages[r] = plain_average(whole, metric) or Estimate()
    means = {r: averages[r].mean for r in competing if averages}
    of_averages: Paired = partial(_average_p, shown, split, metric, cells)
    for row, mark in marks(means, known, of_averages).items():
        averages[row] = replace(averages[row], marks=(mark,))
    return Grid(metric, split, shown, cells, averages)


def _average_p(
    columns: Sequence[Column],
    split: str,
    metric: str,
    cells: Mapping[str, Sequence[Estimate | None]],
    one: str,
    other: str,
) -> float | None:
    """The p of the difference between the averages of two rows: over the sets variances add up."""
    pairs = [column.pair(split, metric, one, other) for column in columns]
    means = [(a.mean, b.mean) for a, b in zip(cells[one], cells[other], strict=True) if a and b]
    apart = [a - b for a, b in means if a is not None and b is not None]
    found = average(apart, [None if p is None else p.estimate.variance for p in pairs], None)[0]
    return found.p
