"""The grid of a sweep: methods down, data sets across, the best marked as in a paper.

The best number of a column is often one of several that cannot be told apart. It is marked alone
only where every other row is clearly worse; else all that are not clearly worse share its mark. If
no row is clearly worse, none is marked.

Control and oracle rows do not compete: controls explain other rows, oracles have seen the test
split. Nor do rows whose runs chose their setting; without fresh seeds, no row of such a sweep is
marked. Nor does a number of fewer runs than others have, because runs may not be missing by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

from medldr.evaluation.comparison.findings import ALPHA
from medldr.evaluation.intervals.estimate import Estimate, Mark
from medldr.evaluation.intervals.inference import holm
from medldr.metrics import Metric, metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.averages import Averages
from medldr.reporting.results.comparisons import Column

Paired: TypeAlias = Callable[[str, str], float | None]
"""The p of the paired difference between two rows; None where there is none."""


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
    facts = metric_facts(metric)
    cells = {r: [column.estimate(split, metric, r) for column in shown] for r in study.rows}
    apart = {*study.layout.controls, *study.untested}
    if study.untested and not study.fresh:
        apart |= set(study.rows)
    competing = [r for r in study.rows if r not in apart and not study.oracle(r)]
    for number in range(len(shown)):
        estimates = {r: estimate for r in competing if (estimate := cells[r][number]) is not None}
        most = max((estimate.n or 0 for estimate in estimates.values()), default=0)
        full = {r: estimate.mean for r, estimate in estimates.items() if estimate.n == most}
        paired: Paired = partial(shown[number].paired_p, split, metric)
        for row, mark in marks(full, facts, paired).items():
            cells[row][number] = replace(estimates[row], marks=(mark,))
    averages: dict[str, Estimate] = {}
    of_columns = Averages(study, metric, split)
    if averaged and len(shown) > 1:
        for r, of_row in cells.items():  # a mean over sets needs every planned run of all of them
            whole = all(each is not None and each.n == each.planned for each in of_row)
            averages[r] = (of_columns.row(shown, r) if whole else None) or Estimate()
            averages[r] = replace(averages[r], n=None)
    means = {r: averages[r].mean for r in competing if averages}
    of_averages: Paired = partial(_average_p, of_columns, shown)
    for row, mark in marks(means, facts, of_averages).items():
        averages[row] = replace(averages[row], marks=(mark,))
    return Grid(metric, split, shown, cells, averages)


def _average_p(of: Averages, columns: Sequence[Column], one: str, other: str) -> float | None:
    """The p of the difference between the averages of two rows."""
    difference = of.minus(columns, one, other)
    return None if difference is None else difference.p


def marks(values: Mapping[str, float | None], known: Metric, paired: Paired) -> dict[str, Mark]:
    """Which rows are best, and which one is second where that is clear.

    ``best`` are the row with the best value and all that are not clearly worse: p of the paired
    difference below 0.05 after Holm's correction over all pairs, since the same data say which row
    is best. ``second`` is the next one after them, where it is likewise clearly better than all
    that follow. A row without any p, as one with few seeds, takes no part. Nothing is marked where
    no row is clearly worse than the best, neither more nor less of the metric is better, or it is
    one half of what a threshold gives.

    Args:
        values: By row.
        known: The metric.
        paired: The p of two rows.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> def paired(one, other):
        ...     return 0.5 if {one, other} == {"a", "b"} else 0.001
        >>> values = {"d": 0.5, "c": 0.6, "b": 0.79, "a": 0.8}
        >>> marks(values, metric_facts("accuracy"), paired)
        {'a': 'best', 'b': 'best', 'c': 'second'}
        >>> marks(values, metric_facts("ece"), paired)
        {}
    """
    if not known.better or known.biased or known.threshold:
        return {}
    defined = {row: value for row, value in values.items() if value is not None}
    ranked = sorted(defined, key=defined.__getitem__, reverse=known.better == "higher")
    found = {pair: paired(*pair) for pair in combinations(ranked, 2)}
    adjusted = {pair: p for pair, p in holm(found).items() if p is not None}
    clear = {pair for pair, p in adjusted.items() if p < ALPHA}
    tested = [row for row in ranked if any(row in pair for pair in adjusted)]
    if not tested:
        return {}
    best, *others = tested
    worse = [other for other in others if (best, other) in clear]
    if not worse:  # a mark on every row would say nothing
        return {}
    placed: dict[str, Mark] = {row: "best" for row in tested if row not in worse}
    following, *last = worse
    if last and all((following, other) in clear for other in last):
        placed[following] = "second"
    return placed
