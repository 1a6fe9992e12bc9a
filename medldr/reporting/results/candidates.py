"""What the rules of choice need of each run: its evaluations, on validation and held-out parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from medldr.config.sections import later_stages, swad_form
from medldr.evaluation.setting_selection import Evaluated, Trained
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.metrics_log import LogRow, last_stage
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study, titled
from medldr.reporting.results.held_runs import HeldRun, held_runs, set_domains

ORACLE_OUT = "oracle_out_accuracy"
"""The rule that takes the evaluation with the highest accuracy on target_out."""
AVERAGED = "swad"
"""A rule whose weights are of no single step."""
PARTS = ("target_in", "target_out")
_ON_A_PART = re.compile(r"held_out/(.+)/(target_in|target_out)/accuracy")


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
    """Methods of every data set with held-out domains, set by set."""
    sets: dict[str, list[HeldRun]] = {}
    chose = [e for e in study.every if e.member.seed not in study.layout.fresh_seeds]
    for held in held_runs(study, chose):
        sets.setdefault(held.dataset, []).append(held)
    return [each for dataset, of_set in sets.items() for each in _of_set(study, dataset, of_set)]


def _of_set(study: Study, dataset: str, of_set: list[HeldRun]) -> Iterator[Candidates]:
    names = dict.fromkeys(domain for held in of_set for domain in held.domains)
    known = set_domains(dataset, [held.entry for held in of_set])
    # A set whose runs do not say its domains has those that were held out.
    domains = tuple(known if names.keys() <= set(known) else names)
    alone = dict.fromkeys(held.domains[0] for held in of_set if len(held.domains) == 1)
    for method in dict.fromkeys(held.row for held in of_set):
        runs = [held for held in of_set if held.row == method]
        targets = tuple(domain for domain in alone if any(r.domains == (domain,) for r in runs))
        settings = list(dict.fromkeys(held.entry.setting for held in runs))
        runs.sort(key=lambda held: settings.index(held.entry.setting))
        if targets and not all(_of_no_step(held.entry.config) for held in runs):
            trained = tuple(_trained(study, held) for held in runs)
            yield Candidates(dataset, method, domains, targets, trained)


def _of_no_step(config: Mapping[str, Any]) -> bool:
    """Whether its weights are of no single step, which is what the rules choose.

    They are averaged over many steps, or normalised after training.
    """
    stages = later_stages(config)
    return stages[-1].get("name") == "tau_norm" if stages else bool(swad_form(config))


def _trained(study: Study, held: HeldRun) -> Trained:
    """One run as the rules need it."""
    entry, setting = held.entry, titled(held.entry.setting, study.layout.titles)
    run = Trained(setting, entry.member.seed, frozenset(held.domains))
    if entry.files is None:
        return run
    rows = last_stage(entry.files.log)
    points = {point.step: point for point in map(_logged, rows) if point is not None}
    scored = _scored(entry.files, held.domains[0]) if len(held.domains) == 1 else {}
    for point in scored.values():
        known = points.get(point.step, point)
        inside = {**point.target_in, **known.target_in}
        outside = {**point.target_out, **known.target_out}
        points[point.step] = known._replace(target_in=inside, target_out=outside)
    evaluated = tuple(points[step] for step in sorted(points))
    return replace(run, evaluated=evaluated, last=scored.get("last"), best=scored.get(ORACLE_OUT))


def has_curves(runs: Iterable[Trained]) -> bool:
    """Whether any run was scored on a held-out part more than once."""
    return any(sum(bool(p.target_out) for p in run.evaluated) > 1 for run in runs)


def _logged(row: LogRow) -> Evaluated | None:
    """A record of `metrics.jsonl`; None if it is not an evaluation."""
    step, val = row.get("step"), row.get("val/domain_accuracy")
    parts: dict[str, dict[str, float]] = {part: {} for part in PARTS}
    for key, value in row.items():
        found = _ON_A_PART.fullmatch(key)
        if found and value is not None:
            parts[found[2]][found[1]] = float(value)
    if not isinstance(step, int) or (val is None and not any(parts.values())):
        return None
    return Evaluated(step, None if val is None else float(val), *parts.values())


def target_value(evaluation: EvaluationRecord | None, target: str, metric: str) -> float | None:
    """A metric on target_in, target_out or target_all; None where it was not evaluated.

    Args:
        evaluation: The evaluation of the run.
        target: The part of the test split.
        metric: The metric.
    """
    if evaluation is None:
        return None
    part = "" if target == "target_all" else target
    return evaluation.scores.value("test", metric, part=part)


def _scored(files: RunFiles, domain: str) -> dict[str, Evaluated]:
    """The final evaluation of the weights of each rule, where they are those of one step."""
    found = {}
    for rule, (chosen, evaluation) in files.by_rule.items():
        inside, outside = (target_value(evaluation, part, "accuracy") for part in PARTS)
        if rule == AVERAGED or inside is None or outside is None or chosen.step is None:
            continue
        found[rule] = Evaluated(chosen.step, None, {domain: inside}, {domain: outside})
    return found
