"""Messages about mistakes in a configuration: the key, its file, what is allowed, what is near.

pydantic finds and locates the mistakes. What a key allows comes from its JSON Schema, so that one
message lists everything that is allowed; pydantic's own names only the first check that failed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from medldr.config.layers import Merged
from medldr.config.packaged import packaged_names
from medldr.config.schema import RunConfig
from medldr.config.section import PLUGIN_MARK, PLUGIN_SECTIONS, load_plugin_config
from medldr.config.yaml import KeyPath
from medldr.errors import InputError, did_you_mean

Schema = Mapping[str, Any]
Keys = Mapping[str, Schema]
"""The part of the JSON Schema of each dotted key."""

_ABOUT_A_NAME: Final = ("plugin_unknown", "plugin_name")
_IN_OUR_WORDS: Final = ("value_error", "assertion_error", "plugin_mapping", *_ABOUT_A_NAME)
_NAMES_A_KEY: Final = re.compile(r"([a-z_]+(?:\.[a-z_]+)+)(?:\[\d+\])?: ")
_TYPES: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "object": "a mapping",
}
_PLURALS: Final = {"integer": "whole numbers", "number": "numbers", "string": "texts"}
_BOUNDS: Final = {
    "exclusiveMinimum": "> {}",
    "minimum": ">= {}",
    "exclusiveMaximum": "< {}",
    "maximum": "<= {}",
    "maxLength": "of at most {} characters",
    "pattern": "of the form {}",
}
_ALIKE: Final = 0.7
"""Likeness of two names from which on one may be meant by the other."""
# Names of the same thing in other tools; they serve suggestions only and are never accepted.
_ELSEWHERE: Final = {
    "amp": "training.precision",
    "architecture": "model.name",
    "backbone": "model.name",
    "bs": "training.batch_size",
    "checkpoint": "training.init_from",
    "data_dir": "data.root",
    "data_path": "data.root",
    "dataset": "data.name",
    "decay": "training.weight_decay",
    "epoch": "training.epochs",
    "exclude_patients": "data.exclude",
    "gpus": "machine.devices",
    "image_size": "data.size",
    "learning_rate": "training.lr",
    "learningrate": "training.lr",
    "lr_scheduler": "training.schedule",
    "max_epochs": "training.epochs",
    "max_steps": "training.steps",
    "method": "algorithm.name",
    "num_epochs": "training.epochs",
    "num_workers": "machine.workers",
    "optim": "training.optimizer",
    "patience": "training.early_stopping",
    "pretrained": "model.pretrained",
    "random_state": "seed",
    "scheduler": "training.schedule",
    "test_domains": "data.held_out",
    "test_envs": "data.held_out",
    "train_size": "data.train_fraction",
    "wd": "training.weight_decay",
}


def explain(error: ValidationError, merged: Merged) -> list[str]:
    """One line per mistake: key, value, file and line, what is allowed, the nearest name."""
    keys = known_keys(merged.values)
    lines = (
        f"{_head(path, merged, whole=e['type'] in (*_IN_OUR_WORDS, 'missing'))}: {text}"
        for e in error.errors()
        for path, text in _mistakes(e, merged, keys)
    )
    # Each branch of a choice ("a number, or null") fails by itself, with one and the same line.
    return list(dict.fromkeys(lines))


def _mistakes(error: ErrorDetails, merged: Merged, keys: Keys) -> Iterator[tuple[KeyPath, str]]:
    kind, path = error["type"], trimmed(error["loc"], merged.values)
    if kind == "missing":
        yield error["loc"], _missing(error["loc"], keys)
    elif kind == "extra_forbidden":
        # A section of a wrong name: each of its keys may be meant for another section.
        for leaf in _leaves(path, error["input"]) if len(path) == 1 else [path]:
            yield leaf, _unknown(leaf, keys)
    elif kind not in _IN_OUR_WORDS:
        yield path, _not_allowed(path, error, keys)
    else:
        yield _in_our_words(path, error, merged)


def _in_our_words(path: KeyPath, error: ErrorDetails, merged: Merged) -> tuple[KeyPath, str]:
    """The message of one of our own checks, and the key that it is about."""
    text = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"] in _ABOUT_A_NAME and isinstance(error["input"], dict):
        path = (*path, "name") if "name" in error["input"] else path
    named = _NAMES_A_KEY.match(text)
    if named and _value(tuple(named[1].split(".")), merged.values) is not None:
        path, text = tuple(named[1].split(".")), text[named.end() :]
    section, value = str(path[0]) if path else "", _value(path, merged.values)
    if path == (section, "name") and value in packaged_names(section):
        text += f". A part has that name: write {section}={value} or '{section}: {value}'"
    return path, text


def _head(path: KeyPath, merged: Merged, *, whole: bool) -> str:
    """A key with its value and its line; of a section, with the files that set its keys.

    Args:
        path: The key.
        merged: The configuration.
        whole: Whether a mapping is the section that is meant, and no value of a wrong kind.
    """
    value = _value(path, merged.values)
    if (whole and isinstance(value, dict)) or trimmed(path, merged.values) != path:
        sources = merged.sources(path)
        return (dotted(path) or "the whole") + (f" ({', '.join(sources)})" if sources else "")
    shown = repr(value) if isinstance(value, str) else str(value)
    if value is None or isinstance(value, bool):
        shown = {True: "true", False: "false", None: "null"}[value]
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return f"{dotted(path)} = {shown} ({merged.where(path)})"


def _missing(path: KeyPath, keys: Keys) -> str:
    section = str(path[0])
    if len(path) == 1 and section in PLUGIN_SECTIONS:
        parts = ", ".join(packaged_names(section))
        return f"this section is missing; extend a part such as {section}/NAME. Parts: {parts}"
    allowed = describe(keys.get(dotted(path), {}))
    return "this key is missing" + (f"; it should be {allowed}" if allowed else "")


def _unknown(path: KeyPath, keys: Keys) -> str:
    full, parent = dotted(path), dotted(path[:-1])
    if full in keys:
        return "dotted keys are for the command line; in a file, indent the key in its section"
    section, nested = full.partition(".")[0], len(path) > 1
    if nested and section not in keys and "[" not in full:
        text = f"there is no section {section!r}."
    else:
        text = "there is no such key."
    near = nearest_key(full, keys)
    if near:
        text += f" Did you mean {near}?"
    prefix = f"{parent}." if nested else ""
    siblings = [key[len(prefix) :] for key in keys if key.startswith(prefix)]
    if nested and parent in keys and siblings:
        text += f" Keys of {parent}: {', '.join(_plain(siblings))}"
    elif not near:
        text += f" Known: {', '.join(_plain(keys))}"
    return text


def _plain(keys: Iterable[str]) -> list[str]:
    return [key for key in keys if "." not in key and "[" not in key]


def _not_allowed(path: KeyPath, error: ErrorDetails, keys: Keys) -> str:
    schema = keys.get(dotted(path), {})
    allowed = describe(schema)
    if not allowed:
        return error["msg"].replace("Input should", "should").replace("dictionary", "mapping")
    words = map(str, literals(schema))
    near = did_you_mean(error["input"], words) if isinstance(error["input"], str) else ""
    return f"should be {allowed}" + (f".{near}" if near else "")


def describe(schema: Schema) -> str:
    """What a piece of JSON Schema allows; empty if it cannot be said briefly.

    Example:
        >>> describe({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
        'a number > 0 and < 1'
        >>> describe({"anyOf": [{"enum": ["sgd", "adam"]}, {"type": "null"}]})
        'sgd, adam or null'
        >>> describe({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]})
        'a list of 2 numbers'
    """
    if PLUGIN_MARK in schema:
        return "a mapping with a key 'name', or a bare name"
    branches = schema.get("anyOf", [schema])
    types = [_type(branch) for branch in branches if not literals(branch)]
    if not all(types):
        return ""
    *others, last = dict.fromkeys([*map(str, literals(schema)), *types])
    return f"{', '.join(others)} or {last}" if others else last


def literals(schema: Schema) -> list[Any]:
    """The values that are allowed as such."""
    if "const" in schema:
        return [schema["const"]]
    branches = [literals(branch) for branch in schema.get("anyOf", ())]
    return [*schema.get("enum", ()), *(word for words in branches for word in words)]


def _type(schema: Schema) -> str:
    if "anyOf" in schema or PLUGIN_MARK in schema:
        return describe(schema)
    if "$ref" in schema:
        return _TYPES["object"]  # only sections are referred to
    kind = str(schema.get("type"))
    if kind == "array":
        fixed = schema.get("prefixItems", [])
        items = _item_schema(schema, 0)
        count = f"{len(fixed)} " if fixed else ""
        words = ", ".join(map(str, literals(items)))
        return f"a list of {words or count + _PLURALS.get(str(items.get('type')), 'values')}"
    bounds = [text.format(schema[key]) for key, text in _BOUNDS.items() if key in schema]
    # Bounds of a number are joined by "and"; a text has a form or a length.
    return f"{_TYPES[kind]} {' and '.join(bounds)}".strip() if kind in _TYPES else ""


def _item_schema(schema: Schema, position: int) -> Schema:
    """The schema of one item of a list."""
    for branch in [schema, *schema.get("anyOf", ())]:
        if branch.get("type") == "array":
            fixed = branch.get("prefixItems", [])
            item: Schema = fixed[position] if position < len(fixed) else branch.get("items", {})
            return item
    return {}


def known_keys(values: Mapping[str, Any]) -> dict[str, Schema]:
    """Every dotted key that exists with these plug-ins and list items, with its JSON Schema.

    Example:
        >>> keys = known_keys({"training": {"stages": [{"name": "tau_norm", "ta": 1}]}})
        >>> [key for key in keys if key.startswith("training.stages[")]
        ['training.stages[0]', 'training.stages[0].name', 'training.stages[0].tau']
    """
    schema = RunConfig.model_json_schema(mode="validation")
    return dict(_keys_below("", schema, schema["$defs"], values))


def _keys_below(
    prefix: str, schema: Schema, definitions: Schema, values: Mapping[str, Any]
) -> Iterator[tuple[str, Schema]]:
    for name, inner in schema.get("properties", {}).items():
        places = [(prefix + name, inner, values.get(name))]
        for i, item in enumerate(places[0][2] if isinstance(places[0][2], list) else ()):
            places.append((f"{prefix}{name}[{i}]", _item_schema(inner, i), item))
        for key, part, value in places:
            yield key, part
            section = _section_schema(part, definitions, value)
            below = value if isinstance(value, dict) else {}
            yield from _keys_below(f"{key}.", section, section.get("$defs", definitions), below)


def _section_schema(schema: Schema, definitions: Schema, value: Any) -> Schema:
    """The schema of the section that a value is checked by; empty if it is by none."""
    name = value.get("name") if isinstance(value, dict) else value
    sections: list[Schema] = []
    for branch in schema.get("anyOf", [schema]):
        if "$ref" in branch:
            sections.append(definitions[branch["$ref"].rpartition("/")[2]])
        elif PLUGIN_MARK in branch and isinstance(name, str):
            with contextlib.suppress(InputError):
                config = load_plugin_config(branch[PLUGIN_MARK], name)
                sections.append(config.model_json_schema(mode="validation"))
    named = (s for s in sections if s["properties"].get("name", {}).get("const") == name)
    return next(named, next(iter(sections), {}))


def nearest_key(key: str, keys: Iterable[str]) -> str | None:
    """The key that was probably meant.

    Example:
        >>> nearest_key("train.learning_rte", ["training.lr", "training.batch_size"])
        'training.lr'
        >>> nearest_key("training.opt", ["training.optimizer", "training.lr"])
        'training.optimizer'
    """
    item, inside, own = key.rpartition("].")
    prefix = item + inside  # what leads to an item of a list is right
    section, _, leaf = re.sub(r"[-\s]", "_", own.lower()).rpartition(".")

    def likeness(name: str) -> tuple[float, float, bool]:
        in_section, _, last = name.rpartition(".")
        # Items of training.stages have some keys of training.
        aliases = [a for a, of in _ELSEWHERE.items() if name in (of, of.removeprefix("training."))]
        alike = max(SequenceMatcher(None, word, leaf).ratio() for word in (last, *aliases))
        if len(leaf) > 2 and last.startswith(leaf):
            alike = max(alike, _ALIKE)
        # Of sections that are equally like the given one, most keys are of training.
        of_section = SequenceMatcher(None, section, in_section).ratio()
        return alike, of_section, in_section == "training"

    names = (name[len(prefix) :] for name in keys if name.startswith(prefix))
    near = max((name for name in names if "[" not in name), key=likeness, default="")
    return prefix + near if near and likeness(near)[0] >= _ALIKE else None


def dotted(path: KeyPath) -> str:
    """A key as a person writes it.

    Example:
        >>> dotted(("training", "milestones", 1))
        'training.milestones[1]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def trimmed(location: KeyPath, values: Any) -> KeyPath:
    """The steps of an error's location that are in the values; the others name types."""
    return location[: len(_along(location, values)) - 1]


def _along(path: KeyPath, values: Any) -> list[Any]:
    """The values along a path, up to the first step that does not exist."""
    passed = [values]
    for step in path:
        try:
            passed.append(passed[-1][step])
        except (LookupError, TypeError):
            break
    return passed


def _value(path: KeyPath, values: Any) -> Any:
    """The value that a path leads to; None where there is none."""
    passed = _along(path, values)
    return passed[-1] if len(passed) > len(path) else None


def _leaves(path: KeyPath, value: Any) -> Iterator[KeyPath]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        yield path
