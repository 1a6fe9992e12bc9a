"""Messages about mistakes in a configuration: where, what is allowed, the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from medldr.config.layers import Merged
from medldr.config.messages.allowed import choices, describe, item_schema
from medldr.config.messages.suggest import dotted, item_keys, known_keys, nearest_key
from medldr.config.packaged import packaged_names
from medldr.config.section import PLUGIN_SECTIONS
from medldr.config.yaml import KeyPath
from medldr.errors import did_you_mean

Keys = Mapping[str, Mapping[str, Any]]

_ABOUT_A_NAME: Final = ("plugin_unknown", "plugin_name")
_IN_OUR_WORDS: Final = ("value_error", "assertion_error", "plugin_mapping", *_ABOUT_A_NAME)
_NAMES_A_KEY: Final = re.compile(r"([a-z_]+(?:\.[a-z_]+)+)(?:\[\d+\])?: ")


def explain(error: ValidationError, merged: Merged) -> list[str]:
    """One line per problem: dotted key, value, file and line, what is allowed, nearest name."""
    keys = known_keys(merged.values)
    # The branches of a choice ("a number, or null") fail separately; merge them into one line.
    lines: dict[str, None] = {}
    for fault in error.errors():
        for line in _lines(fault, merged, keys):
            lines[line] = None
    return list(lines)


def _lines(fault: ErrorDetails, merged: Merged, keys: Keys) -> Iterator[str]:
    kind, value = fault["type"], fault["input"]
    if kind == "missing":
        path = tuple(fault["loc"])
        yield f"{_place(path, merged)}: {_missing(path, keys)}"
        return
    path = trimmed(fault["loc"], merged.values)
    keys = item_keys(merged.values, path) or keys
    if kind == "extra_forbidden":
        for leaf, inner in _leaves(path, value) if len(path) == 1 else [(path, value)]:
            yield f"{_head(leaf, inner, merged)}: {_unknown(leaf, keys)}"
        return
    if kind not in _IN_OUR_WORDS:
        said = _not_allowed(path, value, fault["msg"], keys)
        yield f"{_head(path, _at(merged.values, path), merged)}: {said}"
        return
    said = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if kind in _ABOUT_A_NAME and isinstance(value, dict) and "name" in value:
        path = (*path, "name")
    named = _NAMES_A_KEY.match(said)
    if named and _at(merged.values, tuple(named[1].split("."))) is not None:
        path, said = tuple(named[1].split(".")), said[named.end() :]
    said += _part_hint(path, _at(merged.values, path))
    found = _at(merged.values, path)
    whole = isinstance(found, dict)
    yield f"{_place(path, merged) if whole else _head(path, found, merged)}: {said}"


def _unknown(path: KeyPath, keys: Keys) -> str:
    full = dotted(path)
    section, _, _ = full.partition(".")
    parent = dotted(path[:-1])
    if full in keys:
        return "dotted keys are for the command line; in a file, indent the key in its section"
    nested = len(path) > 1
    there = section in keys or "[" in full
    said = "" if there or not nested else f"there is no section {section!r}."
    said = said or "there is no such key."
    near = nearest_key(full, keys)
    if near:
        said += f" Did you mean {near}?"
    siblings = [k.removeprefix(f"{parent}.") for k in keys if k.startswith(f"{parent}.")]
    if nested and parent in keys and siblings:
        said += f" Keys of {parent}: {', '.join(k for k in siblings if '.' not in k)}"
    elif not near:
        said += f" Known: {', '.join(k for k in keys if '.' not in k)}"
    return said


def _missing(path: KeyPath, keys: Keys) -> str:
    section = str(path[0])
    if len(path) == 1 and section in PLUGIN_SECTIONS:
        parts = ", ".join(packaged_names(section))
        return f"this section is missing; extend a part such as {section}/NAME. Parts: {parts}"
    allowed = describe(keys.get(dotted(path), {}))
    return "this key is missing" + (f"; it should be {allowed}" if allowed else "")


def _not_allowed(path: KeyPath, value: Any, message: str, keys: Keys) -> str:
    position = path[-1] if path else None
    key = path[:-1] if isinstance(position, int) else path
    schema = keys.get(dotted(key), {})
    if isinstance(position, int):
        schema = item_schema(schema, position)
    allowed = describe(schema)
    if not allowed:
        return message.replace("Input should be", "should be").replace("dictionary", "mapping")
    words = [str(word) for word in choices(schema)]
    near = did_you_mean(value, words) if isinstance(value, str) else ""
    return f"should be {allowed}" + (f".{near}" if near else "")


def _part_hint(path: KeyPath, value: Any) -> str:
    section = str(path[0]) if path else ""
    if path == (section, "name") and value in packaged_names(section):
        return f". A part has that name: write {section}={value} or '{section}: {value}'"
    return ""


def trimmed(loc: KeyPath, values: Any) -> KeyPath:
    """The steps of an error's location that exist in the values; the others name types."""
    path: list[str | int] = []
    for step in loc:
        inside_map = isinstance(values, Mapping) and step in values
        inside_list = isinstance(values, list) and isinstance(step, int) and step < len(values)
        if not (inside_map or inside_list):
            break
        path.append(step)
        values = values[step]
    return tuple(path)


def _at(values: Any, path: KeyPath) -> Any:
    for step in path:
        if isinstance(values, Mapping):
            values = values.get(step)
        elif isinstance(values, list) and isinstance(step, int):
            values = values[step]
        else:
            return None
    return values


def _leaves(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        yield path, value


def _place(path: KeyPath, merged: Merged) -> str:
    """A key whose value is not shown, with the files that set it."""
    sources = merged.sources(path)
    return (dotted(path) or "the whole") + (f" ({', '.join(sources)})" if sources else "")


def _head(path: KeyPath, value: Any, merged: Merged) -> str:
    words = {True: "true", False: "false", None: "null"}
    shown = repr(value) if isinstance(value, str) else str(value)
    if value is None or isinstance(value, bool):
        shown = words[value]
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return f"{dotted(path)} = {shown} ({merged.where(path)})"
