"""Tables of runs that held one domain out each: methods down, held-out domains across."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from medldr.metrics import Measure, measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.results.held_out import LeftOut, judged, left_out
from medldr.reporting.results.spread import Spread, seed_means, spread
from medldr.reporting.results.target_parts import TARGETS, seen_value
from medldr.reporting.sections.sweep import Parts, Section

DASH = "–"
LOWEST = "lowest"
OLDER = "At least one of its runs was judged before there was a target_in; judge it again."


def left_out_section(parts: Parts) -> Section:
    """Two tables per data set; empty where no data set had two domains held out one by one."""
    section = Section("left_out", "Leave one domain out", "One domain out")
    section.texts.append(
        "Each run held one domain out: its column says which. The mean is taken over the domains "
        "within each seed and then over seeds; SD is the standard deviation over seeds, SE their "
        "population standard deviation over the square root of their number, as DomainBed prints "
        "it. “Lowest” marks the domain on which a method does worst. Seen is the accuracy on "
        "images of the domains that were trained on, held back from training (id_test, else "
        "id_val)."
    )
    sets = left_out(parts.study)
    if len(sets) > 1:
        section.tables.append(sets_table(sets, parts.metrics[0]))
    for found in sets:
        for target in TARGETS:
            table = left_out_table(found, target, parts.metrics[0])
            section.tables += [table] if table.rows else []
    return section


def sets_table(sets: Sequence[LeftOut], metric: str = "accuracy") -> Table:
    """Mean over the domains of each data set on target_in, and the plain mean over the sets."""
    known = measure(metric)
    table = Table(
        f"{known.heading} on target_in, mean over the domains of each data set",
        ["Method", *(found.dataset for found in sets), "Average"],
        intervals=False,
    )
    names = list(dict.fromkeys(row for found in sets for row in found.rows))
    controls = {row for found in sets for row in found.controls}
    for row in sorted(names, key=lambda name: name in controls):
        means = [
            mean_over_domains(found, row, "target_in", metric) if row in found.rows else None
            for found in sets
        ]
        cells = [_mean(known, mean) for mean in means]
        there = [mean.mean for mean in means if mean is not None]
        whole = len(there) == len(sets)
        average = statistics.fmean(there) if whole else None
        cells.append(Cell(DASH) if average is None else Cell(known.show(average), value=average))
        apart = row in controls
        table.rows.append(Row(row, cells, ("control",) if apart else (), apart=apart))
    part = [found for found in sets if found.never]
    if part:
        names = [f"{found.dataset} ({', '.join(found.never)})" for found in part]
        table.notes.append(f"Without domains that no run held out: {'; '.join(names)}.")
    return table


def left_out_table(found: LeftOut, target: str, metric: str = "accuracy") -> Table:
    """A measure of each method on each held-out domain, and the mean over them.

    Args:
        found: The runs of one data set.
        target: ``target_in`` or ``target_all``.
        metric: The measure.
    """
    known = measure(metric)
    several = len(found.domains) + len(found.never)
    mean = f"Mean of {len(found.domains)} of {several}" if found.never else "Mean"
    columns = ["Method", *found.domains, mean, "Seen", "Seen − unseen"]
    caption = f"{found.dataset}: {known.heading}, {TARGETS[target]}"
    table = Table(caption, columns, intervals=False)
    for row in found.rows:
        table.rows.append(_row(table, found, row, target, known, metric))
    if found.never:
        table.notes.append(
            f"No run held out {', '.join(found.never)}: the mean is not one over the data set."
        )
    table.notes += protocol_notes(found)
    return table


def protocol_notes(found: LeftOut) -> list[str]:
    """A note on runs of one table that follow different protocols."""
    rows: dict[str, list[str]] = {}
    for row in found.rows:
        for entry in found.of(row):
            if entry.source is not None:
                names = rows.setdefault(entry.source.protocol or "none", [])
                names += [] if row in names else [row]
    if len(rows) < 2:
        return []
    each = "; ".join(f"{protocol}: {', '.join(names)}" for protocol, names in rows.items())
    return [f"Runs of this table follow different protocols and are not to be compared: {each}."]


def mean_over_domains(found: LeftOut, row: str, target: str, metric: str) -> Spread | None:
    """Over the domains within a seed, then over seeds; None where a run lacks a number."""
    by_domain = {d: found.values(row, d, target, metric) for d in found.domains}
    planned = {entry.member.seed for entry in found.of(row)}
    means = seed_means(by_domain)
    return spread(list(means.values())) if set(means) == planned and means else None


def _row(table: Table, found: LeftOut, row: str, target: str, known: Measure, metric: str) -> Row:
    by_domain = {d: found.values(row, d, target, metric) for d in found.domains}
    worst = _worst(by_domain, known)
    cells = []
    for domain, values in by_domain.items():
        cell = _cell(known, values.values(), len(found.runs.get((row, domain), ())))
        cells.append(_with(cell, LOWEST) if domain == worst else cell)
    lost = found.missing(row)
    mark = ""
    if lost:
        told = "; ".join(f"{domain}, seed {seed} ({state})" for domain, seed, state in lost)
        mark = table.sign(f"No mean, because runs have no result: {told}.")
    elif target != "target_all" and _older(found, row, target, metric):
        mark = table.sign(OLDER)
    total = mean_over_domains(found, row, target, metric)
    cells.append(_mean(known, total))
    seen = seed_means({d: _seen(found, row, d, metric) for d in found.domains})
    unseen = seed_means(by_domain)
    whole = total is not None and set(seen) == set(unseen)
    cells.append(_cell(known, seen.values() if whole else (), 0))
    lost_on_the_way = [seen[seed] - unseen[seed] for seed in unseen] if whole else []
    cells.append(_difference(known, lost_on_the_way))
    control = row in found.controls
    return Row(row, cells, ("control",) if control else (), mark=mark, apart=control)


def _seen(found: LeftOut, row: str, domain: str, metric: str) -> dict[int, float]:
    runs = found.runs.get((row, domain), ())
    values = {entry.member.seed: seen_value(judged(entry), metric) for entry in runs}
    return {seed: value for seed, value in values.items() if value is not None}


def _older(found: LeftOut, row: str, target: str, metric: str) -> bool:
    """Whether a finished run has no number on the part."""
    there = sum(len(found.values(row, d, target, metric)) for d in found.domains)
    return there < sum(entry.run is not None for entry in found.of(row))


def _worst(by_domain: Mapping[str, Mapping[int, float]], known: Measure) -> str:
    means = {d: statistics.fmean(v.values()) for d, v in by_domain.items() if v}
    if len(means) < len(by_domain) or len(set(means.values())) < 2 or not known.better:
        return ""  # the worst of some domains may not be the worst of all
    end = min if known.better == "higher" else max
    return end(means, key=means.__getitem__)


def _cell(known: Measure, values: Iterable[float], planned: int) -> Cell:
    numbers = list(values)
    if not numbers:
        return Cell(DASH)
    found = spread(numbers)
    told = "" if found.sd is None else known.show(found.sd)
    count = f"n {found.n}" if planned in (0, found.n) else f"n {found.n} of {planned}"
    return Cell(
        known.show(found.mean),
        extra=f"SD {told}, {count}" if told else count,
        value=found.mean,
        spread=told,
        count=count,
    )


def _mean(known: Measure, found: Spread | None) -> Cell:
    if found is None:
        return Cell(DASH)
    cell = _cell(known, [found.mean], 0)
    if found.sd is None or found.se is None:
        return cell
    told, count = known.show(found.sd), f"n {found.n}"
    return Cell(
        cell.text,
        detail=f"SE {known.show(found.se)}",
        extra=f"SD {told}, {count}",
        value=found.mean,
        spread=told,
        count=count,
    )


def _difference(known: Measure, values: list[float]) -> Cell:
    if not values:
        return Cell(DASH)
    found = spread(values)
    return Cell(known.show_difference(found.mean), value=found.mean)


def _with(cell: Cell, detail: str) -> Cell:
    return Cell(**{**vars(cell), "detail": detail})
