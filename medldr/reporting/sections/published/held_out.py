"""Ours beside published numbers where one domain was held out at a time: by domain, set and all."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.estimate import Estimate, spread
from medldr.metrics import metric_facts
from medldr.reporting.published.match import Ours, by_source
from medldr.reporting.published.numbers import MEAN, Published
from medldr.reporting.results.held_out import HeldOut, mean_over_domains
from medldr.reporting.sections.published.cells import METRIC, TARGET, Place, add_rows, finished
from medldr.reporting.table import Table

AVERAGED = (
    "The average is the plain mean over the data sets; that of a published row is the mean of its "
    "printed means, so that its last digit may differ from a printed average."
)


def held_out_published(sets: Sequence[HeldOut]) -> list[Table]:
    """Tables of the means of several data sets, then of each set's domains."""
    tables = [sets_published(sets), *map(domains_published, sets)]
    return [table for table in tables if table is not None]


def sets_published(sets: Sequence[HeldOut]) -> Table | None:
    """Each method's means over the domains of several data sets, ours and published.

    Returns:
        None where there is a single data set, or nobody published a mean of these methods.
    """
    table = Table(
        f"{metric_facts(METRIC).heading} on {TARGET}, mean over the domains of each data set, "
        "ours and published",
        ["Method", "Protocol", *(found.dataset for found in sets), "Average"],
        texts=(1,),
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
        add_rows(table, f"{row}: ours", places, groups.values(), name=f"{row}: ", average=True)
    return finished(table, AVERAGED)


def domains_published(found: HeldOut) -> Table | None:
    """Each method's numbers on the domains of a data set, with the published ones below them.

    Returns:
        None where nobody published numbers of these methods on this data set.
    """
    domains = [*found.domains, *found.never]
    table = Table(
        f"{found.dataset}: {metric_facts(METRIC).heading} on {TARGET}, ours and published",
        ["Method", "Protocol", *domains, "Mean"],
        texts=(1,),
    )
    for row in found.rows:
        ours = _ours(found, row)
        if ours is None or row in found.controls:
            continue
        values = [found.values(row, domain, TARGET, METRIC).values() for domain in domains]
        means = [spread(list(several)) if several else None for several in values]
        places = [Place(ours, m, row in found.searched) for m in (*means, _mean(found, row))]
        groups = by_source(found.dataset, ours.method, [*domains, MEAN])
        add_rows(table, f"{row}: ours", places, groups, name=f"{row}: ")
    lost = (
        f"We held out {len(found.domains)} of {len(domains)} domains, so that no mean of ours "
        "can stand beside a published one."
    )
    return finished(table, *([lost] if found.never else []))


def _ours(found: HeldOut, row: str) -> Ours | None:
    """The ids of a finished run of a method; None where there is none."""
    files = next((entry.files for entry in found.of(row) if entry.files is not None), None)
    return None if files is None else Ours.of(files)


def _mean(found: HeldOut, row: str) -> Estimate | None:
    """Our mean over all domains of a set; None where a domain was not held out."""
    if found.never or row not in found.rows:
        return None
    return mean_over_domains(found, row, TARGET, METRIC)
