"""Ours beside published numbers where one domain was held out at a time: by domain and mean."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.config.protocol import MODIFIED
from medldr.reporting.describe import MODEL_TITLES, method_id, section
from medldr.reporting.left_out import LeftOut, domain_of
from medldr.reporting.left_out_tables import DASH, mean_over_domains
from medldr.reporting.measures import measure
from medldr.reporting.published_domains import (
    ORACLE,
    TRAINING_DOMAIN,
    PublishedDomain,
    published_domains,
)
from medldr.reporting.seed_spread import spread
from medldr.reporting.source import RunSource
from medldr.reporting.tables import Cell, Row, Table

OURS = "target_in"
SELECTIONS = {"val_domain_accuracy": TRAINING_DOMAIN, "swad": TRAINING_DOMAIN}
"""Rules of ours that choose as published numbers of a selection were chosen."""


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
        rows = _published(found.dataset, method_id(source.config))
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
    spreads = "SD is over seeds and SE over trials, as printed."
    if any(cell.extra.startswith(("SD", "SE")) for row in table.rows for cell in row.cells):
        table.notes.append(spreads)
    return table


def relation(ours: RunSource, entry: PublishedDomain) -> str:
    """What our protocol is to that of a published number.

    The same only with the same network and the same way to choose weights.
    """
    protocol = ours.protocol
    if protocol.removesuffix(MODIFIED) != entry.protocol:
        return "other protocol"
    if protocol != entry.protocol:
        return "ours is modified"
    if section(ours.config, "model").get("name") != entry.model:
        return "other network"
    rule = next(iter(ours.by_rule), "")
    return "same protocol" if SELECTIONS.get(rule) == entry.selection else "other selection"


def _published(dataset: str, method: str) -> list[list[PublishedDomain]]:
    """Numbers of one source and selection, those of training-domain validation first."""
    rows: dict[tuple[str, str, str], list[PublishedDomain]] = {}
    for entry in published_domains(dataset, method=method):
        rows.setdefault((entry.source, entry.selection, entry.protocol), []).append(entry)
    order = sorted(rows, key=lambda key: (key[1] != TRAINING_DOMAIN, key[1] == ORACLE))
    return [rows[key] for key in order]


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
    said = relation(source, first)
    model = str(section(source.config, "model").get("name"))
    note = ""
    if model != first.model:
        titles = [MODEL_TITLES.get(name, name) for name in (first.model, model)]
        note = table.sign(f"{titles[0]}; ours is {titles[1]}.")
    style = "same" if said == "same protocol" else ""
    cells = [Cell(first.protocol, extra=said, mark=note, style=style)]
    named = {entry.domain: entry for entry in entries}
    for domain in (*domains, ""):
        name = domain_of(named, domain) if domain else ""
        cells.append(_number(table, named.get(name) if name is not None else None, style))
    chosen = "" if first.selection == TRAINING_DOMAIN else f", {first.selection}"
    return Row(f"{row}: {first.source}{chosen}", cells)


def _number(table: Table, entry: PublishedDomain | None, style: str) -> Cell:
    if entry is None:
        return Cell(DASH)
    known = measure("accuracy")
    extra = ""
    for name, value in (("SD", entry.sd), ("SE", entry.se)):
        extra = f"{name} {known.show(value)}" if value is not None else extra
    return Cell(
        known.show(entry.value),
        extra=extra,
        value=entry.value,
        mark=table.sign(f"{entry.source}: {entry.note}."),
        style=style,
    )
