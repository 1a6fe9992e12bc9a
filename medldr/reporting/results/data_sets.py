"""Which columns of a sweep are independent data sets, and which are parts of one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from medldr.config.sections import dataset_name, held_out
from medldr.evaluation.estimate import Estimate
from medldr.evaluation.inference import average
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column


@dataclass(frozen=True)
class DataSet:
    """One data set of a sweep.

    Attributes:
        name: As printed: of its column, or of the data where it has several.
        data: Its name, the same in every sweep.
        columns: One, or one for each domain that was held out.
        held_out: What each column held out; empty strings for a column that held nothing out.
        shared: Whether another entry has the same test images, as columns of several batch sizes
            do: no two of these are independent.
    """

    name: str
    data: str
    columns: tuple[Column, ...]
    held_out: tuple[str, ...]
    shared: bool = False

    def estimate(self, split: str, metric: str, row: str) -> Estimate | None:
        """The mean of a row, over its held-out domains if there are several.

        Returns:
            None unless every column has a result.
        """
        return mean_of([column.estimate(split, metric, row) for column in self.columns], metric)


def mean_of(found: Sequence[Estimate | None], metric: str) -> Estimate | None:
    """The plain mean over test sets that share no image; a single one is left as it is.

    Args:
        found: One per test set.
        metric: The metric.

    Returns:
        None unless each is defined. Runs are those of the test set that has the fewest.
    """
    known = [each for each in found if each is not None and each.mean is not None]
    if not known or len(known) < len(found):
        return None
    if len(known) == 1:
        return replace(known[0], marks=())
    values = [each.mean or 0.0 for each in known]
    ends, variance = average(values, [each.variance for each in known], metric_facts(metric))
    runs = [each.n for each in known if each.n is not None]
    return Estimate(
        statistics.fmean(values), low=ends.low, high=ends.high, variance=variance,
        n=min(runs, default=None),
    )  # fmt: skip


def data_sets(study: Study, columns: Sequence[Column]) -> list[DataSet]:
    """The data sets of a sweep, in the order of its columns; columns without results are left out.

    Columns of one data set that hold different domains out are one entry; those that hold the same
    out, or nothing, are several that share their test images.
    """
    by_data: dict[str, list[tuple[Column, str]]] = {}
    for column in columns:
        if column.comparison is None:
            continue
        there = [e for e in study.of(column=column.name) if e.files is not None]
        names = {dataset_name(e.config, e.files.facts) for e in there if e.files is not None}
        held = {" + ".join(held_out(e.config)) for e in there}
        data = " + ".join(sorted(names))
        by_data.setdefault(data, []).append((column, held.pop() if len(held) == 1 else ""))
    found = []
    for data, of_data in by_data.items():
        held_each = tuple(held for _, held in of_data)
        if len(of_data) == 1:
            found.append(DataSet(of_data[0][0].name, data, (of_data[0][0],), held_each))
        elif all(held_each) and len(set(held_each)) == len(held_each):
            found.append(DataSet(data, data, tuple(column for column, _ in of_data), held_each))
        else:
            found += [
                DataSet(column.name, data, (column,), (held,), shared=True)
                for column, held in of_data
            ]
    return found
