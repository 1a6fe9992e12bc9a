"""The content of a sweep file: its keys, what their values may be, and what is said if they differ.

Types and ranges are pydantic's; the functions below check what several keys must agree on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from medldr.config import PLUGIN_SECTIONS, RunConfig
from medldr.config.layers import Merged
from medldr.config.messages import dotted, not_allowed, trimmed, value_at
from medldr.config.yaml import Document, KeyPath
from medldr.errors import did_you_mean, some

Report = Callable[[KeyPath, str], None]
"""Takes the place of a problem in the file, and what is wrong there."""

_WORDS: Final = {
    "missing": "should be a pair of rows, [one, other]",
    "string_pattern_mismatch": "should begin with a letter or a digit; letters, digits and "
    "_ . + - may follow",
    "too_long": "should be a pair of rows, [one, other]",
    "too_short": "needs at least one value",
}
"""Our words where pydantic's are about Python."""

_SEEDS: Final = "seeds have their own key: seeds: [0, 1, 2]"


def _several(value: Any) -> Any:
    """A single value is a list of one."""
    return [value] if isinstance(value, (str, int, float)) else value


def _seeds(value: Any) -> Any:
    """As `_several`; ``seeds=0,1,2`` on the command line means a list, too."""
    if isinstance(value, str) and re.fullmatch(r"\d+(, ?\d+)+", value):
        return [int(seed) for seed in value.split(",")]
    return _several(value)


Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**32 - 1)]


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _commented_out(cls, values: Any) -> Any:
        """A key whose content is all commented out counts as absent."""
        if not isinstance(values, dict):
            return values
        return {key: value for key, value in values.items() if value is not None}


class TableContent(_Content):
    """How the report lays the sweep out; axes are named by their key, entries by ``run``.

    The axes under ``search`` are settings of a row, among which the report chooses one.
    """

    rows: Annotated[Texts, Field(min_length=1)] | None = None
    search: Texts = ()
    columns: Annotated[Texts, Field(min_length=1)] | None = None
    reference: str | None = None
    controls: Texts = ()
    contrasts: tuple[tuple[str, str], ...] = ()
    verdict: str | None = None
    metrics: Annotated[Texts, Field(min_length=1)] = ("accuracy", "auc")
    titles: dict[str, str] = {}
    remark: str = ""


class SearchContent(_Content):
    """A random search: for each draw, a value of every key of the space.

    If ``defaults_first``, draw 0 is the run as it would be without a search. All seeds share draws,
    unless ``per_seed``: then each has its own, and the report chooses one for each. The chosen
    settings, also those of axes under ``table.search``, are trained again with ``fresh_seeds``
    further seeds, which tables report.
    """

    extends: Texts = ()
    draws: Annotated[int, Field(strict=True, gt=0)] = 20
    seed: Seed = 0
    defaults_first: Annotated[bool, Field(strict=True)] = True
    per_seed: Annotated[bool, Field(strict=True)] = False
    fresh_seeds: Annotated[int, Field(strict=True, ge=0)] = 0
    space: dict[str, Any] = {}


class SearchPart(_Content):
    """A part that a search extends, such as ``search/domainbed``.

    In runs of its ``protocol``, whose search it is, drawn values do not count as modified.
    """

    extends: Texts = ()
    protocol: str = ""
    space: dict[str, Any] = {}


class EntryContent(_Content):
    """One of the runs: like a run file, with a label and the run it comes after."""

    model_config = ConfigDict(extra="allow")

    label: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")] | None = None
    after: str | None = None


class Content(_Content):
    """A sweep file."""

    title: str | None = None
    common: dict[str, Any] = {}
    runs: Annotated[tuple[EntryContent, ...], Field(min_length=1)] = (EntryContent(),)
    axes: dict[str, Any] = {}
    search: SearchContent | None = None
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_seeds), Field(min_length=1)] = (0,)
    table: TableContent = TableContent()
    slurm: dict[str, Any] = {}


@dataclass(frozen=True)
class Entry:
    """One of the runs of a sweep file, before axes and seeds multiply it.

    Attributes:
        label: Its label; None if it is the only one and has none.
        after: Label of the entry that must be done first.
        document: Its content, like a run file.
    """

    label: str | None
    after: str | None
    document: Document


@dataclass(frozen=True)
class Axis:
    """A key and the values that it takes.

    Attributes:
        key: Dotted key of a run, or a section.
        values: Values by the name that labels and tables use.
        where: File and line, or ``command line``.
        folder: What relative paths among the values are relative to.
    """

    key: str
    values: dict[str, Any]
    where: str
    folder: Path


C = TypeVar("C", Content, SearchPart)


def checked(values: Mapping[str, Any], kind: type[C], report: Report) -> C:
    """The content of a sweep file or of a part; what is wrong is reported and left at its default.

    Args:
        values: What the file, and for a sweep the command line, set.
        kind: What it should be.
        report: Called with each problem.
    """
    rest = dict(values)
    try:
        return kind.model_validate(rest)
    except ValidationError as error:
        for path, problem in dict(_faults(error, values, kind)).items():
            report(path, problem)
            rest.pop(str(path[0]), None)
        return kind.model_validate(rest)


def _faults(
    error: ValidationError, values: Mapping[str, Any], kind: type[BaseModel]
) -> Iterator[tuple[KeyPath, str]]:
    faults = [(trimmed(fault["loc"], values), fault) for fault in error.errors()]
    for path, fault in faults:
        if fault["type"] == "too_short" and any(
            len(inner) > len(path) and inner[: len(path)] == path for inner, _ in faults
        ):
            continue  # the list is not too short: its wrong items are reported
        if fault["type"] == "extra_forbidden":
            yield path, _unknown(path, kind)
        else:
            yield path, _WORDS.get(fault["type"]) or not_allowed(fault)


def _unknown(path: KeyPath, kind: type[BaseModel]) -> str:
    key = str(path[-1])
    if len(path) > 1:
        kind = SearchContent if path[0] == "search" else TableContent
    elif kind is Content and key in {*RunConfig.model_fields, "extends"} and key != "seed":
        return "a key that all runs share belongs under common; one run is for `medldr train`"
    return f"there is no such key.{nearest(key, kind.model_fields)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The nearest known name, if any is near, and all of them.

    Example:
        >>> nearest("row", ["rows", "columns"])
        " Did you mean 'rows'? Known: rows, columns"
    """
    names = list(known)
    return f"{did_you_mean(name, names)} Known: {some(names)}"


def no_such_section(key: str) -> str:
    """What is wrong with a dotted key whose first word is no key of a run; empty if it is one."""
    section = key.partition(".")[0]
    if section in RunConfig.model_fields:
        return ""
    return f"a run has no key {section!r}.{did_you_mean(section, RunConfig.model_fields)}"


def head(path: KeyPath, merged: Merged) -> str:
    """A key, its value if that is short, and its file and line."""
    value = value_at(path, merged.values)
    plain = isinstance(value, (str, int, float))
    shown = f" = {value!r}" if isinstance(value, str) else f" = {value}" if plain else ""
    return f"{dotted(path)}{shown} ({merged.where(path)})"


def check_entries(entries: Sequence[EntryContent], report: Report) -> None:
    """Report missing and repeated labels, and an ``after`` that leads nowhere or in a circle."""
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        if entry.label is None and len(entries) > 1:
            report(("runs", number), "needs a label, because there are several runs")
        elif entry.label in first:
            problem = f"run {first[entry.label] + 1} of the list already has it"
            report(("runs", number, "label"), problem)
        elif entry.label is not None:
            first[entry.label] = number
    after = {entry.label: entry.after for entry in entries if entry.label is not None}
    for number, entry in enumerate(entries):
        if entry.after is not None and entry.after not in after:
            problem = f"no run has this label.{nearest(entry.after, after)}"
            report(("runs", number, "after"), problem)
    try:
        TopologicalSorter({label: [other] for label, other in after.items() if other}).prepare()
    except CycleError as error:
        chain = error.args[1][:0:-1]  # each waits for the next, and the last for the first
        start = chain.index(min(chain))
        circle = " -> ".join([*chain[start:], *chain[: start + 1]])
        place = ("runs", first[chain[start]], "after")
        report(place, f"the runs wait for each other in a circle: {circle}")


def check_axis(key: str, written: Any, report: Report) -> None:
    """Report an axis over something that is not a key of a run, or indented instead of dotted."""
    lists = isinstance(written, dict) and [k for k, v in written.items() if isinstance(v, list)]
    if key == "seed":
        report(("axes", key), _SEEDS)
    elif key == "label":
        report(("axes", key), "labels are built from the axes and the labels of the runs")
    elif key != "extends" and (problem := no_such_section(key)):
        report(("axes", key), problem)
    elif lists and key in RunConfig.model_fields and key not in PLUGIN_SECTIONS:
        report(("axes", key), f"an axis is a dotted key: write {key}.{lists[0]}: [...]")


def not_an_axis(keys: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """One line per ``KEY=VALUE`` text that would give every run the same value of an axis."""
    for text in texts:
        key = text.partition("=")[0].strip()
        if key in keys:
            yield (
                f"{text!r} (command line): {key} is an axis of this sweep; write axes.{text} "
                "to select its values"
            )


def not_drawn(key: str) -> str:
    """Why a key of a run cannot be drawn; empty if it can."""
    section, _, rest = key.partition(".")
    if key == "seed":
        return _SEEDS
    if problem := no_such_section(key):
        return problem
    if not rest or rest == "name":
        return f"only single keys are drawn (training.lr); make it an axis: axes.{section}: [...]"
    return ""
