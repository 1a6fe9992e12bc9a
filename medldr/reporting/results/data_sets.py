"""Which columns of a sweep are data sets and which are parts of one, and averages over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from medldr.config.sections import dataset_name, held_out
from medldr.evaluation.comparison.comparison import Difference, corrected
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import average
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


def mean_of(estimates: Sequence[Estimate | None], metric: str) -> Estimate | None:
    """The plain mean over test sets that share no image; a single one is left as it is.

    Args:
        estimates: One per test set.
        metric: The metric.

    Returns:
        None unless each is defined. Runs are those of the test set that has the fewest.
    """
    mean = average(estimates, metric_facts(metric))
    if mean is None:
        return None
    if len(estimates) == 1:
        return None if estimates[0] is None else replace(estimates[0], marks=())
    runs = [each.n for each in estimates if each is not None and each.n is not None]
    return replace(mean, n=min(runs, default=None))


def data_sets(study: Study, columns: Sequence[Column]) -> list[DataSet]:
    """The data sets of a sweep, in the order of its columns; columns without results are left out.

    Columns of one data set that hold different domains out are one entry; those that hold the same
    out, or nothing, are several that share their test images.
    """
    by_data: dict[str, list[tuple[Column, str]]] = {}
    for column in columns:
        if column.comparison is None:
            continue
        evaluated = [e for e in study.of(column=column.name) if e.files is not None]
        names = {dataset_name(e.config, e.files.facts) for e in evaluated if e.files is not None}
        domain = {" + ".join(held_out(e.config)) for e in evaluated}
        data = " + ".join(sorted(names))
        by_data.setdefault(data, []).append((column, domain.pop() if len(domain) == 1 else ""))
    sets = []
    for data, of_data in by_data.items():
        domains = tuple(domain for _, domain in of_data)
        if len(of_data) == 1:
            sets.append(DataSet(of_data[0][0].name, data, (of_data[0][0],), domains))
        elif all(domains) and len(set(domains)) == len(domains):
            sets.append(DataSet(data, data, tuple(column for column, _ in of_data), domains))
        else:
            sets += [
                DataSet(column.name, data, (column,), (domain,), shared=True)
                for column, domain in of_data
            ]
    return sets


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
    differences = list[Difference]()
    whole = [row for row in study.rows if all(_whole(c, split, metric, row) for c in columns)]
    for row in whole if study.reference in whole else ():
        pairs = [column.difference(split, metric, row) for column in columns]
        mean = average([None if pair is None else pair.estimate for pair in pairs])
        if mean is None:
            continue
        if any(pair is None or pair.p is None for pair in pairs):
            mean = replace(mean, p=None)
        seeds = min(pair.seeds for pair in pairs if pair is not None)
        differences.append(Difference(split, None, metric, row, study.reference, mean, seeds=seeds))
    return {of.method: of for of in corrected(differences, study.layout.controls)}


def _whole(column: Column, split: str, metric: str, row: str) -> bool:
    estimate = column.estimate(split, metric, row)
    return estimate is not None and estimate.n == estimate.planned
