"""Ours beside published numbers where one domain was held out at a time: by domain, set and all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medldr.metrics import measure
from medldr.reporting.published.match import Ours, by_source, mean_of_all
from medldr.reporting.published.numbers import MEAN, Published
from medldr.reporting.results.held_out import LeftOut, domain_of
from medldr.reporting.results.spread import spread
from medldr.reporting.sections.held_out import mean_over_domains
from medldr.reporting.sections.published.cells import (
    explain_spreads,
    number_cell,
    protocol_cell,
    published_cell,
    who,
)
from medldr.reporting.table import Cell, Row, Table

METRIC, TARGET = "accuracy", "target_in"
SEVERAL = "not the same for every data set, see below"
AVERAGED = (
    "The average is the plain mean over the data sets; that of a published row is the mean of its "
    "printed means, so that its last digit may differ from a printed average."
)


def held_out_published(sets: Sequence[LeftOut]) -> list[Table]:
    """Tables of the means of several data sets, then of each set's domains."""
    tables = [sets_published(sets), *map(domains_published, sets)]
    return [table for table in tables if table is not None]


def sets_published(sets: Sequence[LeftOut]) -> Table | None:
    """Each method's means over the domains of several data sets, ours and published.

    Returns:
        None where there is a single data set, or nobody published a mean of these methods.
    """
    table = Table(
        f"{measure(METRIC).heading} on {TARGET}, mean over the domains of each data set, "
        "ours and published",
        ["Method", "Protocol", *(found.dataset for found in sets), "Average"],
        texts=(1,),
    )
    names = dict.fromkeys(row for found in sets for row in found.rows if row not in found.controls)
    for row in names if len(sets) > 1 else ():
        ours = {found.dataset: _ours(found, row) for found in sets}
        theirs: dict[tuple[str, ...], dict[str, Published]] = {}
        for dataset, one in ours.items():
            for entries in by_source(dataset, one.method) if one is not None else ():
                for mean in (entry for entry in entries if entry.domain == MEAN):
                    key = (mean.source, mean.selection, mean.protocol)
                    theirs.setdefault(key, {})[dataset] = mean
        if not theirs:
            continue
        protocols = dict.fromkeys(one.protocol or "none" for one in ours.values() if one)
        means = [_mean(found, row) for found in sets]
        cells = [number_cell(METRIC, mean) for mean in (*means, mean_of_all(means))]
        first = Cell(", ".join(protocols))
        table.rows.append(Row(f"{row}: ours", [first, *cells], style="reference"))
        table.rows += [_means(table, row, sets, ours, named) for named in theirs.values()]
    if not table.rows:
        return None
    table.notes.append(AVERAGED)
    explain_spreads(table)
    return table


def _means(
    table: Table,
    row: str,
    sets: Sequence[LeftOut],
    ours: Mapping[str, Ours | None],
    named: Mapping[str, Published],
) -> Row:
    """A published row: its mean on each data set, and over them."""
    related = []
    for found in sets:
        entry, one = named.get(found.dataset), ours[found.dataset]
        if entry is not None and one is not None:
            related.append(protocol_cell(table, one, entry, searched=row in found.searched))
    first = related[0]
    if any(cell != first for cell in related):
        first = Cell(first.content, extra=SEVERAL)
    entries = [named.get(found.dataset) for found in sets]
    cells = [published_cell(table, entry, first.style) for entry in entries]
    total = mean_of_all([None if entry is None else entry.value for entry in entries])
    heading = f"{row}: {who(next(iter(named.values())))}"
    return Row(heading, [first, *cells, number_cell(METRIC, total, first.style)])


def domains_published(found: LeftOut) -> Table | None:
    """Each method's numbers on the domains of a data set, with the published ones below them.

    Returns:
        None where nobody published numbers of these methods on this data set.
    """
    domains = [*found.domains, *found.never]
    table = Table(
        f"{found.dataset}: {measure(METRIC).heading} on {TARGET}, ours and published",
        ["Method", "Protocol", *domains, "Mean"],
        texts=(1,),
    )
    for row in found.rows:
        ours = None if row in found.controls else _ours(found, row)
        groups = [] if ours is None else by_source(found.dataset, ours.method)
        if ours is None or not groups:
            continue
        reached = [found.values(row, domain, TARGET, METRIC) for domain in domains]
        means = [spread(list(each.values())).mean if each else None for each in reached]
        cells = [number_cell(METRIC, mean) for mean in (*means, _mean(found, row))]
        first = Cell(ours.protocol or "none")
        table.rows.append(Row(f"{row}: ours", [first, *cells], style="reference"))
        for entries in groups:
            first = protocol_cell(table, ours, entries[0], searched=row in found.searched)
            named = {entry.domain: entry for entry in entries}
            names = [*(domain_of(named, domain) for domain in domains), MEAN]
            cells = [published_cell(table, named.get(name or ""), first.style) for name in names]
            table.rows.append(Row(f"{row}: {who(entries[0])}", [first, *cells]))
    if not table.rows:
        return None
    if found.never:
        table.notes.append(
            f"We held out {len(found.domains)} of {len(domains)} domains, so that no mean of ours "
            "can stand beside a published one."
        )
    explain_spreads(table)
    return table


def _ours(found: LeftOut, row: str) -> Ours | None:
    """The ids of a finished run of a method; None where there is none."""
    files = next((entry.files for entry in found.of(row) if entry.files is not None), None)
    return None if files is None else Ours.of(files)


def _mean(found: LeftOut, row: str) -> float | None:
    """Our mean over all domains of a set; None where a domain was not held out."""
    if found.never or row not in found.rows:
        return None
    total = mean_over_domains(found, row, TARGET, METRIC)
    return None if total is None else total.mean
