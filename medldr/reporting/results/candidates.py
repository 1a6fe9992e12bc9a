"""What the rules of choice need of each run: its evaluations, on validation and held-out parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from medldr.evaluation.setting_selection import Evaluated, Trained
from medldr.folders.metrics_log import LogRow
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study
from medldr.reporting.read.titles import titled
from medldr.reporting.results.held_runs import HeldRun, held_runs, set_domains
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
    """Methods of every data set of which domains were held out, set by set."""
    sets: dict[str, list[HeldRun]] = {}
    for held in held_runs(study, study.every):
        sets.setdefault(held.dataset, []).append(held)
    return [each for dataset, of_set in sets.items() for each in _of_set(study, dataset, of_set)]


def _of_set(study: Study, dataset: str, of_set: list[HeldRun]) -> Iterator[Candidates]:
    names = list(dict.fromkeys(domain for held in of_set for domain in held.domains))
    alone = dict.fromkeys(held.domains[0] for held in of_set if len(held.domains) == 1)
    domains = set_domains(dataset, [held.entry for held in of_set])
    # A set whose runs do not say its domains has those that were held out.
    domains = domains if set(names) <= set(domains) else names
    methods: dict[str, list[HeldRun]] = {}
    for held in of_set:
        methods.setdefault(held.row, []).append(held)
    for method, runs in methods.items():
        targets = tuple(domain for domain in alone if any(r.domains == (domain,) for r in runs))
        settings = list(dict.fromkeys(held.entry.setting for held in runs))
        ordered = sorted(runs, key=lambda held: settings.index(held.entry.setting))
        if targets:
            trained = tuple(_trained(study, held) for held in ordered)
            yield Candidates(dataset, method, tuple(domains), targets, trained)


def _trained(study: Study, held: HeldRun) -> Trained:
    """One run as the rules need it."""
    entry = held.entry
    run = Trained(
        titled(entry.setting, study.layout.titles), entry.member.seed, frozenset(held.domains)
    )
    if entry.files is None:
        return run
    points = {point.step: point for point in map(_logged, entry.files.log) if point is not None}
    judged = _judged(entry.files, held.domains[0]) if len(held.domains) == 1 else {}
    for point in judged.values():
        known = points.get(point.step, point)
        points[point.step] = known._replace(
            target_in={**point.target_in, **known.target_in},
            target_out={**point.target_out, **known.target_out},
        )
    return replace(
        run,
        evaluated=tuple(points[step] for step in sorted(points)),
        last=judged.get("last"),
        best=judged.get(ORACLE_OUT),
    )


def has_curves(runs: Iterable[Trained]) -> bool:
    """Whether any run was scored on a held-out part more than once."""
    return any(sum(bool(p.target_out) for p in run.evaluated) > 1 for run in runs)


def _logged(row: LogRow) -> Evaluated | None:
    """A record of `metrics.jsonl`; None if it is no evaluation."""
    step, val = row.get("step"), row.get("val/domain_accuracy")
    parts: dict[str, dict[str, float]] = {part: {} for part in PARTS}
    for key, value in row.items():
        kind, _, place = key.partition("/")
        domain, _, part = place.removesuffix("/accuracy").rpartition("/")
        if kind == "held_out" and key.endswith("/accuracy") and part in parts and value is not None:
            parts[part][domain] = float(value)
    if not isinstance(step, int) or (val is None and not any(parts.values())):
        return None
    return Evaluated(step, None if val is None else float(val), *parts.values())


def _judged(files: RunFiles, domain: str) -> dict[str, Evaluated]:
    """How the weights of each rule were judged at the end, where they are those of one step."""
    found = {}
    for rule, (chosen, evaluation) in files.by_rule.items():
        inside, outside = (target_value(evaluation, part, "accuracy") for part in PARTS)
        if inside is not None and outside is not None and chosen.step is not None:
            found[rule] = Evaluated(chosen.step, None, {domain: inside}, {domain: outside})
    found.pop(AVERAGED, None)
    return found
