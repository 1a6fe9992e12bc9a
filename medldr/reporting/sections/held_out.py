"""Tables of runs that held one domain out each: methods down, held-out domains across."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.intervals.inference import average
from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.published.numbers import domain_names
from medldr.reporting.results.class_mix import Chance, mean_of_levels
from medldr.reporting.results.held_out import (
    HeldOut,
    held_chance,
    held_size,
    mean_over_domains,
    seeds_over_sets,
)
from medldr.reporting.sections.rows import chance_row, count, grouped, method_row
from medldr.reporting.table import AVERAGE, Table
from medldr.reporting.wording import TARGETS


def held_out(sets: Sequence[HeldOut], metric: str) -> Section | None:
    """A table per data set; None where no data set had two domains held out one by one."""
    tables = [sets_table(sets, metric)] if len(sets) > 1 else []
    tables += [held_out_table(found, target_of([found]), metric) for found in sets]
    return section("sweep", "left_out", *tables)


def target_of(sets: Sequence[HeldOut]) -> str:
    """What is shown of held-out domains: all of them, or the part that is published of each set."""
    return "target_in" if all(domain_names(found.dataset) for found in sets) else "target_all"


def sets_table(sets: Sequence[HeldOut], metric: str = "accuracy") -> Table:
    """Mean over the domains of each data set, and the plain mean over the sets."""
    target = target_of(sets)
    caption = f"{metric_facts(metric).heading} on {target}, mean over the domains of each data set"
    columns = ["Method", *(found.dataset for found in sets), AVERAGE]
    table = Table(caption, columns, intervals=False)
    names = list(dict.fromkeys(row for found in sets for row in found.rows))
    controls = {row for found in sets for row in found.controls}
    for row in sorted(names, key=lambda name: name in controls):
        means = [
            mean_over_domains(found, row, target, metric) if row in found.rows else None
            for found in sets
        ]
        seeds = seeds_over_sets(sets, row, target, metric)
        average_of_sets = average(means, metric_facts(metric), seeds=seeds)
        if average_of_sets is not None and not seeds:
            unrelated = sentence("seeds_apart").strip()
            table.notes += [] if unrelated in table.notes else [unrelated]
        cells = [table.number(metric, mean) for mean in (*means, average_of_sets)]
        table.rows.append(method_row(row, cells, control=row in controls))
    each = [[held_chance(f, domain, target) for domain in f.domains] for f in sets]
    levels = [mean_of_levels(of_set) for of_set in each]
    _add_chance(table, metric, [*levels, mean_of_levels(levels)])
    table.alone += [*(f"{f.dataset}: {s}" for f in sets for s in sizes_of(f, target))]
    table.alone += held_words(sets)
    part = [f"{found.dataset} ({', '.join(found.never)})" for found in sets if found.never]
    if part:
        table.notes.append(f"Excludes domains that no run held out: {'; '.join(part)}.")
    return table


def held_out_table(found: HeldOut, target: str, metric: str = "accuracy") -> Table:
    """A metric of each method on each held-out domain, and the mean over them.

    Args:
        found: The runs of one data set.
        target: ``target_in`` or ``target_all``.
        metric: The metric.
    """
    several = len(found.domains) + len(found.never)
    mean = f"Mean of {len(found.domains)} of {several}" if found.never else "Mean"
    caption = f"{found.dataset}: {metric_facts(metric).heading}, {TARGETS[target]}"
    table = Table(caption, ["Method", *found.domains, mean], intervals=False)
    for row in found.rows:
        total = mean_over_domains(found, row, target, metric)
        each = [found.on_domain(row, domain, target, metric) for domain in found.domains]
        cells = [table.number(metric, estimate) for estimate in (*each, total)]
        mark = "" if total is not None else table.sign(sentence("no_mean", target=TARGETS[target]))
        table.rows.append(method_row(row, cells, control=row in found.controls, mark=mark))
    if found.never:
        table.notes.append(
            f"No run held out {', '.join(found.never)}, so the mean is not over the whole data set."
        )
    table.notes += [*sizes_of(found, target), *protocol_notes(found)]
    levels = [held_chance(found, domain, target) for domain in found.domains]
    _add_chance(table, metric, [*levels, mean_of_levels(levels)])
    table.alone += held_words([found])
    return table


def _add_chance(table: Table, metric: str, levels: Sequence[Chance | None]) -> None:
    """The row of chance level, if there is one."""
    last = chance_row([(metric, level) for level in levels])
    table.rows += [] if last is None else [last]


def sizes_of(found: HeldOut, target: str) -> list[str]:
    """Images and groups of each held-out domain: one sentence, none where they are not known."""
    sizes = {domain: held_size(found, domain, target) for domain in found.domains}
    each = [f"{domain} {size.counts}" for domain, size in sizes.items() if size is not None]
    return [f"Evaluated on {'; '.join(each)}."] if each else []


def held_words(sets: Sequence[HeldOut]) -> list[str]:
    """Seeds, and how the CI of a mean over domains was made, for a table that stands alone."""
    runs = [e.run for found in sets for row in found.rows for e in found.of(row) if e.run]
    made = next((r.evaluation.intervals for r in runs if r.evaluation.intervals is not None), None)
    seeds = len({run.seed for run in runs})
    if made is None:
        return []
    return [
        sentence("alone_held", seeds=count(seeds, "seed"), level=100 * made.level, draws=made.draws)
    ]


def protocol_notes(found: HeldOut) -> list[str]:
    """A note on runs of one table that follow different protocols."""
    done = [(row, entry.files) for row in found.rows for entry in found.of(row)]
    rows = grouped((files.protocol or "none", row) for row, files in done if files is not None)
    each = "; ".join(f"{protocol}: {', '.join(names)}" for protocol, names in rows.items())
    return [sentence("table_protocols", each=each)] if len(rows) > 1 else []
