"""Averages over the columns of a sweep: of each row, and of the differences between rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from medldr.config.sections import dataset_name
from medldr.evaluation.comparison.averages import AveragedSet, metric_scores, share_units
from medldr.evaluation.comparison.comparison import Difference, corrected
from medldr.evaluation.intervals.estimate import Estimate, Variance
from medldr.evaluation.intervals.inference import (
    Scores,
    average,
    inferred,
    of_difference,
    of_mean,
)
from medldr.evaluation.metrics.sums import Array
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column

NOT_DRAWN = "no interval: the runs cannot be drawn together"
SEEDS_APART = "no interval: columns share test images, and not all were trained with the same seeds"


class Cell(NamedTuple):
    """The runs of a row in a column."""

    column: Column
    row: str


Cells: TypeAlias = tuple[Cell, ...]


@dataclass(eq=False)
class Averages:
    """Unweighted means of one metric over cells, whose test images may be the same.

    Cells with test units in common are drawn together. Those without have independent test sets,
    whose variances add up as their columns were compared. The spread over seeds is that of each
    seed's own mean; cells of different seeds count as unrelated.

    Attributes:
        study: The sweep.
        metric: The metric.
        split: The split.
    """

    study: Study
    metric: str
    split: str
    _drawn: dict[tuple[tuple[str, str], ...], tuple[Scores, int] | None] = field(
        default_factory=dict, repr=False
    )
    _shared: dict[tuple[tuple[str, str], ...], bool] = field(default_factory=dict, repr=False)

    def row(self, columns: Sequence[Column], row: str) -> Estimate | None:
        """The mean of a row; None unless every column has a result."""
        return self.mean([Cell(column, row) for column in columns])

    def mean(self, cells: Sequence[Cell]) -> Estimate | None:
        """The mean of some cells; None unless each has a result.

        Its runs are those of the cell that has the fewest. A single cell is left as it is.
        """
        each = [cell.column.estimate(self.split, self.metric, cell.row) for cell in cells]
        facts, of = metric_facts(self.metric), tuple(cells)
        seeds = self._by_seed(of)
        mean = average(each, facts, seeds=() if seeds is None else (seeds,))
        if mean is None or len(each) == 1:
            return mean if mean is None or each[0] is None else replace(each[0], marks=())
        if mean.variance is not None and self.shared(of):
            variance = self._of_shared(of)
            mean = inferred(mean.mean or 0.0, variance, facts)
        runs = [one.n for one in each if one is not None and one.n is not None]
        return replace(mean, n=min(runs, default=None))

    def minus(self, columns: Sequence[Column], row: str, other: str) -> Difference | None:
        """The mean of a row minus that of another one; None unless every column has both."""
        pairs = [
            column.difference(self.split, self.metric, row)
            if other == self.study.reference
            else column.pair(self.split, self.metric, row, other)
            or column.contrast(self.split, self.metric, (row, other))
            for column in columns
        ]
        known = [pair for pair in pairs if pair is not None and pair.estimate.mean is not None]
        if not known or len(known) < len(pairs):
            return None
        each = [d.estimate if d.method == row else d.estimate.turned for d in known]
        ours, theirs = (tuple(Cell(column, name) for column in columns) for name in (row, other))
        seeds = [of for cells in (ours, theirs) if (of := self._by_seed(cells)) is not None]
        span = metric_facts(self.metric).span
        mean = average(each, seeds=seeds if len(seeds) == 2 else (), span=span)
        if mean is None:
            return None
        if len(each) > 1 and mean.variance is not None and self.shared(ours):
            mean = inferred(mean.mean or 0.0, self._of_shared(ours, theirs), span=span)
        if any(pair.p is None for pair in known):
            mean = replace(mean, p=None)
        barred = next((pair.barred for pair in known if pair.barred), "")
        fewest = min(pair.seeds for pair in known)
        place = self.split, None, self.metric, row, other
        return Difference(*place, mean, seeds=fewest, barred=barred)

    def shared(self, cells: Cells) -> bool:
        """Whether a test unit is in several cells."""
        key = tuple((cell.column.name, cell.row) for cell in cells)
        if key not in self._shared:  # marks ask for every pair of rows
            sets = self._sets(cells)
            self._shared[key] = share_units([each for each in sets if each.runs])
        return self._shared[key]

    def apart(self, cells: Sequence[Cell]) -> bool:
        """Whether the cells were trained with different seeds."""
        return len({self._seeds(cell) for cell in cells}) > 1

    def _of_shared(self, *methods: Cells) -> Variance | str:
        """The variance of a mean, or of the difference of two, in common draws."""
        drawn = [self._joint(cells) for cells in methods]
        if any(map(self.apart, methods)):
            return SEEDS_APART
        known = [each for each in drawn if each is not None]
        if len(known) < len(methods):
            return NOT_DRAWN
        (first, units), *others = known
        return of_difference(first, others[0][0], units) if others else of_mean(first, units)

    def _joint(self, cells: Cells) -> tuple[Scores, int] | None:
        key = tuple((cell.column.name, cell.row) for cell in cells)
        if key not in self._drawn:
            alike = not self.apart(cells)
            self._drawn[key] = metric_scores(self._sets(cells), self.metric) if alike else None
        return self._drawn[key]

    def _sets(self, cells: Cells) -> list[AveragedSet]:
        sets = []
        for column, row in cells:
            entries = [e for e in self.study.of(row, column.name) if e.run is not None]
            entries.sort(key=lambda entry: entry.member.seed)
            runs = tuple(entry.run for entry in entries if entry.run is not None)
            names = {dataset_name(e.config, e.files.facts) for e in entries if e.files is not None}
            data = " + ".join(sorted(names))
            first = next((e.run for e in self.study.of(column=column.name) if e.run), None)
            sets.append(AveragedSet(runs, self.split, "", 1 / len(cells), data, first))
        return sets

    def _seeds(self, cell: Cell) -> tuple[int, ...]:
        found = cell.column.comparison
        methods = () if found is None else found.methods
        return next((method.seeds for method in methods if method.name == cell.row), ())

    def _by_seed(self, cells: Cells) -> Array | None:
        """The mean of each seed over the cells; None where their seeds differ or one has none."""
        each = []
        for cell in cells:
            found = cell.column.comparison
            score = None if found is None else found.score(self.split, self.metric, cell.row)
            each.append(() if score is None else score.values)
        values = np.array(each if len(set(map(len, each))) == 1 else [], np.float64)  # None: NaN
        if self.apart(cells) or not values.size or np.isnan(values).any():
            return None
        return np.asarray(values.mean(axis=0))


def average_differences(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> dict[str, Difference]:
    """Each row minus the reference, averaged over all columns.

    As for the averages themselves, every planned run of the row and of the reference has to be
    there. The columns are a fixed choice. Holm's correction is over the rows, without controls and
    oracles.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric.
        split: The split.
    """
    averages = Averages(study, metric, split)
    whole = [row for row in study.rows if all(_whole(c, split, metric, row) for c in columns)]
    rows = [row for row in whole if row != study.reference and study.reference in whole]
    found = [averages.minus(columns, row, study.reference) for row in rows]
    known = [difference for difference in found if difference is not None]
    return {of.method: of for of in corrected(known, study.layout.controls)}


def _whole(column: Column, split: str, metric: str, row: str) -> bool:
    estimate = column.estimate(split, metric, row)
    return estimate is not None and estimate.n == estimate.planned
