"""Ours beside published numbers: a row of ours, and below it one for each source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from medldr.config.method import model_title
from medldr.config.sections import held_out
from medldr.evaluation.comparison.comparison import Comparison, Size
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import average as mean_of_sets
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.published.numbers import (
    MEAN,
    METRICS,
    TRAINING_DOMAIN,
    Ours,
    Published,
    Relation,
    beside,
    nearest_first,
    on_domain,
    relation,
)
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.headline import target_value
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
    """What one of our methods has in one column, and what others have published there.

    Attributes:
        ours: The ids of one of its runs; None where none is finished.
        value: Its number; None where it has none.
        metric: What the column is of.
        searched: Whether its settings are the best of several.
        theirs: The published numbers of the method, of which rows below its own are made.
    """

    ours: Ours | None
    value: Estimate | None
    metric: str = METRIC
    searched: bool = False
    theirs: Sequence[Published] = ()


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
    own = Estimate(target_value(files.evaluation, TARGET, METRIC))
    place = Place(ours, own, theirs=on_domain(ours.dataset, ours.method, domains[0]))
    caption = f"Ours and published, {domains[0]} held out, on {PART}"
    return _table(caption, [metric_facts(METRIC).heading], {"": [place]})


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
    each = [ours for ours, _ in own.values()]
    groups = nearest_first(each)
    if not groups:
        return None
    metrics = [key for key in METRICS if any(key in group for group in groups)]
    headings = ["Method", "Protocol", *(metric_facts(key).heading for key in metrics)]
    table = Table(f"Ours and published, test split, n = {counts}", headings, texts=(1,))
    augmented = any(entry.augmentation for group in groups for entry in group.values())
    for heading, (ours, numbers) in own.items():
        places = [Place(ours, numbers.get(key), key) for key in metrics]
        table.rows.append(_own(table, heading, places, augmented=augmented))
    for group in groups:
        entry = next(iter(group.values()))
        same = (ours for ours in each if relation(ours, entry) is Relation.SAME)
        alike = (ours for ours in each if ours.method == entry.method)
        nearest = next(same, None) or next(alike, each[0])
        places = [Place(nearest, None, key) for key in metrics]
        heading = f"{entry.title} ({entry.source})"
        table.rows.append(_theirs(table, heading, places, [group.get(key) for key in metrics]))
    return table


def sweep_published(study: Study, columns: Sequence[Column]) -> list[Table]:
    """One table per published metric: our mean in each data set, and the published numbers."""

    def place(row: str, column: Column, metric: str) -> Place:
        files = study.files(row, column.name)
        theirs = [each.entry for each in beside(study, column.name, row, metric)]
        mean = _mean_alone(column.estimate("test", metric, row))
        return Place(Ours.of(files) if files else None, mean, metric, theirs=theirs)

    tables = []
    for metric in METRICS:
        found = {row: {c.name: place(row, c, metric) for c in columns} for row in study.rows}
        shown = [c for c in columns if any(of[c.name].theirs for of in found.values())]
        methods = {row: [of[column.name] for column in shown] for row, of in found.items()}
        caption = f"{metric_facts(metric).heading}: ours and published, test"
        names = [column.name for column in shown]
        tables.append(_table(caption, names, methods, *size_note(shown, "test")))
    return [table for table in tables if table is not None]


def held_out_published(sets: Sequence[HeldOut]) -> list[Table]:
    """Each method's means over the domains of several data sets, then its numbers on each domain.

    Returns:
        The first only where there are several data sets; none where nobody published numbers of
        these methods.
    """
    heading = metric_facts(METRIC).heading
    rows = dict.fromkeys(row for found in sets for row in found.rows if row not in found.controls)
    sizes = [f"{found.dataset}: {text}" for found in sets for text in sizes_of(found, TARGET)]
    tables = [
        _table(
            f"{heading} on {PART}, mean over the domains of each data set, ours and published",
            [found.dataset for found in sets],
            {row: [_held(found, row, MEAN) for found in sets] for row in rows if len(sets) > 1},
            sentence("average_of_sets"), *sizes, average=True,
        )
    ]  # fmt: skip
    for found in sets:
        domains = [*found.domains, *found.never]
        lost = sentence("no_published_mean", held=len(found.domains), all=len(domains))
        tables.append(_table(
            f"{found.dataset}: {heading} on {PART}, ours and published",
            [*domains, "Mean"],
            {row: [_held(found, row, domain) for domain in (*domains, MEAN)]
             for row in found.rows if row not in found.controls},
            *([lost] if found.never else []), *sizes_of(found, TARGET),
        ))  # fmt: skip
    return [table for table in tables if table is not None]


def _held(found: HeldOut, row: str, domain: str) -> Place:
    """A method on a held-out domain; `MEAN` is over all of a set, none where any was not held."""
    files = next((entry.files for entry in found.of(row) if entry.files is not None), None)
    if files is None:
        return Place(None, None)
    ours = Ours.of(files)
    if domain != MEAN:
        value = found.on_domain(row, domain, TARGET, METRIC)
    else:
        value = None if found.never else mean_over_domains(found, row, TARGET, METRIC)
    theirs = on_domain(found.dataset, ours.method, domain)
    return Place(ours, _mean_alone(value), METRIC, row in found.searched, theirs)


def _mean_alone(found: Estimate | None) -> Estimate | None:
    """A mean with its spread and number of seeds, as papers print it; None where undefined."""
    if found is None or found.mean is None:
        return None
    return Estimate(found.mean, found.sd, n=found.n, planned=found.planned)


def _table(
    caption: str,
    columns: Sequence[str],
    methods: Mapping[str, Sequence[Place]],
    *notes: str,
    average: bool = False,
) -> Table | None:
    """Our row of each method, and below it a row for each source; None without a source.

    Args:
        caption: Of the table.
        columns: Headings of the places.
        methods: Its place in each column, by method; empty for a run, which has no other beside it.
        notes: Sentences below the table.
        average: Whether a mean over all columns follows.
    """
    headings = ["Method", "Protocol", *columns, *([AVERAGE] if average else [])]
    table = Table(caption, headings, notes=[*notes], texts=(1,), intervals=False)
    for method, places in methods.items():
        start = f"{method}: " if method else ""
        groups = _groups(places)
        if not groups:
            continue
        augmented = any(entry.augmentation for group in groups for entry in group if entry)
        heading = f"{start}ours" if method else "This run"
        rows = [_own(table, heading, places, augmented=augmented)]
        for group in groups:
            entry = next(filter(None, group))
            chosen = entry.selection not in ("", TRAINING_DOMAIN)
            name = f"{start}{entry.source}{f', {entry.selection}' if chosen else ''}"
            rows.append(_theirs(table, name, places, group))
        if average:
            numbers = [[Estimate(e.value) if e else None for e in group] for group in groups]
            each = [[place.value for place in places], *numbers]
            totals = [mean_of_sets(of, metric_facts(METRIC)) for of in each]
            cells = [table.number(METRIC, _mean_alone(total)) for total in totals]
            rows = [replace(r, cells=[*r.cells, replace(cell, style=r.cells[0].style)])
                    for r, cell in zip(rows, cells, strict=True)]  # fmt: skip
        table.rows += rows
    if any(cell.extra.startswith(("SD", "SE")) for row in table.rows for cell in row.cells):
        table.notes.append(sentence("spreads"))
    return table if table.rows else None


def _groups(places: Sequence[Place]) -> list[Group]:
    """The published numbers of each source, selection and protocol, one per column."""
    found: dict[tuple[str, ...], list[Published | None]] = {}
    for number, place in enumerate(places):
        for entry in place.theirs:
            key = (entry.selection, entry.source, entry.protocol)
            group = found.setdefault(key, [None] * len(places))
            group[number] = group[number] or entry
    return list(found.values())


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
