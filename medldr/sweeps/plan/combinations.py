"""The combinations of entries, axes and draws: each with its label and its checked configuration.

A configuration is checked once, however many seeds there are. Where values are drawn, each method
is checked at the ends of what its keys are drawn from first: a bound that a key refuses is a
mistake of the file, even if no draw comes near it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medldr.config import PLUGIN_SECTIONS, RunConfig
from medldr.config.identity import flatten
from medldr.config.layers import Layer, Layers, Merged, lookup, nested, strength
from medldr.config.load import check, merge, refusal
from medldr.config.protocol import pinned_values
from medldr.config.yaml import Document
from medldr.errors import InputError
from medldr.folders.sweep_record import RUN
from medldr.sweeps.plan.file import SweepFile
from medldr.sweeps.plan.search import Variable
from medldr.sweeps.plan.table import LONGEST

AFTER: Final = "after"
"""Value of `training.init_from` that means the folder of the preceding run."""
_DRAWN: Final = "search.space."


@dataclass(frozen=True)
class Case:
    """One entry with one value of each axis, before it gets a seed.

    Attributes:
        entry: Number of the entry.
        names: Name of its value on each axis, and under ``run`` its entry's label.
        label: Its label.
        before: Label of the case that must be done first: same values, another entry.
        depth: Length of the chain of cases before it.
        draw: Number of its draw where the sweep has a random search.
        origin: Its label without the draw, which all draws of one method share.
    """

    entry: int
    names: Mapping[str, str]
    label: str
    before: str | None
    depth: int
    draw: int | None = None
    origin: str = ""


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
    """

    layers: Layers
    variables: Mapping[str, Variable] = field(default_factory=dict)
    pins: frozenset[str] = frozenset()


class _CaseError(Exception):
    """What is wrong with a configuration, one line each."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


def cases(sweep: SweepFile) -> list[Case]:
    """All combinations; entries in the order of the file, those that wait for others later.

    Of a random search each method has its first draw before any has its second.

    Raises:
        InputError: If two of them have the same label, or a label is too long.
    """
    after = {entry.label: entry.after for entry in sweep.entries}

    def depth(label: str | None) -> int:
        return 0 if after[label] is None else 1 + depth(after[label])

    made: list[Case] = []
    owners: dict[str, str] = {}
    problems = []
    keys = [key for key in sweep.names if key != RUN]
    sides = [sweep.names[key] for key in keys]
    for number, entry in enumerate(sweep.entries):
        for values in itertools.product(*sides):
            names = {**dict(zip(keys, values, strict=True)), RUN: entry.label or sweep.name}
            label = _label(entry.label, values, sweep.name)
            what = ", ".join(f"{key} {name}" for key, name in names.items())
            if label in owners:
                problems.append(f"label {label!r} is used twice: {owners[label]}; and {what}")
            owners[label] = what
            if len(label) > LONGEST:
                problems.append(
                    f"the label {label[:40]}... has more than {LONGEST} characters: give the "
                    "values of an axis short names (NAME: value)"
                )
            before = None if entry.after is None else _label(entry.after, values, sweep.name)
            draw, origin = None, label
            if sweep.search is not None:
                draw = sweep.search.names.index(values[-1])
                origin = _label(entry.label, values[:-1], sweep.name)
            made.append(Case(number, names, label, before, depth(entry.label), draw, origin))
    if problems:
        raise refusal(f"the sweep {sweep.source}", problems)
    return sorted(made, key=lambda case: (case.depth, case.draw or 0))


def _label(entry: str | None, values: tuple[str, ...], otherwise: str) -> str:
    """Label of an entry with values of the axes; the sweep's name if there is neither."""
    return "_".join([*([] if entry is None else [entry]), *values]) or otherwise


def check_cases(sweep: SweepFile, made: Sequence[Case], out: Path, seed: int) -> list[Checked]:
    """Check the configuration of each case.

    Args:
        sweep: The sweep.
        made: Its cases.
        out: Absolute folder of the sweep.
        seed: The seed of the runs, which matters only if each has draws of its own.

    Raises:
        InputError: Naming every problem once, with the cases that have it.
    """
    problems: dict[str, list[str]] = {}
    checked = []
    bases: dict[int, Layers] = {}
    methods: dict[str, _Method | None] = {}

    @contextlib.contextmanager
    def collected(label: str) -> Iterator[None]:
        try:
            yield
        except _CaseError as faults:
            for line in faults.lines:
                problems.setdefault(line, []).append(label)

    for case in made:
        if case.origin not in methods:
            methods[case.origin] = None
            with collected(case.origin):
                if case.entry not in bases:
                    documents = (sweep.common, sweep.entries[case.entry].document)
                    bases[case.entry] = _layers(Layers(), [(d, sweep.folder) for d in documents])
                methods[case.origin] = _method(sweep, case, bases[case.entry], out)
        method = methods[case.origin]
        if method is None:
            continue
        drawn: Mapping[str, Any] = {}
        if sweep.search is not None and case.draw is not None:
            drawn = sweep.search.drawn(method.variables, case.draw, seed)
        with collected(case.label):
            checked.append(_check(sweep, case, method, out, drawn))
    if problems:
        lines = [in_some(line, labels) for line, labels in problems.items()]
        raise refusal(f"the runs of the sweep {sweep.source}", lines)
    return checked


def _layers(
    below: Layers, documents: Iterable[tuple[Document, Path]], overrides: Sequence[str] = ()
) -> Layers:
    """Layers with more of them on top: documents, each with its folder, then the command line.

    Raises:
        _CaseError: If one of them cannot be read.
    """
    layers = Layers()
    layers.in_order.extend(below.in_order)
    layers.problems.extend(below.problems)
    try:
        for document, folder in documents:
            layers.add_document(document, folder)
        layers.add_overrides(overrides, Path.cwd())
    except InputError as error:
        raise _CaseError(*layers.problems, str(error)) from error
    return layers


def _method(sweep: SweepFile, case: Case, base: Layers, out: Path) -> _Method:
    """What a case is without its draw.

    Raises:
        _CaseError: If it cannot be read, or refuses a value that may be drawn.
    """
    documents = []
    for axis in sorted(sweep.axes, key=lambda axis: strength(axis.key)):
        values = nested(axis.key, axis.values[case.names[axis.key]])
        documents.append((Document(f"{axis.where}, axes.{axis.key}", values), axis.folder))
    layers = _layers(base, documents)
    if sweep.search is None:
        return _Method(layers)
    whole = _layers(layers, (), sweep.run_overrides)  # which may say which method this is
    values = merge(whole).values
    variables = sweep.search.variables(values)
    pinned = pinned_values(whole.in_order)
    pins = frozenset(
        key
        for key, variable in variables.items()
        if key in pinned and variable.protocol and variable.protocol == values.get("protocol")
    )
    method = _Method(layers, variables, pins)
    problems: dict[str, str] = {}
    for drawn in _extremes(variables):
        try:
            _check(sweep, case, method, out, drawn)
        except _CaseError as faults:
            for line in faults.lines:
                # What is wrong with a key is said once, not with each of its values.
                problems.setdefault(line[line.find(" (") :] if _DRAWN in line else line, line)
    if problems:
        raise _CaseError(*map(_with_cure, problems.values()))
    return method


def _extremes(variables: Mapping[str, Variable]) -> list[dict[str, Any]]:
    """Values that show each end, and each choice, of what every key is drawn from."""
    ends = {key: variable.distribution.extremes() for key, variable in variables.items()}
    return [
        {key: values[number % len(values)] for key, values in ends.items()}
        for number in range(max(map(len, ends.values()), default=0))
    ]


def _with_cure(problem: str) -> str:
    """A problem, with what to do about a key that only other methods have."""
    if "there is no such key." in problem and _DRAWN in problem:
        return f"{problem}. If it is for some methods only, add when: {{algorithm: [...]}}"
    return problem


def _check(
    sweep: SweepFile, case: Case, method: _Method, out: Path, drawn: Mapping[str, Any]
) -> Checked:
    """The configuration of a case with the values that are drawn for it."""
    documents = []
    for key, value in drawn.items():
        variable = method.variables[key]
        pins = {"pins": [key]} if key in method.pins else {}
        document = Document(_source(variable), nested(key, value) | pins)
        documents.append((document, variable.folder))
    layers = _layers(method.layers, documents, sweep.run_overrides)
    merged = merge(layers)
    lost = [text for key in drawn if (text := _lost(method.variables[key], merged))]
    if lost:
        raise _CaseError(*lost)
    merged.values["label"] = case.label
    training = merged.values.get("training")
    starts_from_before = isinstance(training, dict) and training.get("init_from") == AFTER
    if isinstance(training, dict) and starts_from_before:
        if case.before is None:
            place = merged.where(("training", "init_from"))
            raise _CaseError(f"training.init_from = 'after' ({place}): this run has no key 'after'")
        training["init_from"] = str(out / case.before)  # the seed follows later
    config, problems = check(merged, layers)
    if config is None:
        raise _CaseError(*problems)
    plain = config.model_dump(mode="json") if method.variables else {}
    values = {key: lookup(plain, key) for key in method.variables}
    return Checked(case, config, starts_from_before, values)


def _lost(variable: Variable, merged: Merged) -> str:
    """Why a drawn value has no effect; empty if it has."""
    path = tuple(variable.key.split("."))
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


def in_some(problem: str, labels: Sequence[str]) -> str:
    """A problem with the runs that have it, on two lines.

    Example:
        >>> print(in_some("no data", ["a", "b", "c"]))
        no data
            in a and 2 more runs
    """
    more = len(labels) - 1
    others = f" and {more} more run{'s' * (more > 1)}" if more else ""
    return f"{problem}\n    in {labels[0]}{others}"


def replaced_keys(sweep: SweepFile) -> Iterator[str]:
    """One line for each key that `common` or an entry sets and an axis would drop.

    A bare word for a section, and a mapping with another ``name``, replace the whole section. That
    is intended for keys from parts, but not for keys that the sweep file itself sets.
    """
    documents = [sweep.common, *(entry.document for entry in sweep.entries)]
    for axis, document in itertools.product(sweep.axes, documents):
        section = axis.key
        stated = document.values.get(section)
        if section not in PLUGIN_SECTIONS or not isinstance(stated, Mapping):
            continue
        name = stated.get("name")
        if not any(_replaces(value, name) for value in axis.values.values()):
            continue
        for key in flatten(dict(stated)):
            if key != "name":
                layer = Layer(document.source, sweep.folder, {}, document.lines)
                yield (
                    f"{section}.{key} ({layer.where((section, *key.split('.')))}) would be lost: "
                    f"axes.{section} ({axis.where}) replaces the whole section. Give it on the "
                    f"command line ({section}.{key}=...)"
                )


def _replaces(value: Any, name: Any) -> bool:
    """Whether a value of an axis drops what a section of this name held before."""
    if isinstance(value, Mapping):
        return bool(value.get("name", name) != name)
    return isinstance(value, str)
