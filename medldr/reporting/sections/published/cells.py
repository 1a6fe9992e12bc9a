"""Cells, rows and notes that tables of published numbers share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from medldr.config.method import model_title
from medldr.evaluation.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.published.match import Ours, Relation, relation
from medldr.reporting.published.numbers import TRAINING_DOMAIN, Published
from medldr.reporting.results.held_out import plain_average
from medldr.reporting.table import Cell, Row, Table

METRIC, TARGET = "accuracy", "target_in"
"""What was published of held-out domains."""

SEVERAL = "not the same for every data set, see below"
SPREADS = "SD is over seeds and SE over trials, as printed."


class Place(NamedTuple):
    """What one of our methods has in one column.

    Attributes:
        ours: The ids of one of its runs; None where none is finished.
        value: Its number; None where it has none.
        searched: Whether its settings are the best of several.
    """

    ours: Ours | None
    value: Estimate | None
    searched: bool = False


def number_cell(metric: str, number: Estimate | None, style: str = "") -> Cell:
    """A number without its spread; a dash where there is none."""
    if number is None or number.mean is None:
        return Cell()
    return Cell(Estimate(number.mean), metric_facts(metric), style=style)


def add_rows(
    table: Table,
    heading: str,
    places: Sequence[Place],
    groups: Collection[Sequence[Published | None]],
    *,
    name: str = "",
    average: bool = False,
) -> None:
    """Our row, and below it a row for each source of published numbers; none without a source.

    Args:
        table: Gets the rows and their footnotes.
        heading: Of our row.
        places: What our method has in each column.
        groups: Of each source a published number per column.
        name: What headings of published rows begin with.
        average: Whether a mean over all columns follows.
    """

    def averaged(numbers: Sequence[Estimate | None]) -> list[Estimate | None]:
        return [plain_average(numbers)] if average else []

    if not groups:
        return
    protocols = dict.fromkeys(place.ours.protocol or "none" for place in places if place.ours)
    own = [place.value for place in places]
    cells = [number_cell(METRIC, number) for number in (*own, *averaged(own))]
    table.rows.append(Row(heading, [Cell(", ".join(protocols)), *cells], style="reference"))
    for group in groups:
        first = _protocol_cell(table, places, group)
        cells = [_published_cell(table, entry, first.style) for entry in group]
        means = [None if entry is None else Estimate(entry.value) for entry in group]
        cells += [number_cell(METRIC, total, first.style) for total in averaged(means)]
        entry = next(filter(None, group))
        chosen = "" if entry.selection == TRAINING_DOMAIN else f", {entry.selection}"
        table.rows.append(Row(f"{name}{entry.source}{chosen}", [first, *cells]))


def finished(table: Table, *notes: str) -> Table | None:
    """The table with its notes; None where it has no row."""
    if not table.rows:
        return None
    table.notes += notes
    if any(cell.extra.startswith(("SD", "SE")) for row in table.rows for cell in row.cells):
        table.notes.append(SPREADS)
    return table


def _protocol_cell(
    table: Table, places: Sequence[Place], group: Sequence[Published | None]
) -> Cell:
    """The protocol of published numbers, and what ours are to them."""
    cells = []
    for (ours, _, searched), entry in zip(places, group, strict=True):
        if ours is None or entry is None:
            continue
        found, signs = relation(ours, entry, searched=searched), []
        if ours.model != entry.model:
            theirs, own = map(model_title, (entry.model, ours.model))
            signs.append(table.sign(f"{theirs}; ours is {own}."))
        if entry.search and found in (Relation.SAME, Relation.THEY_SEARCHED):
            what = "the best of several settings" if searched else "a single setting"
            signs.append(table.sign(f"{entry.source} searched ({entry.search}); ours is {what}."))
        style = "same" if found is Relation.SAME else ""
        cells.append(Cell(entry.protocol, extra=found.value, mark=",".join(signs), style=style))
    same = all(cell == cells[0] for cell in cells)
    return cells[0] if same else Cell(cells[0].content, extra=SEVERAL)


def _published_cell(table: Table, entry: Published | None, style: str) -> Cell:
    """A published number with its spread, and what is known of it as a footnote."""
    if entry is None:
        return Cell()
    known, spread = metric_facts(entry.metric), ""
    for name, value in (("SD", entry.sd), ("SE", entry.se)):
        spread = f"{name} {known.show(value)}" if value is not None else spread
    mark = table.sign(f"{entry.source}: {entry.note}.")
    return Cell(Estimate(entry.value), known, extra=spread, mark=mark, style=style)
