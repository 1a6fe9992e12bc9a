"""Cells and notes that tables of published numbers share."""

from __future__ import annotations

from medldr.metrics import measure
from medldr.reporting.published.match import Ours, Relation, relation
from medldr.reporting.published.numbers import MODEL_TITLES, SELECTIONS, Published
from medldr.reporting.table import Cell, Estimate, Table

SPREADS = "SD is over seeds and SE over trials, as printed."


def number_cell(metric: str, value: float | None, style: str = "") -> Cell:
    """A number alone; a dash where there is none."""
    return Cell() if value is None else Cell(Estimate(value), measure(metric), style=style)


def published_cell(table: Table, entry: Published | None, style: str) -> Cell:
    """A published number with its spread, and what is known of it as a footnote."""
    if entry is None:
        return Cell()
    known, spread = measure(entry.metric), ""
    for name, value in (("SD", entry.sd), ("SE", entry.se)):
        spread = f"{name} {known.show(value)}" if value is not None else spread
    mark = table.sign(f"{entry.source}: {entry.note}.")
    return Cell(Estimate(entry.value), known, extra=spread, mark=mark, style=style)


def protocol_cell(table: Table, ours: Ours, entry: Published, *, searched: bool = False) -> Cell:
    """The protocol of a published number on held-out domains, and what ours is to it.

    Args:
        table: The table of the cell; gets its footnotes.
        ours: One of our runs.
        entry: The published number.
        searched: Whether our settings are the best of several.
    """
    found = relation(ours, entry, searched=searched)
    signs = []
    if ours.model != entry.model:
        theirs, own = (MODEL_TITLES.get(name, name) for name in (entry.model, ours.model))
        signs.append(table.sign(f"{theirs}; ours is {own}."))
    if entry.search and found in (Relation.SAME, Relation.THEY_SEARCHED):
        what = "the best of several settings" if searched else "a single setting"
        signs.append(table.sign(f"{entry.source} searched ({entry.search}); ours is {what}."))
    style = "same" if found is Relation.SAME else ""
    return Cell(entry.protocol, extra=found.value, mark=",".join(signs), style=style)


def who(entry: Published) -> str:
    """Who published a number, and how it was chosen unless by training-domain validation."""
    chosen = "" if entry.selection == SELECTIONS[0] else f", {entry.selection}"
    return f"{entry.source}{chosen}"


def explain_spreads(table: Table) -> None:
    """A note on SD and SE where the table has any."""
    if any(cell.extra.startswith(("SD", "SE")) for row in table.rows for cell in row.cells):
        table.notes.append(SPREADS)
