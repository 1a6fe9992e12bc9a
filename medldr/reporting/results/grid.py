"""The grid of a sweep: methods down, data sets across, the best marked as in a paper.

The best and the second best of a column are decided on the printed numbers, so numbers that look
equal share the mark. Control and oracle rows do not compete: controls explain other rows, oracles
have seen the test split. Nor does a number of fewer runs than others have, because runs may not be
missing by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from medldr.evaluation.estimate import Estimate, Mark
from medldr.metrics import Metric, metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.held_out import plain_average


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
        for row, mark in marks(full, known).items():
            cells[row][number] = replace(there[row], marks=(mark,))
    averages: dict[str, Estimate] = {}
    if averaged and len(shown) > 1:
        for r, of_row in cells.items():  # a mean over sets needs every planned run of all of them
            whole = [
                each if each is not None and each.n == each.planned else None for each in of_row
            ]
            averages[r] = plain_average(whole, metric) or Estimate()
    for row, mark in marks({r: averages[r].mean for r in competing if averages}, known).items():
        averages[row] = replace(averages[row], marks=(mark,))
    return Grid(metric, split, shown, cells, averages)


def marks(values: Mapping[str, float | None], known: Metric) -> dict[str, Mark]:
    """Which values are the best and the second best, as they are printed.

    A metric of which neither more nor less is better has no best, and neither has a single value,
    nor several that are all the same.

    Example:
        >>> accuracy = metric_facts("accuracy")
        >>> marks({"a": 0.7004, "b": 0.7001, "c": 0.69, "d": 0.5, "e": None}, accuracy)
        {'a': 'best', 'b': 'best', 'c': 'second'}
        >>> marks({"a": 0.1, "b": 0.2}, metric_facts("ece")), marks({"a": 0.1}, accuracy)
        ({'a': 'best', 'b': 'second'}, {})
    """
    shown = {key: float(known.show(v)) for key, v in values.items() if v is not None}
    ranked = sorted(set(shown.values()), reverse=known.better == "higher")
    if not known.better or len(ranked) < 2:
        return {}
    names: dict[float, Mark] = {ranked[0]: "best", ranked[1]: "second"}
    return {key: names[value] for key, value in shown.items() if value in names}
