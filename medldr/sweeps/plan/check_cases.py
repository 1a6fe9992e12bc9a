"""The configuration of each combination, checked once, however many seeds there are.

Where values are drawn, each method is checked at the ends of what its keys are drawn from first: a
bound that a key refuses is a mistake of the file, even if no draw comes near it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medldr.config import RunConfig
from medldr.config.layers import Layers, Merged
from medldr.config.load import check, merge, refusal
from medldr.config.protocol import pinned_values
from medldr.config.yaml import Document, KeyPath
from medldr.errors import InputError
from medldr.sweeps.plan.cases import Case, in_some
from medldr.sweeps.plan.parts import Axis, Entry, SweepFile
from medldr.sweeps.plan.replaced_keys import replaced_keys
from medldr.sweeps.plan.search import Variable

AFTER: Final = "after"
"""Value of `training.init_from` that means the folder of the preceding run."""
_DRAWN: Final = "search.space."
_UNKNOWN: Final = "there is no such key."
Drawn = Mapping[str, Any]


@dataclass(frozen=True)
class Checked:
    """A case and its configuration.

    Attributes:
        case: The case.
        config: The checked configuration, with an arbitrary seed.
        starts_from_before: Whether its weights come from the case before it.
        drawn: Its values of the keys that are drawn, by dotted key.
    """

    case: Case
    config: RunConfig
    starts_from_before: bool
    drawn: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Method:
    """What all draws of an entry with one value of each axis share.

    Attributes:
        layers: What it is made of, without the draw and the command line.
        variables: The keys that are drawn for it.
        pins: Those among them whose values are of its protocol.
        problems: What is wrong with it; its draws are not looked at then.
    """

    layers: Layers
    variables: Mapping[str, Variable]
    pins: frozenset[str]
    problems: Sequence[str] = ()


def check_cases(
    sweep: SweepFile, found: Sequence[Case], out: Path, seed: int | None = None
) -> list[Checked]:
    """Check the configuration of each case.

    Args:
        sweep: The sweep.
        found: Its cases.
        out: Absolute folder of the sweep.
        seed: The seed of the runs, which matters only if each has draws of its own; None: the
            first.

    Raises:
        InputError: Naming every problem once, with the cases that have it.
    """
    replaced = replaced_keys(sweep)
    if replaced:
        raise refusal(f"the sweep {sweep.source}", replaced)
    problems: dict[str, list[str]] = {}
    done = []
    bases: dict[str | None, Layers | InputError] = {}
    methods: dict[str, _Method] = {}
    for case in found:
        key = case.entry.label
        if key not in bases:
            bases[key] = _base(sweep, case.entry)
        base = bases[key]
        if isinstance(base, InputError):
            problems.setdefault(str(base), []).append(case.label)
            continue
        if case.origin not in methods:
            methods[case.origin] = method = _method(sweep, case, base, out)
            for line in method.problems:
                problems.setdefault(line, []).append(case.origin)
        method = methods[case.origin]
        if method.problems:
            continue
        drawn = None
        if sweep.search is not None and case.draw is not None:
            of = sweep.seeds[0] if seed is None else seed
            drawn = sweep.search.drawn(method.variables, case.draw, of)
        result = _check(sweep, case, method, out, drawn or {})
        if isinstance(result, Checked):
            done.append(result)
        else:
            for line in result:
                problems.setdefault(line, []).append(case.label)
    if problems:
        lines = [in_some(line, labels) for line, labels in problems.items()]
        raise refusal(f"the runs of the sweep {sweep.source}", lines)
    return done


def _base(sweep: SweepFile, entry: Entry) -> Layers | InputError:
    """What is common and what the entry sets, or why it cannot be read."""
    layers = Layers()
    try:
        layers.add_document(sweep.common, sweep.folder)
        layers.add_document(entry.document, sweep.folder)
    except InputError as error:
        return error
    return layers


def _method(sweep: SweepFile, case: Case, base: Layers, out: Path) -> _Method:
    """What a case is without its draw, with the problems of the values that may be drawn."""
    layers = _copy(base)
    try:
        for axis in sorted(sweep.axes, key=_strength):
            document = _nested(axis.key, axis.values[case.names[axis.key]])
            source = f"{axis.where}, axes.{axis.key}"
            layers.add_document(Document(source, document), axis.folder)
        if sweep.search is None:
            return _Method(layers, {}, frozenset())
        whole = _copy(layers)  # with the command line: it may say which method this is
        whole.add_overrides(sweep.run_overrides, Path.cwd())
    except InputError as error:
        return _Method(layers, {}, frozenset(), (*layers.problems, str(error)))
    values = merge(whole).values
    variables = sweep.search.of(values)
    pinned = pinned_values(whole.found)
    pins = frozenset(
        key
        for key, variable in variables.items()
        if key in pinned and variable.protocol and variable.protocol == values.get("protocol")
    )
    method = _Method(layers, variables, pins)
    problems: dict[str, str] = {}
    for drawn in _extremes(variables):
        result = _check(sweep, case, method, out, drawn)
        for line in [] if isinstance(result, Checked) else result:
            # What is wrong with a key is said once, not with each of its values.
            problems.setdefault(line[line.find(" (") :] if _DRAWN in line else line, line)
    return _Method(layers, variables, pins, [_with_cure(line) for line in problems.values()])


def _extremes(variables: Mapping[str, Variable]) -> list[Drawn]:
    """Values that show each end, and each choice, of what every key is drawn from."""
    ends = {key: variable.distribution.extremes() for key, variable in variables.items()}
    return [
        {key: values[number % len(values)] for key, values in ends.items()}
        for number in range(max(map(len, ends.values()), default=0))
    ]


def _with_cure(problem: str) -> str:
    """A problem, with what to do about a key that only other methods have."""
    if _UNKNOWN in problem and _DRAWN in problem:
        return f"{problem}. If it is for some methods only, add when: {{algorithm: [...]}}"
    return problem


def _check(
    sweep: SweepFile, case: Case, method: _Method, out: Path, drawn: Drawn
) -> Checked | list[str]:
    layers = _copy(method.layers)
    try:
        for key, value in drawn.items():
            nested = _nested(key, value) | ({"pins": [key]} if key in method.pins else {})
            variable = method.variables[key]
            layers.add_document(Document(_source(variable), nested), variable.folder)
        layers.add_overrides(sweep.run_overrides, Path.cwd())
    except InputError as error:
        return [*layers.problems, str(error)]
    merged = merge(layers)
    lost = [text for key in drawn if (text := _lost(method.variables[key], merged))]
    if lost:
        return lost
    merged.values["label"] = case.label
    starts_from_before = _init_from(merged) == AFTER
    if starts_from_before:
        if case.before is None:
            where = merged.where(("training", "init_from"))
            return [f"training.init_from = 'after' ({where}): this run has no key 'after'"]
        merged.values["training"]["init_from"] = str(out / case.before)  # the seed follows later
    config, problems = check(merged, layers)
    if config is None:
        return problems
    found = {key: _value(config, key) for key in method.variables}
    return Checked(case, config, starts_from_before, found)


def _lost(variable: Variable, merged: Merged) -> str:
    """Why a drawn value has no effect; empty if it has."""
    path: KeyPath = tuple(variable.key.split("."))
    origin = merged.origin(path)
    if origin is not None and origin.source == _source(variable):
        return ""
    key = f"{_DRAWN}{variable.key}"
    return (
        f"{key} ({variable.where}) would be lost: {merged.where(path)} sets {variable.key}. Leave "
        f"that out, or draw nothing: {key}=null"
    )


def _source(variable: Variable) -> str:
    """Where a drawn value comes from, as messages name it."""
    return f"{variable.where}, {_DRAWN}{variable.key}"


def _value(config: RunConfig, key: str) -> Any:
    """The value of a dotted key as a record holds it."""
    value: Any = config
    for word in key.split("."):
        value = getattr(value, word)
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def _copy(layers: Layers) -> Layers:
    copied = Layers()
    copied.found.extend(layers.found)
    copied.problems.extend(layers.problems)
    return copied


def _nested(key: str, value: Any) -> dict[str, Any]:
    """The value of a dotted key as a document."""
    *sections, last = key.split(".")
    nested = {last: value}
    for section in reversed(sections):
        nested = {section: nested}
    return nested


def _strength(axis: Axis) -> tuple[int, int]:
    """Order of merging: whole sections, then names, then single keys, as on the command line."""
    words = axis.key.split(".")
    if len(words) == 1:
        return (0 if words[0] == "extends" else 1, 0)
    return (2, len(words)) if words[-1] == "name" else (3, 0)


def _init_from(merged: Merged) -> object:
    training = merged.values.get("training")
    return training.get("init_from") if isinstance(training, dict) else None
