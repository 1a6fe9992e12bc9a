"""Which columns of a sweep are data sets and which are parts of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medldr.config.sections import dataset_name, held_out
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
