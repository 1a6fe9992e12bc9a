"""Rules that choose a setting and an evaluation for a held-out domain, from records of runs.

Each rule scores every evaluation of every run. For each run the evaluation with the highest score
counts, and the setting whose runs have the highest mean score over seeds is chosen; the first wins
ties, in the order of settings and of steps. With one seed these are DomainBed's rules; with
several, one setting is chosen for all of them and each seed keeps its own evaluation (`choose`), or
one is chosen for each seed (`choose_per_seed`): DomainBed's trials, which differ in split and in
drawn settings, each choose among their own.

Scores:

- training-domain validation: mean accuracy over the source domains' held-back parts;
- leave-one-domain-out cross-validation: mean over every other domain v of the accuracy on v of the
  run that held out the target and v, at an evaluation that all these runs have;
- oracle, last step: accuracy on target_out, of the last weights only;
- oracle, any step: accuracy on target_out.

The reported number is always the accuracy on target_in of the run that held out only the target.
The literature gives both oracles the same name; DomainBed's is the one of the last step.

Source:
    DomainBed (Gulrajani and Lopez-Paz 2021) for the first three, SWAD (Cha et al. 2021) for the
    oracle of any step. How several seeds share a setting is our choice.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from medldr.evaluation.intervals.estimate import Estimate, spread

VALIDATION: Final = "Training-domain validation"
CROSS: Final = "Leave-one-domain-out cross-validation"
ORACLE_LAST: Final = "Oracle, last step"
ORACLE_ANY: Final = "Oracle, any step"
RULES: Final = (VALIDATION, CROSS, ORACLE_LAST, ORACLE_ANY)


class Evaluated(NamedTuple):
    """One evaluation of a run.

    Attributes:
        step: Steps made by then.
        val: Accuracy on the source domains' held-back parts, each domain counting alike.
        target_in: Accuracy on the 80% of each held-out domain, by its name.
        target_out: Accuracy on its 20%.
    """

    step: int
    val: float | None = None
    target_in: Mapping[str, float] = {}
    target_out: Mapping[str, float] = {}


@dataclass(frozen=True)
class Trained:
    """One run; without a result it has no evaluations.

    Attributes:
        setting: Name of its setting.
        seed: Its seed.
        held_out: Domains that it never trained or validated on.
        evaluated: Its evaluations, in the order of training.
        last: The evaluation of its last weights; None: use the last of `evaluated`.
        best: The evaluation of the weights that target_out chose among all of them; None: choose
            from `evaluated`.
    """

    setting: str
    seed: int
    held_out: frozenset[str]
    evaluated: tuple[Evaluated, ...] = ()
    last: Evaluated | None = None
    best: Evaluated | None = None

    @property
    def logged(self) -> tuple[Evaluated, ...]:
        """Its evaluations while training, without weights that were only evaluated at the end."""
        return tuple(point for point in self.evaluated if point.val is not None)


class Missing(NamedTuple):
    """A run that a rule lacks, or that has no curve of the metric the rule reads.

    Attributes:
        held_out: Domains that it should have held out.
        setting: Its setting.
        seed: Its seed.
    """

    held_out: frozenset[str]
    setting: str
    seed: int

    @property
    def domains(self) -> str:
        """Its domains as text.

        Example:
            >>> Missing(frozenset(["photo", "art"]), "", 0).domains
            'art + photo'
        """
        return " + ".join(sorted(self.held_out))


class Scored(NamedTuple):
    """An evaluation as a rule sees it."""

    step: int
    score: float
    reported: float | None


@dataclass(frozen=True)
class Choice:
    """What a rule chose for a target.

    Attributes:
        rule: Its name.
        setting: The setting, or that of each seed; None where there was nothing to choose from.
        steps: The evaluation of each seed.
        values: Accuracy on target_in by seed; None where it was not measured.
        missing: Runs that the rule lacks; their settings were not candidates.
    """

    rule: str
    setting: str | None = None
    steps: Mapping[int, int] = field(default_factory=dict)
    values: Mapping[int, float | None] = field(default_factory=dict)
    missing: tuple[Missing, ...] = ()

    @property
    def numbers(self) -> list[float]:
        """Accuracy on target_in of every seed; empty where any was not measured."""
        found = [value for value in self.values.values() if value is not None]
        return found if len(found) == len(self.values) else []


def mean_of_choices(choices: Sequence[Choice]) -> Estimate | None:
    """The mean of one rule over domains, then over seeds; None where a number is missing."""
    numbers = [choice.numbers for choice in choices]
    seeds = {tuple(choice.values) for choice in choices}
    if not all(numbers) or len(seeds) != 1:
        return None
    means = [statistics.fmean(of_seed) for of_seed in zip(*numbers, strict=True)]
    return replace(spread(means), se=None)


def choose(runs: Sequence[Trained], target: str, domains: Sequence[str]) -> list[Choice]:
    """What each rule chooses for a target, in the order of `RULES`.

    Args:
        runs: All runs of one method on one data set, in the order of their settings.
        target: The held-out domain.
        domains: All domains of the data set.

    Example:
        >>> def run(setting, *points):
        ...     found = [Evaluated(n, val, {"p": a}, {"p": b})
        ...              for n, (val, a, b) in enumerate(points)]
        ...     return Trained(setting, 0, frozenset(["p"]), tuple(found))
        >>> runs = [run("low", (0.7, 0.5, 0.6), (0.9, 0.4, 0.5)), run("high", (0.8, 0.6, 0.55))]
        >>> for found in choose(runs, "p", ["p", "q"]):
        ...     print(found.rule, found.setting, dict(found.values))
        Training-domain validation low {0: 0.4}
        Leave-one-domain-out cross-validation None {}
        Oracle, last step high {0: 0.6}
        Oracle, any step low {0: 0.5}
    """
    single = [run for run in runs if run.held_out == {target}]
    return [
        _best(VALIDATION, single, [_validated(run, target) for run in single]),
        _cross_validation(single, runs, target, domains),
        _best(ORACLE_LAST, single, [_last(run, target) for run in single]),
        _best(ORACLE_ANY, single, [_any(run, target) for run in single]),
    ]


def choose_per_seed(runs: Sequence[Trained], target: str, domains: Sequence[str]) -> list[Choice]:
    """What each rule chooses for a target when every seed chooses for itself.

    Args:
        runs: All runs of one method on one data set, in the order of their settings.
        target: The held-out domain.
        domains: All domains of the data set.

    Example:
        >>> def run(setting, seed, val, inside):
        ...     point = Evaluated(1, val, {"p": inside}, {"p": inside})
        ...     return Trained(setting, seed, frozenset(["p"]), (point,))
        >>> runs = [run("one", 0, 0.9, 0.5), run("one", 1, 0.7, 0.5), run("two", 1, 0.8, 0.6)]
        >>> found, *_ = choose_per_seed(runs, "p", ["p", "q"])
        >>> found.setting, dict(found.values)
        ('one / two', {0: 0.5, 1: 0.6})
    """
    seeds = sorted({run.seed for run in runs if run.held_out == {target}})
    each = [choose([run for run in runs if run.seed == seed], target, domains) for seed in seeds]
    return [
        _together(dict(zip(seeds, of_rule, strict=True))) for of_rule in zip(*each, strict=True)
    ]


def best_of(points: Sequence[Scored]) -> Scored:
    """The evaluation with the highest score, the first of several."""
    return max(points, key=lambda point: point.score)  # max keeps the first of equals


def _validated(run: Trained, target: str) -> list[Scored]:
    return [
        Scored(point.step, point.val, point.target_in.get(target))
        for point in run.evaluated
        if point.val is not None
    ]


def _seen(evaluated: Sequence[Evaluated], target: str) -> list[Scored]:
    return [
        Scored(point.step, point.target_out[target], point.target_in.get(target))
        for point in evaluated
        if target in point.target_out
    ]


def _last(run: Trained, target: str) -> list[Scored]:
    last = run.logged[-1:] if run.last is None else (run.last,)
    return _seen(last, target)


def _any(run: Trained, target: str) -> list[Scored]:
    """All evaluations, or the one that target_out chose; empty where it saw only some."""
    logged = run.logged
    if logged and all(target in point.target_out for point in logged):
        return _seen(logged, target)
    return [] if run.best is None else _seen((run.best,), target)


def _best(
    rule: str,
    single: Sequence[Trained],
    points: Sequence[Sequence[Scored]],
    missing: Sequence[Missing] | None = None,
) -> Choice:
    """The setting with the highest mean over seeds, of those that have every seed."""
    if missing is None:
        missing = [_lost(run) for run, found in zip(single, points, strict=True) if not found]
    seeds = list(dict.fromkeys(run.seed for run in single))
    scored: dict[str, dict[int, Scored]] = {}
    for run, found in zip(single, points, strict=True):
        of_setting = scored.setdefault(run.setting, {})
        if found:
            of_setting[run.seed] = best_of(found)
    whole = {name: found for name, found in scored.items() if found and len(found) == len(seeds)}
    if not whole:
        return Choice(rule, missing=tuple(missing))
    means = {
        name: statistics.fmean(point.score for point in found.values())
        for name, found in whole.items()
    }
    name = max(means, key=means.__getitem__)
    chosen = {seed: whole[name][seed] for seed in sorted(whole[name])}
    return Choice(
        rule,
        setting=name,
        steps={seed: point.step for seed, point in chosen.items()},
        values={seed: point.reported for seed, point in chosen.items()},
        missing=tuple(missing),
    )


def _cross_validation(
    single: Sequence[Trained], runs: Sequence[Trained], target: str, domains: Sequence[str]
) -> Choice:
    others = [domain for domain in domains if domain != target]
    known = {(run.setting, run.seed, run.held_out): run for run in runs}
    missing: list[Missing] = []
    points: list[list[Scored]] = []
    for run in single:
        scores: dict[int, list[float]] = {point.step: [] for point in run.evaluated}
        for other in others:
            both = frozenset((target, other))
            pair = known.get((run.setting, run.seed, both))
            evaluated = () if pair is None else pair.evaluated
            curve = {p.step: p.target_in[other] for p in evaluated if other in p.target_in}
            if not curve:
                missing.append(Missing(both, run.setting, run.seed))
            for step in scores.keys() & curve.keys():
                scores[step].append(curve[step])
        if not run.evaluated:
            missing.append(_lost(run))
        points.append(
            [
                Scored(p.step, statistics.fmean(scores[p.step]), p.target_in.get(target))
                for p in run.evaluated
                if others and len(scores[p.step]) == len(others)
            ]
        )
    return _best(CROSS, single, points, list(dict.fromkeys(missing)))


def _lost(run: Trained) -> Missing:
    return Missing(run.held_out, run.setting, run.seed)


def _together(choices: Mapping[int, Choice]) -> Choice:
    """One rule's choices for each seed as one; without a setting if any seed lacks one."""
    first, *_ = choices.values()
    missing = tuple(lost for choice in choices.values() for lost in choice.missing)
    settings = [choice.setting for choice in choices.values()]
    named = [setting for setting in settings if setting is not None]
    if len(named) < len(settings):
        return Choice(first.rule, missing=missing)
    return Choice(
        first.rule,
        setting=named[0] if len(set(named)) == 1 else " / ".join(named),
        steps={seed: choice.steps[seed] for seed, choice in choices.items()},
        values={seed: choice.values[seed] for seed, choice in choices.items()},
        missing=missing,
    )
