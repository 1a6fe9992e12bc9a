"""The content of a sweep file, and the messages about values of a wrong type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from medldr.config.layers import Merged
from medldr.config.messages.problems import trimmed
from medldr.config.messages.suggest import dotted
from medldr.config.schema import RunConfig
from medldr.config.yaml import KeyPath
from medldr.errors import did_you_mean

_SAID: Final = {
    "bool_type": "should be true or false",
    "dict_type": "should be a mapping",
    "greater_than": "should be 1 or more",
    "greater_than_equal": "should be 0 or more",
    "int_type": "should be a whole number",
    "list_type": "should be a list",
    "missing": "should be a pair of rows, [one, other]",
    "model_type": "should be a mapping",
    "string_pattern_mismatch": "should begin with a letter or a digit; letters, digits and "
    "_ . + - may follow",
    "string_type": "should be text",
    "too_long": "should be a pair of rows, [one, other]",
    "too_short": "needs at least one value",
    "tuple_type": "should be a list",
}


def _several(value: Any) -> Any:
    """A single value is a list of one."""
    return [value] if isinstance(value, (str, int, float)) else value


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
    metrics: Annotated[Texts, Field(min_length=1)] = ("accuracy", "auc")
    titles: dict[str, str] = {}
    remark: str = ""


class SearchContent(_Content):
    """A random search: for each draw, a value of every key of the space.

    If ``defaults_first``, draw 0 is the run as it would be without a search. All seeds share draws,
    unless ``per_seed``: then each has its own, and the report chooses one for each.
    """

    extends: Texts = ()
    draws: Annotated[int, Field(strict=True, gt=0)] = 20
    seed: Seed = 0
    defaults_first: Annotated[bool, Field(strict=True)] = True
    per_seed: Annotated[bool, Field(strict=True)] = False
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
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_several), Field(min_length=1)] = (0,)
    table: TableContent = TableContent()
    slurm: dict[str, Any] = {}


def checked(values: Mapping[str, Any], report: Callable[[KeyPath, str], None]) -> Content:
    """The content of a sweep file; what is wrong is reported and left at its default.

    Args:
        values: What the file and the command line set.
        report: Called with the place and the words of each problem.
    """
    rest = dict(values)
    try:
        return Content.model_validate(rest)
    except ValidationError as error:
        for path, said in dict(_faults(error, values)).items():
            report(path, said)
            rest.pop(str(path[0]), None)
        return Content.model_validate(rest)


def head(path: KeyPath, merged: Merged) -> str:
    """A key, its value if that is short, and its file and line."""
    value: Any = merged.values
    for step in path:
        if isinstance(value, Mapping) and step not in value:  # a key that YAML reads as a number
            value = next((inner for key, inner in value.items() if str(key) == step), None)
        else:
            value = value[step]
    plain = isinstance(value, (str, int, float))
    shown = f" = {value!r}" if isinstance(value, str) else f" = {value}" if plain else ""
    return f"{dotted(path)}{shown} ({merged.where(path)})"


def _faults(error: ValidationError, values: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    faults = [(trimmed(fault["loc"], values), fault) for fault in error.errors()]
    for path, fault in faults:
        if fault["type"] == "too_short" and any(
            len(inner) > len(path) and inner[: len(path)] == path for inner, _ in faults
        ):
            continue  # the list is not too short: its wrong items are reported
        if fault["type"] == "extra_forbidden":
            yield path, _unknown(path)
        else:
            yield path, _SAID.get(fault["type"], fault["msg"].replace("Input should", "should"))


def _unknown(path: KeyPath) -> str:
    inner = SearchContent if path[0] == "search" else TableContent
    known = Content if len(path) == 1 else inner
    key = str(path[-1])
    if known is Content and key in {*RunConfig.model_fields, "extends"} and key != "seed":
        return "a key that all runs share belongs under common"
    near = " Did you mean 'seeds'?" if key == "seed" else did_you_mean(key, known.model_fields)
    return f"there is no such key.{near} Known: {', '.join(known.model_fields)}"
