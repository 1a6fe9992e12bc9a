"""The combinations of entries, axes and draws, each with its label and what it waits for."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from medldr.config.load import refusal
from medldr.folders.table_names import DRAW, RUN
from medldr.sweeps.plan.labels import LONGEST
from medldr.sweeps.plan.parts import Entry, SweepFile


@dataclass(frozen=True)
class Case:
    """One entry with one value of each axis, before it gets a seed.

    Attributes:
        entry: The entry.
        names: Name of its value on each axis, and under ``run`` its entry's label.
        label: Its label.
        before: Label of the case that must be done first: same values, another entry.
        depth: Length of the chain of cases before it.
        draw: Number of its draw where the sweep has a random search.
        origin: Its label without the draw, which all draws of one method share.
    """

    entry: Entry
    names: Mapping[str, str]
    label: str
    before: str | None
    depth: int
    draw: int | None = None
    origin: str = ""


def cases(sweep: SweepFile) -> list[Case]:
    """All combinations; entries in the order of the file, those that wait for others later.

    Of a random search each method has its first draw before any has its second.

    Raises:
        InputError: If two of them have the same label, or a label is too long.
    """
    after = {entry.label: entry.after for entry in sweep.entries}
    found: list[Case] = []
    owners: dict[str, str] = {}
    problems = []
    keys = [axis.key for axis in sweep.axes]
    sides = [list(axis.values) for axis in sweep.axes]
    if sweep.search is not None:
        keys, sides = [*keys, DRAW], [*sides, sweep.search.names]
    for entry in sweep.entries:
        for choice in itertools.product(*sides):
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
            draw, of_axes = None, choice
            if sweep.search is not None:
                draw, of_axes = sweep.search.names.index(choice[-1]), choice[:-1]
            origin = _label(entry.label, of_axes, sweep.name)
            found.append(Case(entry, names, label, before, depth, draw, origin))
    if problems:
        raise refusal(f"the sweep {sweep.source}", problems)
    return sorted(found, key=lambda case: (case.depth, case.draw or 0))


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
