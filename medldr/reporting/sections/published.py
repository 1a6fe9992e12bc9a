"""Ours beside published numbers: a row of ours, and below it one for each source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from medldr.config.method import model_title
from medldr.config.sections import held_out
from medldr.evaluation.comparison.comparison import Comparison, Size
from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.evaluation.intervals.inference import average as mean_of_sets
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.published.match import (
    Ours,
    Relation,
    beside,
    by_source,
    nearest_first,
    relation,
)
from medldr.reporting.published.numbers import MEAN, METRICS, TRAINING_DOMAIN, Published
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study
from medldr.reporting.results.candidates import target_value
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.held_out import HeldOut, mean_over_domains
from medldr.reporting.sections.basis import size_note
from medldr.reporting.sections.held_out import sizes_of
from medldr.reporting.table import AVERAGE, Cell, Row, Table
from medldr.reporting.wording import TARGETS

METRIC, TARGET = "accuracy", "target_in"
PART = TARGETS[TARGET]
"""What was published of held-out domains."""
Group: TypeAlias = Sequence[Published | None]
"""Numbers of one source, one per column; None where it has none."""


class Place(NamedTuple):
    """What one of our methods has in one column.

    Attributes:
        ours: The ids of one of its runs; None where none is finished.
        value: Its number; None where it has none.
        metric: What the column is of.
        searched: Whether its settings are the best of several.
    """

    ours: Ours | None
    value: Estimate | None
    metric: str = METRIC
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
    numbers = {key: Estimate.of(number) for key, number in test.metrics.items()}
    found = _fixed_split(
        {"This run": (ours, numbers)} if numbers else {},
        Size(test.n, test.n_groups, unit=test.unit or "").counts,
    )
    if found is not None or len(domains) != 1:
        return found
    caption = f"Ours and published, {domains[0]} held out, on {PART}"
    table = _table(caption, [metric_facts(METRIC).heading])
    own = Estimate(target_value(files.evaluation, TARGET, METRIC))
    groups = by_source(ours.dataset, ours.method, domains)
    return _finished(table, _rows(table, "This run", [Place(ours, own)], groups))


def comparison_published(comparison: Comparison, runs: Mapping[str, RunFiles]) -> Table | None:
    """All methods of a comparison on the test split next to the published ones.

    Args:
        comparison: The comparison.
        runs: The files of runs by the name of their folder; a method without any is left out.

    Returns:
        None where no number of the data set was published.
    """
    own = {}
    for method in comparison.methods if "test" in comparison.splits else ():
        files = next((runs[name] for name in method.runs if name in runs), None)
        found = {key: comparison.estimate("test", key, method.name) for key in METRICS}
        if files is not None:
            n = len(method.seeds)
            means = {key: replace(mean, n=n) for key, mean in found.items() if mean is not None}
            own[method.name] = Ours.of(files), means
    return _fixed_split(own, comparison.counts("test") if own else "")


def _fixed_split(
    own: Mapping[str, tuple[Ours, Mapping[str, Estimate]]], counts: str
) -> Table | None:
    """Ours by heading, then every published result of the data set, nearest first."""
    groups = nearest_first([ours for ours, _ in own.values()])
    metrics = [key for key in METRICS if any(key in group for group in groups)]
    if not groups:
        return None
    headings = [metric_facts(key).heading for key in metrics]
    table = _table(f"Ours and published, test split, n = {counts}", headings, intervals=True)
    augmented = any(entry.augmentation for group in groups for entry in group.values())
    for heading, (ours, numbers) in own.items():
        places = [Place(ours, numbers.get(key), key) for key in metrics]
        table.rows.append(_own(table, heading, places, augmented=augmented))
    for group in groups:
        entry = next(iter(group.values()))
        each = [ours for ours, _ in own.values()]
        same = (ours for ours in each if relation(ours, entry) is Relation.SAME)
        alike = (ours for ours in each if ours.method == entry.method)
        nearest = next(same, None) or next(alike, each[0])
        places = [Place(nearest, None, key) for key in metrics]
        heading = f"{entry.title} ({entry.source})"
        table.rows.append(_theirs(table, heading, places, [group.get(key) for key in metrics]))
    return table


def sweep_published(study: Study, columns: Sequence[Column]) -> list[Table]:
    """One table per published metric: our mean in each data set, and the published numbers."""
    tables = []
    for metric in METRICS:
        found = {(r, c.name): beside(study, c.name, r, metric) for r in study.rows for c in columns}
        shown = [c for c in columns if any(found[row, c.name] for row in study.rows)]
        caption = f"{metric_facts(metric).heading}: ours and published, test"
        table, rows = _table(caption, [column.name for column in shown]), list[Row]()
        for row in study.rows:
            groups: dict[tuple[str, str], list[Published | None]] = {}
            for number, column in enumerate(shown):
                for entry in (each.entry for each in found[row, column.name]):
                    group = groups.setdefault((entry.source, entry.protocol), [None] * len(shown))
                    group[number] = group[number] or entry
            files = [study.files(row, column.name) for column in shown]
            places = [
                Place(
                    Ours.of(f) if f else None, _mean_alone(c.estimate("test", metric, row)), metric
                )
                for f, c in zip(files, shown, strict=True)
            ]
            rows += _rows(table, f"{row}: ours", places, list(groups.values()), f"{row}: ")
        tables.append(_finished(table, rows, *size_note(shown, "test")))
    return [table for table in tables if table is not None]


def held_out_published(sets: Sequence[HeldOut]) -> list[Table]:
    """Tables of the means of several data sets, then of each set's domains."""
    tables = [sets_published(sets), *map(domains_published, sets)]
    return [table for table in tables if table is not None]


def sets_published(sets: Sequence[HeldOut]) -> Table | None:
    """Each method's means over the domains of several data sets, ours and published.

    Returns:
        None where there is a single data set, or nobody published a mean of these methods.
    """
    caption = f"{metric_facts(METRIC).heading} on {PART}, mean over the domains of each data set"
    headings = [*(found.dataset for found in sets), AVERAGE]
    table, rows = _table(f"{caption}, ours and published", headings), list[Row]()
    names = dict.fromkeys(row for found in sets for row in found.rows if row not in found.controls)
    for row in names if len(sets) > 1 else ():
        places = [_mean_place(found, row) for found in sets]
        groups: dict[tuple[str, ...], list[Published | None]] = {}
        for number, (found, place) in enumerate(zip(sets, places, strict=True)):
            method = place.ours.method if place.ours else ""
            for (mean,) in by_source(found.dataset, method, [MEAN]):
                if mean is not None:
                    key = (mean.source, mean.selection, mean.protocol)
                    groups.setdefault(key, [None] * len(sets))[number] = mean
        rows += _rows(
            table, f"{row}: ours", places, list(groups.values()), f"{row}: ", average=True
        )
    sizes = [f"{found.dataset}: {text}" for found in sets for text in sizes_of(found, TARGET)]
    return _finished(table, rows, sentence("average_of_sets"), *sizes)


def domains_published(found: HeldOut) -> Table | None:
    """Each method's numbers on the domains of a data set, with the published ones below them.

    Returns:
        None where nobody published numbers of these methods on this data set.
    """
    domains = [*found.domains, *found.never]
    caption = f"{found.dataset}: {metric_facts(METRIC).heading} on {PART}, ours and published"
    table, rows = _table(caption, [*domains, "Mean"]), list[Row]()
    for row in found.rows:
        mean = _mean_place(found, row)
        if mean.ours is not None and row not in found.controls:
            values = [found.values(row, domain, TARGET, METRIC).values() for domain in domains]
            means = [spread(list(several)) if several else None for several in values]
            places = [*(mean._replace(value=_mean_alone(one)) for one in means), mean]
            groups = by_source(found.dataset, mean.ours.method, [*domains, MEAN])
            rows += _rows(table, f"{row}: ours", places, groups, f"{row}: ")
    lost = sentence("no_published_mean", held=len(found.domains), all=len(domains))
    return _finished(table, rows, *([lost] if found.never else []), *sizes_of(found, TARGET))


def _mean_place(found: HeldOut, row: str) -> Place:
    """Our mean over all domains of a set; without a number where a domain was not held out."""
    whole = row in found.rows and not found.never
    mean = mean_over_domains(found, row, TARGET, METRIC) if whole else None
    files = next((entry.files for entry in found.of(row) if entry.files is not None), None)
    ours = None if files is None else Ours.of(files)
    return Place(ours, _mean_alone(mean), searched=row in found.searched)


def _mean_alone(found: Estimate | None) -> Estimate | None:
    """A mean with its spread and number of seeds, as papers print it; None where undefined."""
    if found is None or found.mean is None:
        return None
    return Estimate(found.mean, found.sd, n=found.n, planned=found.planned)


def _table(caption: str, headings: Sequence[str], *, intervals: bool = False) -> Table:
    return Table(caption, ["Method", "Protocol", *headings], texts=(1,), intervals=intervals)


def _rows(
    table: Table,
    heading: str,
    places: Sequence[Place],
    groups: Sequence[Group],
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
    augmented = any(entry.augmentation for group in groups for entry in group if entry)
    rows = [_own(table, heading, places, augmented=augmented)]
    for group in groups:
        entry = next(filter(None, group))
        chosen = entry.selection not in ("", TRAINING_DOMAIN)
        name = f"{start}{entry.source}{f', {entry.selection}' if chosen else ''}"
        rows.append(_theirs(table, name, places, group))
    if average:
        numbers = [[Estimate(e.value) if e else None for e in group] for group in groups]
        each = [[place.value for place in places], *numbers]
        totals = [_mean_alone(mean_of_sets(of, metric_facts(METRIC))) for of in each]
        rows = [
            replace(r, cells=[*r.cells, replace(table.number(METRIC, t), style=r.cells[0].style)])
            for r, t in zip(rows, totals, strict=True)
        ]
    return rows


def _own(table: Table, heading: str, places: Sequence[Place], *, augmented: bool) -> Row:
    """Our row, with its protocol and, where published results differ in it, its augmentation."""
    there = [place.ours for place in places if place.ours is not None]
    protocol = ", ".join(dict.fromkeys(ours.protocol or "none" for ours in there))
    words = ", ".join(dict.fromkeys(ours.augmentation or "other" for ours in there))
    cells = [Cell(protocol, extra=f"augmentation: {words}" if augmented else "")]
    for place in places:
        known = place.value and (place.value.mean is not None or place.value.reason)
        cells.append(table.number(place.metric, place.value if known else None))
    return Row(heading, cells, style="reference")


def _theirs(table: Table, heading: str, places: Sequence[Place], group: Group) -> Row:
    """A published row: its protocol, what ours is to it, and its numbers with their spreads."""
    notes = {entry: table.sign(f"{entry.source}: {entry.note}.") for entry in group if entry}
    once = next(iter(notes.values())) if len(set(notes.values())) == 1 else ""
    firsts = [
        _protocol(table, place, entry) for place, entry in zip(places, group, strict=True) if entry
    ]
    first = next(filter(None, firsts))
    if any(cell not in (first, None) for cell in firsts):
        first = Cell(first.content, extra=sentence("several_relations"))
    cells = [replace(first, mark=table.mark((once, *first.mark.split(","))))]
    for entry in group:
        if entry is None:
            cells.append(Cell())
            continue
        known = metric_facts(entry.metric)
        found = {"SE": entry.se, "SD": entry.sd}
        extra = next((f"{name} {known.show(v)}" for name, v in found.items() if v is not None), "")
        number, mark = Estimate(entry.value), "" if once else notes[entry]
        cells.append(Cell(number, known, extra=extra, mark=mark, style=first.style))
    return Row(heading, cells)


def _protocol(table: Table, place: Place, entry: Published) -> Cell | None:
    """The protocol of a published number, and what ours is to it; None where we have no run."""
    ours = place.ours
    if ours is None:
        return None
    found, signs = relation(ours, entry, searched=place.searched), []
    if ours.model != entry.model and entry.domain:
        theirs, own = map(model_title, (entry.model, ours.model))
        signs.append(table.sign(f"{theirs}; ours is {own}."))
    if entry.search and found in (Relation.SAME, Relation.THEY_SEARCHED):
        what = "the best of several settings" if place.searched else "a single setting"
        signs.append(table.sign(f"{entry.source} searched ({entry.search}); ours is {what}."))
    words = [f"augmentation: {entry.augmentation}"] if entry.augmentation else []
    style = "same" if found is Relation.SAME else ""
    extra = "; ".join([*words, found.value])
    return Cell(entry.protocol, extra=extra, mark=table.mark(signs), style=style)


def _finished(table: Table, rows: Sequence[Row], *notes: str) -> Table | None:
    """The table with its rows and notes; None where it has no row."""
    spreads = any(cell.extra.startswith(("SD", "SE")) for row in rows for cell in row.cells)
    table.rows, table.notes = [*rows], [*notes, *([sentence("spreads")] if spreads else [])]
    return table if rows else None
