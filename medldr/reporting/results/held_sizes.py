"""Size and class mix of the domains that runs held out."""

from __future__ import annotations

from medldr.evaluation import Run, intervals
from medldr.evaluation.class_mix import shares
from medldr.evaluation.comparison.records import Size
from medldr.evaluation.metrics.ranking import positives
from medldr.reporting.results.chance import Chance, chance, mean_of_levels
from medldr.reporting.results.held_out import HeldOut


def held_size(found: HeldOut, domain: str, target: str) -> Size | None:
    """A held-out domain, as one of the runs that held it out was evaluated; None without any.

    Args:
        found: The runs of a data set.
        domain: The domain.
        target: ``target_in``, ``target_out`` or ``target_all``.
    """
    runs = _runs(found, domain)
    if not runs or "test" not in runs[0].predictions:
        return None
    table = runs[0].predictions["test"]
    if target != "target_all":
        table = table.select(table.part == target)
    if not len(table):
        return None
    units = intervals.units(table)
    mix = shares(positives(table.label, len(table.class_names), table.task))
    named = {n: float(v) for n, v in zip(table.class_names, mix, strict=True) if v == v}
    return Size(len(table), units.count, units.few, unit=units.kind, class_shares=named)


def held_chance(found: HeldOut, domain: str, target: str) -> Chance | None:
    """Chance level on a held-out domain; None where its labels are not known."""
    size = held_size(found, domain, target)
    return None if size is None else chance(size, _runs(found, domain)[0].evaluation.task)


def mean_chance(found: HeldOut, target: str) -> Chance | None:
    """Its mean over the domains; None where any has none."""
    return mean_of_levels([held_chance(found, domain, target) for domain in found.domains])


def _runs(found: HeldOut, domain: str) -> list[Run]:
    """Finished runs that held a domain out."""
    there = [entry for row in found.rows for entry in found.runs.get((row, domain), ())]
    return [entry.run for entry in there if entry.run is not None]
