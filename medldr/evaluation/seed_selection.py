"""The rules of choice where every seed has settings of its own: one setting is chosen for each.

Source:
    DomainBed (Gulrajani and Lopez-Paz 2021): its trials differ in split and in drawn settings, each
    chooses among its own, and the mean is over what the trials chose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medldr.evaluation.setting_selection import Choice, Trained, choose


def choose_per_seed(runs: Sequence[Trained], target: str, domains: Sequence[str]) -> list[Choice]:
    """What each rule chooses for a target when every seed chooses for itself.

    Args:
        runs: All runs of one method on one data set, in the order of their settings.
        target: The held-out domain.
        domains: All domains of the data set.

    Example:
        >>> from medldr.evaluation.setting_selection import Evaluated
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
