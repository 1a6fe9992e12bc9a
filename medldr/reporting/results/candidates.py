"""What the rules of choice need of each run: its evaluations, on validation and held-out parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from medldr.reporting.read.run import RunSource
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.held_out import Held, held_runs, set_domains
from medldr.reporting.results.selection import Evaluated, Trained
from medldr.reporting.results.target_parts import target_value

ORACLE_OUT = "oracle_out_accuracy"
"""The rule that takes the evaluation with the highest accuracy on target_out."""
AVERAGED = "swad"
"""A rule whose weights are of no single step."""
PARTS = ("target_in", "target_out")


@dataclass(frozen=True)
class Candidates:
    """Runs of one method on one data set.

    Attributes:
        dataset: The data set.
        method: The method, as printed.
        domains: All domains of the data set.
        targets: Domains that were held out alone, in this order.
        runs: All of its runs, in the order of their settings.
    """

    dataset: str
    method: str
    domains: tuple[str, ...]
    targets: tuple[str, ...]
    runs: tuple[Trained, ...]


def candidates(study: Study) -> list[Candidates]:
    """Methods of every data set of which domains were held out, in the order of the sweep."""
    held = held_runs(study, study.every)
    groups: dict[tuple[str, str], list[Held]] = {}
    for one in held:
        groups.setdefault((one.dataset, one.row), []).append(one)
    found = []
    for (dataset, method), of_method in groups.items():
        alone = [one.domains[0] for one in held if one.dataset == dataset and len(one.domains) == 1]
        names = list(
            dict.fromkeys(d for one in held if one.dataset == dataset for d in one.domains)
        )
        domains = set_domains(dataset, [one.entry for one in held if one.dataset == dataset])
        # A set whose runs do not say its domains has those that were held out.
        domains = domains if set(names) <= set(domains) else names
        own = {one.domains[0] for one in of_method if len(one.domains) == 1}
        targets = tuple(d for d in dict.fromkeys(alone) if d in own)
        settings = list(dict.fromkeys(one.entry.setting for one in of_method))
        ordered = sorted(of_method, key=lambda one: settings.index(one.entry.setting))
        if targets:
            runs = tuple(trained(study, one) for one in ordered)
            found.append(Candidates(dataset, method, tuple(domains), targets, runs))
    return found


def trained(study: Study, held: Held) -> Trained:
    """One run as the rules need it."""
    entry = held.entry
    titles = study.layout.titles
    setting = ", ".join(titles.get(part, part) for part in entry.setting.split(", "))
    domains = frozenset(held.domains)
    if entry.source is None:
        return Trained(setting, entry.member.seed, domains)
    points = {point.step: point for point in map(_logged, entry.source.rows) if point is not None}
    judged = _judged(entry.source, held) if len(held.domains) == 1 else {}
    for point in judged.values():
        known = points.get(point.step, point)
        points[point.step] = known._replace(
            target_in={**point.target_in, **known.target_in},
            target_out={**point.target_out, **known.target_out},
        )
    evaluated = tuple(points[step] for step in sorted(points))
    last, best = judged.get("last"), judged.get(ORACLE_OUT)
    return Trained(setting, entry.member.seed, domains, evaluated, last, best)


def has_curves(runs: Iterable[Trained]) -> bool:
    """Whether any run was scored on a held-out part more than once."""
    return any(sum(bool(p.target_out) for p in run.evaluated) > 1 for run in runs)


def _logged(row: Mapping[str, Any]) -> Evaluated | None:
    """A record of `metrics.jsonl`; None if it is no evaluation."""
    step = row.get("step")
    if not isinstance(step, int):
        return None
    parts: dict[str, dict[str, float]] = {part: {} for part in PARTS}
    for key, value in row.items():
        if key.startswith("held_out/") and value is not None:
            name, _, rest = key.removeprefix("held_out/").rpartition("/accuracy")
            domain, _, part = name.rpartition("/")
            if not rest and part in parts:
                parts[part][domain] = float(value)
    val = row.get("val/domain_accuracy")
    if val is None and not any(parts.values()):
        return None
    return Evaluated(step, None if val is None else float(val), *parts.values())


def _judged(source: RunSource, held: Held) -> dict[str, Evaluated]:
    """How the weights of each rule were judged at the end, where they are those of one step."""
    found = {}
    for rule, (chosen, judged) in source.by_rule.items():
        step = chosen.get("step")
        if judged is None or rule == AVERAGED or not isinstance(step, int):
            continue
        values = [_part(judged, part) for part in PARTS]
        if all(value is not None for value in values):
            held_in, held_out = ({held.domains[0]: float(value or 0.0)} for value in values)
            found[rule] = Evaluated(step, None, held_in, held_out)
    return found


def _part(judged: Mapping[str, Any], part: str) -> float | None:
    return target_value(judged, part, "accuracy")
