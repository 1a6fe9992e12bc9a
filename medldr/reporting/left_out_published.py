"""Ours beside published numbers where one domain was held out at a time: by domain and mean."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.reporting.describe import method_id
from medldr.reporting.left_out import LeftOut, domain_of
from medldr.reporting.left_out_tables import DASH, mean_over_domains
from medldr.reporting.measures import measure
from medldr.reporting.published_domains import PublishedDomain
from medldr.reporting.run_published import (
    SPREADS,
    by_source,
    protocol_cell,
    published_cell,
    who,
)
from medldr.reporting.seed_spread import spread
from medldr.reporting.source import RunSource
from medldr.reporting.tables import Cell, Row, Table

OURS = "target_in"


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
        source = next((e.source for e in found.of(row) if e.source is not None), None)
        if source is None or row in found.controls:
            continue
        rows = by_source(found.dataset, method_id(source.config))
        if rows:
            table.rows.append(_ours(found, row, source, whole))
            table.rows += [_theirs(table, row, entries, source, whole) for entries in rows]
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
    known = measure("accuracy")
    cells = [Cell(source.protocol or "none")]
    for domain in domains:
        values = list(found.values(row, domain, OURS, "accuracy").values())
        mean = spread(values).mean if values else None
        cells.append(Cell(DASH) if mean is None else Cell(known.show(mean), value=mean))
    total = None if found.never else mean_over_domains(found, row, OURS, "accuracy")
    cells.append(Cell(DASH) if total is None else Cell(known.show(total.mean), value=total.mean))
    return Row(f"{row}: ours", cells, style="reference")


def _theirs(
    table: Table,
    row: str,
    entries: Sequence[PublishedDomain],
    source: RunSource,
    domains: Sequence[str],
) -> Row:
    first = entries[0]
    cells = [protocol_cell(table, source, first)]
    style = cells[0].style
    named = {entry.domain: entry for entry in entries}
    for domain in (*domains, ""):
        name = domain_of(named, domain) if domain else ""
        cells.append(published_cell(table, named.get(name) if name is not None else None, style))
    return Row(f"{row}: {who(first)}", cells)
