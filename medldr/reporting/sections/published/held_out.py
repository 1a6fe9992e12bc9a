"""Ours and published numbers where one domain was held out at a time: by domain, set and all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from medldr.config.method import model_title
from medldr.config.sections import held_out
from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.evaluation.intervals.inference import average as mean_of_sets
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.published.match import Ours, Relation, by_source, relation
from medldr.reporting.published.numbers import MEAN, METRICS, TRAINING_DOMAIN, Published
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.candidates import target_value
from medldr.reporting.results.held_out import HeldOut, mean_over_domains
from medldr.reporting.sections.held_out import sizes_of
from medldr.reporting.sections.published.fixed_split import (
    OwnRow,
    mean_cell,
    ours_and_published,
    published_cell,
)
from medldr.reporting.sections.run.result import counts_text
from medldr.reporting.table import Cell, Row, Table

METRIC, TARGET = "accuracy", "target_in"
"""What was published of held-out domains."""


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


def run_published(files: RunFiles) -> Table | None:
    """A run's numbers next to published ones: of the test split, or of the domain it held out.

    Returns:
        None where it was not evaluated on the test split, or none were published.
    """
    test = None if files.evaluation is None else files.evaluation.splits.get("test")
    if test is None:
        return None
    ours, domains = Ours.of(files), held_out(files.config)
    numbers = {key: Estimate.of(number) for key, number in test.metrics.items() if key in METRICS}
    own_rows = [OwnRow("This run", ours, numbers)] if test.metrics else []
    found = ours_and_published(own_rows, counts_text(test))
    if found is not None or len(domains) != 1:
        return found
    caption = f"Ours and published, {domains[0]} held out, on {TARGET}"
    table = Table(caption, ["Method", "Protocol", metric_facts(METRIC).heading], texts=(1,))
    own = Estimate(target_value(files.evaluation, TARGET, METRIC))
    groups = by_source(ours.dataset, ours.method, domains)
    return _finished(table, _rows(table, "This run", [Place(ours, own)], groups))


def held_out_published(sets: Sequence[HeldOut]) -> list[Table]:
    """Tables of the means of several data sets, then of each set's domains."""
    tables = [sets_published(sets), *map(domains_published, sets)]
    return [table for table in tables if table is not None]


def sets_published(sets: Sequence[HeldOut]) -> Table | None:
    """Each method's means over the domains of several data sets, ours and published.

    Returns:
        None where there is a single data set, or nobody published a mean of these methods.
    """
    caption = f"{metric_facts(METRIC).heading} on {TARGET}, mean over the domains of each data set"
    columns = ["Method", "Protocol", *(found.dataset for found in sets), "Average"]
    table, rows = (
        Table(f"{caption}, ours and published", columns, texts=(1,)),
        list[Row](),
    )
    names = dict.fromkeys(row for found in sets for row in found.rows if row not in found.controls)
    for row in names if len(sets) > 1 else ():
        places = [Place(_ours(f, row), _mean(f, row), row in f.searched) for f in sets]
        groups: dict[tuple[str, ...], list[Published | None]] = {}
        for number, (found, place) in enumerate(zip(sets, places, strict=True)):
            method = place.ours.method if place.ours else ""
            for (mean,) in by_source(found.dataset, method, [MEAN]):
                if mean is not None:
                    key = (mean.source, mean.selection, mean.protocol)
                    groups.setdefault(key, [None] * len(sets))[number] = mean
        rows += _rows(table, f"{row}: ours", places, groups.values(), f"{row}: ", average=True)
    sizes = [f"{found.dataset}: {text}" for found in sets for text in sizes_of(found, TARGET)]
    return _finished(table, rows, sentence("average_of_sets"), *sizes)


def domains_published(found: HeldOut) -> Table | None:
    """Each method's numbers on the domains of a data set, with the published ones below them.

    Returns:
        None where nobody published numbers of these methods on this data set.
    """
    domains = [*found.domains, *found.never]
    caption = f"{found.dataset}: {metric_facts(METRIC).heading} on {TARGET}, ours and published"
    table = Table(caption, ["Method", "Protocol", *domains, "Mean"], texts=(1,))
    rows = []
    for row in found.rows:
        ours = _ours(found, row)
        if ours is not None and row not in found.controls:
            values = [found.values(row, domain, TARGET, METRIC).values() for domain in domains]
            means = [spread(list(several)) if several else None for several in values]
            places = [Place(ours, m, row in found.searched) for m in (*means, _mean(found, row))]
            groups = by_source(found.dataset, ours.method, [*domains, MEAN])
            rows += _rows(table, f"{row}: ours", places, groups, f"{row}: ")
    lost = sentence("no_published_mean", held=len(found.domains), all=len(domains))
    return _finished(table, rows, *([lost] if found.never else []), *sizes_of(found, TARGET))


def _ours(found: HeldOut, row: str) -> Ours | None:
    """The ids of a finished run of a method; None where there is none."""
    files = next((entry.files for entry in found.of(row) if entry.files is not None), None)
    return None if files is None else Ours.of(files)


def _mean(found: HeldOut, row: str) -> Estimate | None:
    """Our mean over all domains of a set; None where a domain was not held out."""
    if found.never or row not in found.rows:
        return None
    return mean_over_domains(found, row, TARGET, METRIC)


def _rows(
    table: Table,
    heading: str,
    places: Sequence[Place],
    groups: Collection[Sequence[Published | None]],
    start: str = "",
    *,
    average: bool = False,
) -> list[Row]:
    """Our row, and below it a row for each source of published numbers; none without a source.

    Args:
        table: Gets the footnotes.
        heading: Of our row.
        places: What our method has in each column.
        groups: Of each source a published number per column.
        start: What headings of published rows begin with.
        average: Whether a mean over all columns follows.
    """
    if not groups:
        return []
    protocols = dict.fromkeys(place.ours.protocol or "none" for place in places if place.ours)
    own = [place.value for place in places]
    own += [mean_of_sets(own, metric_facts(METRIC))] if average else []
    cells = [Cell(", ".join(protocols)), *(mean_cell(METRIC, number) for number in own)]
    rows = [Row(heading, cells, style="reference")]
    for group in groups:
        first = _protocol_cell(table, places, group)
        cells = [first, *(_published_cell(table, entry, first.style) for entry in group)]
        if average:
            total = mean_of_sets([Estimate(entry.value) if entry else None for entry in group])
            cells.append(replace(mean_cell(METRIC, total), style=first.style if total else ""))
        entry = next(filter(None, group))
        chosen = "" if entry.selection == TRAINING_DOMAIN else f", {entry.selection}"
        rows.append(Row(f"{start}{entry.source}{chosen}", cells))
    return rows


def _finished(table: Table, rows: Sequence[Row], *notes: str) -> Table | None:
    """The table with its rows and notes; None where it has no row."""
    spreads = any(cell.extra.startswith(("SD", "SE")) for row in rows for cell in row.cells)
    table.intervals = False
    table.rows, table.notes = [*rows], [*notes, *([sentence("spreads")] if spreads else [])]
    return table if rows else None


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
    return cells[0] if same else Cell(cells[0].content, extra=sentence("several_relations"))


def _published_cell(table: Table, entry: Published | None, style: str) -> Cell:
    """A published number with its spread, and its details as a footnote."""
    if entry is None:
        return Cell()
    spreads = {"SE": entry.se, "SD": entry.sd}
    known = metric_facts(entry.metric)
    extra = next((f"{name} {known.show(v)}" for name, v in spreads.items() if v is not None), "")
    mark = table.sign(f"{entry.source}: {entry.note}.")
    return replace(published_cell(entry), extra=extra, mark=mark, style=style)
