"""Ours beside published numbers where one domain was held out at a time: by domain, set and all."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from medldr.metrics import measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.published.domains import PublishedDomain
from medldr.reporting.read.describe import method_id
from medldr.reporting.read.run import RunSource
from medldr.reporting.results.held_out import LeftOut, domain_of
from medldr.reporting.results.spread import spread
from medldr.reporting.sections.held_out import DASH, mean_over_domains
from medldr.reporting.sections.run_published import (
    SPREADS,
    by_source,
    protocol_cell,
    published_cell,
    who,
)

OURS = "target_in"
SEVERAL = "not the same for every data set, see below"
AVERAGED = (
    "The average is the plain mean over the data sets; that of a published row is the mean of its "
    "printed means, so that its last digit may differ from a printed average."
)


def sets_published(sets: Sequence[LeftOut]) -> Table | None:
    """Each method's means over the domains of several data sets, ours and published.

    Returns:
        None where there is a single data set, or nobody published a mean of these methods.
    """
    known = measure("accuracy")
    table = Table(
        f"{known.heading} on target_in, mean over the domains of each data set, ours and published",
        ["Method", "Protocol", *(found.dataset for found in sets), "Average"],
        texts=(1,),
    )
    names = dict.fromkeys(row for found in sets for row in found.rows if row not in found.controls)
    for row in names if len(sets) > 1 else ():
        sources = {found.dataset: _source(found, row) for found in sets}
        by_key: dict[tuple[str, ...], dict[str, PublishedDomain]] = {}
        for dataset, source in sources.items():
            for entries in by_source(dataset, method_id(source.config)) if source else ():
                mean = next((entry for entry in entries if not entry.domain), None)
                if mean is not None:
                    key = (mean.source, mean.selection, mean.protocol)
                    by_key.setdefault(key, {})[dataset] = mean
        if not by_key:
            continue
        protocols = dict.fromkeys(s.protocol or "none" for s in sources.values() if s is not None)
        totals = [
            None if found.never or row not in found.rows
            else mean_over_domains(found, row, OURS, "accuracy")
            for found in sets
        ]  # fmt: skip
        means = [None if total is None else total.mean for total in totals]
        cells = [_number(mean) for mean in (*means, _average(means))]
        first = Cell(", ".join(protocols))
        table.rows.append(Row(f"{row}: ours", [first, *cells], style="reference"))
        table.rows += [_means(table, row, named, sources, sets) for named in by_key.values()]
    if not table.rows:
        return None
    table.notes.append(AVERAGED)
    if any(cell.extra.startswith(("SD", "SE")) for row in table.rows for cell in row.cells):
        table.notes.append(SPREADS)
    return table


def _means(
    table: Table,
    row: str,
    named: Mapping[str, PublishedDomain],
    sources: Mapping[str, RunSource | None],
    sets: Sequence[LeftOut],
) -> Row:
    """A published row: its mean on each data set, and over them."""
    related = []
    for found in sets:
        entry, source = named.get(found.dataset), sources[found.dataset]
        if entry is not None and source is not None:
            searched = row in found.searched
            related.append(protocol_cell(table, source, entry, searched=searched))
    same = all(cell == related[0] for cell in related)
    first = related[0] if same else Cell(related[0].text, extra=SEVERAL)
    entries = [named.get(found.dataset) for found in sets]
    cells = [published_cell(table, entry, first.style) for entry in entries]
    total = _average([None if entry is None else entry.value for entry in entries])
    heading = f"{row}: {who(next(iter(named.values())))}"
    return Row(heading, [first, *cells, _number(total, first.style)])


def _average(means: Sequence[float | None]) -> float | None:
    """Over all data sets; None unless each has a mean."""
    there = [mean for mean in means if mean is not None]
    return statistics.fmean(there) if len(there) == len(means) else None


def _number(value: float | None, style: str = "") -> Cell:
    known = measure("accuracy")
    return Cell(DASH) if value is None else Cell(known.show(value), value=value, style=style)


def _source(found: LeftOut, row: str) -> RunSource | None:
    """The files of a finished run of a method; None where there is none."""
    return next((entry.source for entry in found.of(row) if entry.source is not None), None)


def left_out_published(found: LeftOut) -> Table | None:
    """Each method's target_in with the published numbers of the same method below it.

    Returns:
        None where nobody published numbers of these methods on this data set.
    """
    known = measure("accuracy")
    whole = [*found.domains, *found.never]
    table = Table(
        f"{found.dataset}: {known.heading} on target_in, ours and published",
        ["Method", "Protocol", *whole, "Mean"],
        texts=(1,),
    )
    for row in found.rows:
        source = _source(found, row)
        if source is None or row in found.controls:
            continue
        rows = by_source(found.dataset, method_id(source.config))
        if rows:
            table.rows.append(_ours(found, row, source, whole))
            table.rows += [_theirs(table, found, row, entries, source, whole) for entries in rows]
    if not table.rows:
        return None
    if found.never:
        table.notes.append(
            f"We held out {len(found.domains)} of {len(whole)} domains, so that no mean of ours "
            "can stand beside a published one."
        )
    if any(cell.extra.startswith(("SD", "SE")) for row in table.rows for cell in row.cells):
        table.notes.append(SPREADS)
    return table


def _ours(found: LeftOut, row: str, source: RunSource, domains: Sequence[str]) -> Row:
    cells = [Cell(source.protocol or "none")]
    for domain in domains:
        values = list(found.values(row, domain, OURS, "accuracy").values())
        cells.append(_number(spread(values).mean if values else None))
    total = None if found.never else mean_over_domains(found, row, OURS, "accuracy")
    cells.append(_number(None if total is None else total.mean))
    return Row(f"{row}: ours", cells, style="reference")


def _theirs(
    table: Table,
    found: LeftOut,
    row: str,
    entries: Sequence[PublishedDomain],
    source: RunSource,
    domains: Sequence[str],
) -> Row:
    first = entries[0]
    cells = [protocol_cell(table, source, first, searched=row in found.searched)]
    style = cells[0].style
    named = {entry.domain: entry for entry in entries}
    for domain in (*domains, ""):
        name = domain_of(named, domain) if domain else ""
        cells.append(published_cell(table, named.get(name) if name is not None else None, style))
    return Row(f"{row}: {who(first)}", cells)
