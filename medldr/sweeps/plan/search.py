"""A random search: how many draws, of which keys, and the values that a draw gives a run.

Its space comes from the sweep file and from parts that it extends (``search/domainbed``). Keys of
the file replace those of parts; ``null`` removes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medldr import plugins
from medldr.config import PLUGIN_SECTIONS, packaged_names
from medldr.config.layers import COMMAND_LINE, Layer, Layers, Merged
from medldr.config.messages import dotted, trimmed, value_at
from medldr.config.yaml import Document, KeyPath, plain
from medldr.errors import InputError
from medldr.folders.sweep_record import DRAW, Member
from medldr.sweeps.plan.distributions import Distribution, distribution, number_of
from medldr.sweeps.plan.schema import (
    Axis,
    SearchContent,
    SearchPart,
    checked,
    nearest,
    no_such_section,
    not_drawn,
)

Report = Callable[[str], None]


@dataclass(frozen=True)
class Variable:
    """What a key is drawn from, in the runs for which that holds.

    Attributes:
        key: Dotted key of a run.
        distribution: What its values are drawn from.
        when: Allowed values by dotted key, a section meaning its plug-in's name; it is for runs
            that have one of them for every key.
        where: File and line.
        folder: What relative paths among its choices are relative to.
        protocol: Id of the protocol whose search has it; empty if it is nobody's.
    """

    key: str
    distribution: Distribution
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    where: str = ""
    folder: Path = Path()
    protocol: str = ""

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it is for a run.

        Args:
            values: The run's sections, before anything is drawn.

        Example:
            >>> variable = Variable("algorithm.weight", Distribution("choice", (1,)),
            ...                     when={"algorithm": ("dann", "cdann")})
            >>> [variable.holds({"algorithm": {"name": name}}) for name in ("dann", "erm")]
            [True, False]
        """
        named = {f"{k}.name" if k in PLUGIN_SECTIONS else k: of for k, of in self.when.items()}
        return all(value_at(tuple(k.split(".")), values) in of for k, of in named.items())


@dataclass(frozen=True)
class Search:
    """A random search, checked.

    Attributes:
        draws: How many draws each method gets.
        seed: Seed of the draws.
        defaults_first: Whether draw 0 is the run as it would be without the search.
        per_seed: Whether every seed of a run has draws of its own.
        space: For each key, what it may be drawn from; the first that holds for a run counts.
    """

    draws: int
    seed: int
    defaults_first: bool
    per_seed: bool
    space: Mapping[str, tuple[Variable, ...]]

    @property
    def names(self) -> list[str]:
        """Names of the draws in labels and tables; more draws leave them as they are.

        Example:
            >>> Search(2, 0, True, False, {}).names
            ['d00', 'd01']
        """
        return [f"d{number:02d}" for number in range(self.draws)]

    def variables(self, values: Mapping[str, Any]) -> dict[str, Variable]:
        """The keys that are drawn for a run, and from what.

        Args:
            values: The run's sections, before anything is drawn.
        """
        holding = {key: [v for v in of if v.holds(values)] for key, of in self.space.items()}
        return {key: found[0] for key, found in holding.items() if found}

    def drawn(self, variables: Mapping[str, Variable], draw: int, run_seed: int) -> dict[str, Any]:
        """The values of a draw by key; none for the draw that keeps the run as it is.

        Args:
            variables: The keys that are drawn for the run.
            draw: Number of the draw.
            run_seed: Seed of the run, which matters only if each has draws of its own.
        """
        if draw == 0 and self.defaults_first:
            return {}
        own = run_seed if self.per_seed else None
        return {
            key: variable.distribution.at(number_of(self.seed, draw, key, own))
            for key, variable in variables.items()
        }


def read_search(
    content: SearchContent, merged: Merged, folder: Path, axes: Sequence[Axis], report: Report
) -> Search:
    """The random search of a sweep file.

    Args:
        content: What the file and the command line say of it.
        merged: The sweep file under the command line.
        folder: Of the sweep file.
        axes: The axes of the sweep, whose keys cannot be drawn as well.
        report: Called with each problem, a line.
    """

    def beside(place: str) -> Path:
        return Path.cwd() if place == COMMAND_LINE else folder

    place = merged.where(("search", "extends"))
    space = _space_of_parts(content.extends, place, beside(place), report)
    for key, written in content.space.items():
        place = merged.where(("search", "space", key))
        space[key] = _variables(key, written, place, beside(place), "", report)
    space = {key: variables for key, variables in space.items() if variables}
    if not content.extends and all(written is None for written in content.space.values()):
        parts = ", ".join(f"search/{name}" for name in packaged_names("search"))
        place = merged.where(("search",))
        report(f"search ({place}): there is nothing to draw: give search.space, or extend {parts}")
    for key, variables in space.items():
        for problem in _conflicts(key, [*space], axes):
            report(f"search.space.{key} ({variables[0].where}): {problem}")
    draws, seed = int(content.draws), int(content.seed)
    return Search(draws, seed, content.defaults_first, content.per_seed, space)


def _space_of_parts(
    entries: Sequence[str], place: str, folder: Path, report: Report
) -> dict[str, tuple[Variable, ...]]:
    """The space of the parts that a search extends, each on top of what it extends itself."""
    layers, space = Layers("search"), dict[str, tuple[Variable, ...]]()
    try:
        layers.add_document(Document(f"search ({place})", {"extends": list(entries)}), folder)
    except InputError as error:
        report(str(error))
    for layer in layers.in_order:

        def report_key(key: KeyPath, problem: str, layer: Layer = layer) -> None:
            report(f"{dotted(key)} ({layer.where(key)}): {problem}")

        part = checked(layer.values, SearchPart, report_key)
        for key, written in part.space.items():
            line = layer.where(("space", key))
            space[key] = _variables(key, written, line, layer.folder, part.protocol, report)
    return space


def _variables(
    key: str, written: Any, place: str, folder: Path, protocol: str, report: Report
) -> tuple[Variable, ...]:
    """What a key is drawn from: one distribution, or several of which the first that holds counts.

    Empty for ``null``, and for what is reported.
    """
    if written is None:
        return ()
    choices = written if isinstance(written, list) else [written]
    if not choices:
        report(f"search.space.{key} = [] ({place}): needs at least one distribution")
    variables = []
    for number, choice in enumerate(choices):
        name = f"search.space.{key}" + (f"[{number}]" if choices is written else "")
        if not isinstance(choice, Mapping):
            report(
                f"{name} = {choice!r} ({place}): should be a mapping such as "
                "{log_uniform: [1e-5, 1e-3]} or {choice: [0, 0.1]}"
            )
            return ()
        when = choice.get("when")
        problems = list(_faults_of_when(when))
        if when is None and number + 1 < len(choices):
            problems.append("holds for every run, so that what follows it never counts: add when:")
        try:
            source = distribution({k: v for k, v in choice.items() if k != "when"})
        except ValueError as error:
            problems.append(str(error))
        for problem in problems:
            report(f"{name} ({place}): {problem}")
        if problems:
            return ()
        allowed = {str(k): tuple(plain(_listed(value))) for k, value in (when or {}).items()}
        variables.append(Variable(key, source, allowed, place, folder, protocol))
    return tuple(variables)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _faults_of_when(when: Any) -> Iterator[str]:
    """What is wrong with the runs that a distribution is for."""
    if when is None:
        return
    if not isinstance(when, Mapping) or not when:
        yield "when should be a mapping such as {algorithm: [dann, cdann]}"
        return
    for key, value in when.items():
        if problem := no_such_section(str(key)):
            yield f"when.{key}: {problem}"
        elif key in PLUGIN_SECTIONS:
            kind = PLUGIN_SECTIONS[key]
            known = plugins.names(kind)
            for name in _listed(value):
                if name not in known and "." not in str(name):
                    what = f"there is no such {plugins.SINGULAR[kind]}"
                    yield f"when.{key} = {name!r}: {what}.{nearest(str(name), known)}"


def _conflicts(key: str, keys: Sequence[str], axes: Sequence[Axis]) -> Iterator[str]:
    """Why a key cannot be drawn."""
    if problem := not_drawn(key):
        yield problem
    for axis in axes:
        inside = key.removeprefix(f"{axis.key}.")
        path = tuple(inside.split("."))
        if axis.key == key or axis.key.startswith(f"{key}."):
            yield f"is an axis as well ({axis.where}): keep one of the two"
        elif inside != key and any(trimmed(path, v) == path for v in axis.values.values()):
            yield f"is set by axes.{axis.key} as well ({axis.where}): keep one of the two"
    for other in keys:
        if other.startswith(f"{key}."):
            yield f"contains {other}, which is drawn as well: keep one of the two"


def search_notes(search: Search | None, members: Sequence[Member], own_file: str) -> Iterator[str]:
    """What a user should know about the draws of a search before they start.

    Draws that were left out because they repeat others, and keys that no run draws. A part may have
    keys of methods that this sweep lacks; those of the file are meant for it.

    Args:
        search: The search of a sweep; None where it has none.
        members: All runs of the sweep.
        own_file: The sweep file, as messages name it.
    """
    if search is None:
        return
    cells = set()
    for member in members:
        values = {**member.row_values, **member.column_values, DRAW: ""}
        cells.add((*values.items(), member.seed))
    count = len(cells) * search.draws - len(members)
    if count:
        yield f"draws left out because their method has an earlier one of the same values: {count}"
    drawn = {key for member in members for key in member.drawn}
    for key, variables in search.space.items():
        place = variables[0].where
        if key not in drawn and (place == COMMAND_LINE or place.startswith(own_file)):
            yield f"search.space.{key} ({place}) is for no run of this sweep"
