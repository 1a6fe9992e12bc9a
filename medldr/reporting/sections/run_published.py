"""One run that held a domain out beside published numbers of that domain, and how they relate."""

from __future__ import annotations

from medldr.config.protocol import MODIFIED
from medldr.metrics import measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.published.domains import (
    ORACLE,
    TRAINING_DOMAIN,
    PublishedDomain,
    published_domains,
    same_domain,
)
from medldr.reporting.read.describe import dataset_name, held_out, method_id, section
from medldr.reporting.read.method import model_title
from medldr.reporting.read.run import RunSource
from medldr.reporting.results.target_parts import target_value

SPREADS = "SD is over seeds and SE over trials, as printed."
SAME = "same protocol"
BUT_SEARCH = "same but for the search"
SELECTIONS = dict.fromkeys(
    ("val_domain_accuracy", "id_val_domain_accuracy", "swad"), TRAINING_DOMAIN
)
"""Rules of ours that choose as published numbers of a selection were chosen."""


def held_out_published(source: RunSource) -> Table | None:
    """A run's accuracy on target_in with the published numbers of its method on that domain.

    Returns:
        None unless it held out one domain, of which somebody published a number of its method.
    """
    known, domains = measure("accuracy"), held_out(source.config)
    ours = target_value(source.evaluation, "target_in", "accuracy")
    if len(domains) != 1:
        return None
    rows = by_source(dataset_name(source.config, source.run), method_id(source.config))
    table = Table(
        f"Ours and published, {domains[0]} held out, on target_in",
        ["Method", "Protocol", known.heading],
        texts=(1,),
    )
    number = Cell("–") if ours is None else Cell(known.show(ours), value=ours)
    table.rows.append(Row("This run", [Cell(source.protocol or "none"), number], style="reference"))
    for entries in rows:
        entry = next((e for e in entries if e.domain and same_domain(e.domain, domains[0])), None)
        if entry is not None:
            first = protocol_cell(table, source, entry)
            table.rows.append(Row(who(entry), [first, published_cell(table, entry, first.style)]))
    if any(row.cells[1].extra for row in table.rows):
        table.notes.append(SPREADS)
    return table if len(table.rows) > 1 else None


def who(entry: PublishedDomain) -> str:
    """Who published a number, and how it was chosen unless by training-domain validation."""
    chosen = "" if entry.selection == TRAINING_DOMAIN else f", {entry.selection}"
    return f"{entry.source}{chosen}"


def protocol_cell(
    table: Table, source: RunSource, entry: PublishedDomain, *, searched: bool = False
) -> Cell:
    """The protocol of a published number and what ours is to it.

    Args:
        table: Where the cell will stand; gets its footnotes.
        source: One of our runs.
        entry: The published number.
        searched: Whether ours is the best of several settings.
    """
    said = relation(source, entry, searched=searched)
    model = str(section(source.config, "model").get("name"))
    signs = []
    if model != entry.model:
        theirs, ours = map(model_title, (entry.model, model))
        signs.append(table.sign(f"{theirs}; ours is {ours}."))
    if entry.search and said in (SAME, BUT_SEARCH):
        what = "the best of several settings" if searched else "a single setting"
        signs.append(table.sign(f"{entry.source} searched ({entry.search}); ours is {what}."))
    style = "same" if said == SAME else ""
    return Cell(entry.protocol, extra=said, mark=",".join(signs), style=style)


def relation(ours: RunSource, entry: PublishedDomain, *, searched: bool = False) -> str:
    """What our protocol is to that of a published number.

    The same only with the same network, the same way to choose weights, and a search for settings
    on both sides or on neither.
    """
    protocol = ours.protocol
    if protocol.removesuffix(MODIFIED) != entry.protocol:
        return "other protocol"
    if protocol != entry.protocol:
        return "ours is modified"
    if section(ours.config, "model").get("name") != entry.model:
        return "other network"
    rule = next(iter(ours.by_rule), "")
    if SELECTIONS.get(rule) != entry.selection:
        return "other selection"
    if searched == bool(entry.search):
        return SAME
    return BUT_SEARCH if entry.search else "same but for our search"


def by_source(dataset: str, method: str) -> list[list[PublishedDomain]]:
    """Numbers of one source and selection, those of training-domain validation first."""
    rows: dict[tuple[str, str, str], list[PublishedDomain]] = {}
    for entry in published_domains(dataset, method=method):
        rows.setdefault((entry.source, entry.selection, entry.protocol), []).append(entry)
    order = sorted(rows, key=lambda key: (key[1] != TRAINING_DOMAIN, key[1] == ORACLE))
    return [rows[key] for key in order]


def published_cell(table: Table, entry: PublishedDomain | None, style: str) -> Cell:
    """A published number with its spread, and what is known of it as a footnote."""
    if entry is None:
        return Cell("–")
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
