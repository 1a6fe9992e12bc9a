"""The choice of one setting among several, by validation alone: never by the test split.

The setting whose runs have the highest mean validation over seeds is chosen. A setting that lacks a
result is no candidate: it must not win by chance. Of several with the same mean the one wins that
changes the fewest keys of the first setting, then the one that comes first.

The best of many settings looks better than it is: in simulations of 20 equal settings, the mean of
the chosen one over its own seeds was 3.2 points too high, and its 95% CI held the truth in 77%. So
a chosen setting is trained again with fresh seeds, or its numbers get no p.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.folders.choices_record import SettingChoice, Tried
from medldr.folders.metrics_log import LogRow, last_stage
from medldr.folders.sweep_record import DRAW, Member

S = TypeVar("S", bound=Hashable)

KEYS: Final = {
    "val/domain_accuracy": "training-domain validation",
    "val/accuracy": "accuracy on the validation split",
}
"""What a choice is based on: the first that every finished run of a cell has logged."""
RULE: Final = (
    "highest mean validation over seeds, of settings that have all their runs; then the fewest "
    "keys that differ from the first setting, then the lower number"
)


class Best(NamedTuple, Generic[S]):
    """The best of several settings.

    Attributes:
        setting: The setting; None where none has all its results.
        tied: Others with the same mean.
    """

    setting: S | None
    tied: tuple[S, ...] = ()


def choose_setting(
    values: Mapping[S, Mapping[int, float | None]], changed: Mapping[S, int] | None = None
) -> Best[S]:
    """The setting with the highest mean validation over seeds.

    Args:
        values: Validation of each setting by seed, in the order of settings; None where a run has
            no result. Higher is better.
        changed: How many keys of each setting differ from the first one, which decides between
            settings of the same mean; unset: the order alone decides.

    Example:
        >>> values = {"d00": {0: 0.7, 1: 0.8}, "d01": {0: 0.9, 1: None}, "d02": {0: 0.8, 1: 0.9},
        ...           "d03": {0: 0.9, 1: 0.8}}
        >>> choose_setting(values, {"d02": 3, "d03": 1})
        Best(setting='d03', tied=('d02',))
    """
    means = {name: mean.mean for name in values if (mean := validation(values[name])) is not None}
    if not means:
        return Best(None)
    top = max(mean for mean in means.values() if mean is not None)
    first = [name for name, mean in means.items() if math.isclose(mean or 0, top, abs_tol=1e-9)]
    fewest = min(first, key=lambda name: (changed or {}).get(name, 0))  # the first of equals
    return Best(fewest, tuple(name for name in first if name != fewest))


def validation(values: Mapping[int, float | None]) -> Estimate | None:
    """Mean and SD over seeds of one setting; None where a run has no result."""
    known = [value for value in values.values() if value is not None]
    return spread(known) if known and len(known) == len(values) else None


class Trial(NamedTuple):
    """One run of a method in a column.

    Attributes:
        run: Its name.
        setting: Its setting.
        seed: Its seed.
        keys: Its values of what is searched, axes and drawn keys, by dotted key.
        log: What it logged; None without a result. One of several folds is one trial.
    """

    run: str
    setting: tuple[str, ...]
    seed: int
    keys: Mapping[str, Any]
    log: Sequence[LogRow] | None


def method_and_setting(
    row: Mapping[str, str], search: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """What makes a row without its settings, and these.

    Example:
        >>> row = {"algorithm": "erm", "training.lr": "lr-0.1", "data.held_out": "photo"}
        >>> method_and_setting(row, ["training.lr"])
        ({'algorithm': 'erm', 'data.held_out': 'photo'}, ('lr-0.1',))
    """
    kept = {axis: value for axis, value in row.items() if axis not in search}
    return kept, tuple(value for axis, value in row.items() if axis in search)


def are_pairs(held: Sequence[tuple[str, ...]]) -> list[bool]:
    """Whether each run held out two domains, each of which others held out alone.

    Example:
        >>> are_pairs([("a",), ("b",), ("a", "b"), ("a", "c")])
        [False, False, True, False]
    """
    alone = {domains for domains in held if len(domains) == 1}
    return [len(two) == 2 and alone.issuperset((domain,) for domain in two) for two in held]


def trials_of(
    member: Member,
    setting: tuple[str, ...],
    search: Sequence[str],
    logs: Sequence[Sequence[LogRow] | None],
) -> list[Trial]:
    """A run as the choice needs it, or one trial for each of its folds."""
    named = zip(search, setting, strict=True)
    keys = {**{axis: value for axis, value in named if axis != DRAW}, **member.drawn}
    return [Trial(member.run, setting, member.seed, keys, log) for log in logs]


def choose(row: str, column: str, trials: Sequence[Trial]) -> SettingChoice:
    """What validation chooses for one method in one column.

    Runs of one setting and the same values are one candidate. Where each seed has draws of its own,
    every draw of every seed is one, and a first draw that all seeds share is one too.

    Args:
        row: The method.
        column: The column.
        trials: Its runs, seed by seed, in the order of settings.
    """
    groups: dict[tuple[tuple[str, ...], str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.setting, repr(sorted(trial.keys.items()))), []).append(trial)
    order = list(dict.fromkeys(trial.setting for trial in trials))
    candidates = sorted(groups.values(), key=lambda of: order.index(of[0].setting))
    logs = [trial.log for trial in trials if trial.log is not None]
    by = next((k for k in KEYS if logs and None not in [_highest(log, k) for log in logs]), "")
    tried = [_tried(of, by) for of in candidates]
    first, *_ = keys = [set(map(repr, of[0].keys.items())) for of in candidates]
    changed = {place: len(own - first) for place, own in enumerate(keys)}
    best = choose_setting({place: each.values for place, each in enumerate(tried)}, changed)
    chosen = None if best.setting is None else tried[best.setting]
    tied = tuple(tried[place].setting for place in best.tied)
    incomplete = tuple(of[0].setting for of in candidates if any(t.log is None for t in of))
    if chosen is None:
        return SettingChoice(row, column, "", None, None, tied, incomplete, tuple(tried))
    place = chosen.setting, chosen.seed
    return SettingChoice(row, column, KEYS[by], *place, tied, incomplete, tuple(tried))


def _tried(trials: Sequence[Trial], key: str) -> Tried:
    """One setting; a seed of several folds has their mean."""
    by_seed: dict[int, list[float | None]] = {}
    for trial in trials:
        by_seed.setdefault(trial.seed, []).append(_highest(trial.log or (), key))
    means = {seed: validation(dict(enumerate(found))) for seed, found in by_seed.items()}
    return Tried(
        trials[0].setting,
        trials[0].seed,
        {seed: None if mean is None else mean.mean for seed, mean in means.items()},
        tuple(trial.run for trial in trials),
    )


def _highest(log: Sequence[LogRow], key: str) -> float | None:
    """The best evaluation of the stage whose weights the run reports."""
    found = [row[key] for row in last_stage(log) if isinstance(row.get(key), int | float)]
    return max(filter(math.isfinite, map(float, found)), default=None)
