"""The combinations of entries and axes, each checked once, however many seeds there are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medldr.config import RunConfig
from medldr.config.layers import Layers, Merged
from medldr.config.load import check, merge, refusal
from medldr.config.yaml import Document
from medldr.errors import InputError
from medldr.folders.table_names import RUN
from medldr.sweeps.plan.labels import LONGEST
from medldr.sweeps.plan.parts import Axis, Entry, SweepFile
from medldr.sweeps.plan.replaced_keys import replaced_keys

AFTER: Final = "after"
"""Value of `training.init_from` that means the folder of the preceding run."""


@dataclass(frozen=True)
class Case:
    """One entry with one value of each axis, before it gets a seed.

    Attributes:
        entry: The entry.
        names: Name of its value on each axis, and under ``run`` its entry's label.
        label: Its label.
        before: Label of the case that must be done first: same values, another entry.
        depth: Length of the chain of cases before it.
    """

    entry: Entry
    names: Mapping[str, str]
    label: str
    before: str | None
    depth: int


@dataclass(frozen=True)
class Checked:
    """A case and its configuration.

    Attributes:
        case: The case.
        config: The checked configuration, with an arbitrary seed.
        starts_from_before: Whether its weights come from the case before it.
    """

    case: Case
    config: RunConfig
    starts_from_before: bool


def cases(sweep: SweepFile) -> list[Case]:
    """All combinations; entries in the order of the file, those that wait for others later.

    Raises:
        InputError: If two of them have the same label, or a label is too long.
    """
    after = {entry.label: entry.after for entry in sweep.entries}
    found: list[Case] = []
    owners: dict[str, str] = {}
    problems = []
    for entry in sweep.entries:
        for choice in itertools.product(*(axis.values for axis in sweep.axes)):
            keys = [axis.key for axis in sweep.axes]
            names = {**dict(zip(keys, choice, strict=True)), RUN: entry.label or sweep.name}
            label = _label(entry.label, choice, sweep.name)
            what = ", ".join(f"{key} {name}" for key, name in names.items())
            if label in owners:
                problems.append(f"label {label!r} is used twice: {owners[label]}; and {what}")
            owners[label] = what
            if len(label) > LONGEST:
                problems.append(
                    f"the label {label[:40]}... has {len(label)} characters, but at most {LONGEST} "
                    "are allowed: give the values of an axis short names (NAME: value)"
                )
            before = None if entry.after is None else _label(entry.after, choice, sweep.name)
            depth, earlier = 0, entry.after
            while earlier is not None:
                depth, earlier = depth + 1, after[earlier]
            found.append(Case(entry, names, label, before, depth))
    if problems:
        raise refusal(f"the sweep {sweep.source}", problems)
    return sorted(found, key=lambda case: case.depth)


def check_cases(sweep: SweepFile, found: list[Case], out: Path) -> list[Checked]:
    """Check the configuration of each case.

    Args:
        sweep: The sweep.
        found: Its cases.
        out: Absolute folder of the sweep.

    Raises:
        InputError: Naming every problem once, with the cases that have it.
    """
    replaced = replaced_keys(sweep)
    if replaced:
        raise refusal(f"the sweep {sweep.source}", replaced)
    problems: dict[str, list[str]] = {}
    done = []
    bases: dict[str | None, Layers | InputError] = {}
    for case in found:
        key = case.entry.label
        if key not in bases:
            bases[key] = _base(sweep, case.entry)
        base = bases[key]
        result = [str(base)] if isinstance(base, InputError) else _check(sweep, case, base, out)
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


def _check(sweep: SweepFile, case: Case, base: Layers, out: Path) -> Checked | list[str]:
    layers = Layers()
    layers.found.extend(base.found)
    layers.problems.extend(base.problems)
    try:
        for axis in sorted(sweep.axes, key=_strength):
            layers.add_document(_said(axis, case.names[axis.key]), axis.folder)
        layers.add_overrides(sweep.run_overrides, Path.cwd())
    except InputError as error:
        return [*layers.problems, str(error)]
    merged = merge(layers)
    merged.values["label"] = case.label
    starts_from_before = _init_from(merged) == AFTER
    if starts_from_before:
        if case.before is None:
            where = merged.where(("training", "init_from"))
            return [f"training.init_from = 'after' ({where}): this run has no key 'after'"]
        merged.values["training"]["init_from"] = str(out / case.before)  # the seed follows later
    config, problems = check(merged, layers)
    return problems if config is None else Checked(case, config, starts_from_before)


def _said(axis: Axis, name: str) -> Document:
    """An axis with one of its values, as a document."""
    *sections, last = axis.key.split(".")
    nested = {last: axis.values[name]}
    for section in reversed(sections):
        nested = {section: nested}
    return Document(f"{axis.where}, axes.{axis.key}", nested)


def _strength(axis: Axis) -> tuple[int, int]:
    """Order of merging: whole sections, then names, then single keys, as on the command line."""
    words = axis.key.split(".")
    if len(words) == 1:
        return (0 if words[0] == "extends" else 1, 0)
    return (2, len(words)) if words[-1] == "name" else (3, 0)


def _init_from(merged: Merged) -> object:
    training = merged.values.get("training")
    return training.get("init_from") if isinstance(training, dict) else None


def _label(entry: str | None, choice: tuple[str, ...], otherwise: str) -> str:
    """Label of an entry with values of the axes; the sweep's name if there is neither."""
    return "_".join([*([] if entry is None else [entry]), *choice]) or otherwise


def in_some(problem: str, labels: list[str]) -> str:
    """A problem with the runs that have it, on two lines."""
    return f"{problem}\n    in {_some(labels)}"


def _some(labels: list[str]) -> str:
    """The first label and how many more there are.

    Example:
        >>> _some(["a"]), _some(["a", "b", "c"])
        ('a', 'a and 2 more runs')
    """
    more = len(labels) - 1
    return labels[0] + (f" and {more} more run{'s' if more > 1 else ''}" if more else "")
