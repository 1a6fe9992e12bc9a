"""Messages about mistakes in a configuration: the key, its file, what is allowed, what is near.

pydantic finds and locates the mistakes, and says what a key allows.
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
from medldr.config.schema import CONFIG_VERSION, RunConfig
from medldr.config.section import PLUGIN_MARK, PLUGIN_SECTIONS, load_plugin_config
from medldr.config.yaml import KeyPath
from medldr.errors import InputError, did_you_mean, some
from medldr.version import __version__

Schema = Mapping[str, Any]

_VERSION: Final = ("config_version",)
_ABOUT_A_NAME: Final = ("plugin_unknown", "plugin_name")
_IN_OUR_WORDS: Final = ("value_error", "assertion_error", *_ABOUT_A_NAME)
_NAMES_A_KEY: Final = re.compile(r"([a-z_]+(?:\.[a-z_]+)+)(?:\[\d+\])?: ")
LISTED: Final = 8
"""How many mistakes are described in full; the rest are counted."""
_ALIKE: Final = 0.7
"""Likeness of two names from which on one may be meant by the other."""
# Names of the same thing in other tools; they serve suggestions only and are never accepted.
_ELSEWHERE: Final = {
    "algorithm.name": "method",
    "data.exclude": "exclude_patients",
    "data.held_out": "test_domains test_envs",
    "data.name": "dataset",
    "data.root": "data_dir data_path",
    "data.size": "image_size",
    "data.train_fraction": "train_size",
    "machine.devices": "gpus",
    "machine.workers": "num_workers",
    "model.name": "architecture backbone",
    "model.pretrained": "pretrained",
    "seed": "random_state",
    "training.batch_size": "bs",
    "training.early_stopping": "patience",
    "training.epochs": "epoch max_epochs num_epochs",
    "training.init_from": "checkpoint",
    "training.lr": "learning_rate learningrate",
    "training.optimizer": "optim",
    "training.precision": "amp",
    "training.schedule": "lr_scheduler scheduler",
    "training.steps": "max_steps",
    "training.weight_decay": "decay wd",
}


def explain(error: ValidationError, merged: Merged) -> list[str]:
    """One line per mistake: key, value, file and line, what is allowed, the nearest name.

    Of a file of another version there is one line: its keys may have other names and meanings.
    Of unknown keys after the first `LISTED` mistakes there is the name alone: they are counted.
    """
    if any(details["loc"] == _VERSION for details in error.errors()):
        return [
            f"{_head(_VERSION, merged)}: the file is of another version of medldr; this one, "
            f"{__version__}, reads {CONFIG_VERSION}. Install the version that wrote it, which the "
            "run.json beside it names, or write the file again"
        ]
    keys = known_keys(merged.values)
    texts: dict[KeyPath, str] = {}
    for details in error.errors(include_url=False):
        if len(texts) >= LISTED and details["type"] == "extra_forbidden":
            texts.setdefault(details["loc"], dotted(details["loc"]))
            continue
        for path, text in _mistakes(details, merged, keys):
            # Each branch of a choice ("a number, or null") fails by itself; the first says enough.
            quoted = f"{_head(path, merged)}: {text}"
            texts.setdefault(path, _unquoted(path, details, merged, keys) or quoted)
    return list(texts.values())


def _unquoted(path: KeyPath, error: ErrorDetails, merged: Merged, keys: list[str]) -> str:
    """The message about a file that another one names, without what is in it; else empty."""
    layer = merged.origin(path)
    if layer is None or layer.quoted:
        return ""
    if error["type"] == "extra_forbidden":
        near = nearest_key(dotted(path), keys)
        return f"{layer.where(path)}: there is no such key.{f' Did you mean {near}?' * bool(near)}"
    text = "is not allowed" if error["type"] in _IN_OUR_WORDS else error["msg"]
    return f"{dotted(path)} ({layer.where(path)}): {text.replace('Input should', 'should')}"


def _mistakes(
    error: ErrorDetails, merged: Merged, keys: list[str]
) -> Iterator[tuple[KeyPath, str]]:
    kind, path = error["type"], trimmed(error["loc"], merged.values)
    if kind == "missing":
        yield error["loc"], _missing(error["loc"])
    elif kind == "extra_forbidden":
        # A section of a wrong name: each of its keys may be meant for another section.
        for leaf in _leaves(path, error["input"]) if len(path) == 1 else [path]:
            yield leaf, _unknown(leaf, keys)
    elif kind in _IN_OUR_WORDS:
        yield _in_our_words(path, error, merged)
    else:
        yield path, not_allowed(error)


def _in_our_words(path: KeyPath, error: ErrorDetails, merged: Merged) -> tuple[KeyPath, str]:
    """The message of one of our own checks, and the key that it is about."""
    text = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"] in _ABOUT_A_NAME and isinstance(error["input"], dict):
        path = (*path, "name") if "name" in error["input"] else path
    named = _NAMES_A_KEY.match(text)
    if named and value_at(tuple(named[1].split(".")), merged.values) is not None:
        path, text = tuple(named[1].split(".")), text[named.end() :]
    section, value = str(path[0]) if path else "", value_at(path, merged.values)
    if path == (section, "name") and value in packaged_names(section):
        text += f". A part has that name: write {section}={value} or '{section}: {value}'"
    return path, text


def _head(path: KeyPath, merged: Merged) -> str:
    """A key with its value and its line; of a section, with the files that set its keys."""
    value = value_at(path, merged.values)
    if isinstance(value, dict) or trimmed(path, merged.values) != path:
        sources = merged.sources(path)
        return (dotted(path) or "the whole") + (f" ({', '.join(sources)})" if sources else "")
    shown = repr(value) if isinstance(value, str) else str(value)
    if value is None or isinstance(value, bool):
        shown = {True: "true", False: "false", None: "null"}[value]
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return f"{dotted(path)} = {shown} ({merged.where(path)})"


def _missing(path: KeyPath) -> str:
    section = str(path[0])
    if len(path) == 1 and section in PLUGIN_SECTIONS:
        parts = some(packaged_names(section), listed="medldr list parts")
        return f"this section is missing; extend a part such as {section}/NAME. Parts: {parts}"
    return "this key is missing"


def _unknown(path: KeyPath, keys: list[str]) -> str:
    key, parent = dotted(path), dotted(path[:-1])
    if key in keys:
        return "dotted keys are for the command line; in a file, indent the key in its section"
    near = nearest_key(key, keys)
    hint = f" Did you mean {near}?" if near else ""
    if parent and parent not in keys:
        known = some(_directly_below("", keys))
        return f"there is no section {path[0]!r}.{hint} Known: {known}"
    prefix = f"{parent}." if parent else ""
    known = some(_directly_below(prefix, keys))
    return f"there is no such key.{hint} Keys of {parent or 'a run'}: {known}"


def _directly_below(prefix: str, keys: Iterable[str]) -> list[str]:
    names = (key.removeprefix(prefix) for key in keys if key.startswith(prefix))
    return [name for name in names if "." not in name and "[" not in name]


def not_allowed(error: ErrorDetails) -> str:
    """What pydantic says of a value, in the words of a file."""
    text = error["msg"].replace("Input should", "should")
    text = re.sub(r"a valid dictionary( or instance of \w+)?", "a mapping", text)
    text = re.sub(r"a valid (list|tuple)", "a list", text)
    text = re.sub(r"a valid string", "a text", text)
    text = re.sub(r"a valid integer(, unable.*)?", "a whole number", text)
    text = re.sub(r"a valid number(, unable.*)?", "a number", text)
    if text.endswith("a number") and re.fullmatch(r"-?\d+,\d+", str(error["input"])):
        text += f" with a point: {error['input'].replace(',', '.')}"
    expected = re.findall(r"'([^']+)'", error.get("ctx", {}).get("expected", ""))
    meant = "cuda" if error["input"] == "gpu" else str(error["input"])
    return f"{text}.{did_you_mean(meant, expected)}".removesuffix(".")


def known_keys(values: Mapping[str, Any]) -> list[str]:
    """Every dotted key that exists with these plug-ins and list items.

    Example:
        >>> keys = known_keys({"training": {"stages": [{"name": "tau_norm", "ta": 1}]}})
        >>> [key for key in keys if key.startswith("training.stages[")]
        ['training.stages[0]', 'training.stages[0].name', 'training.stages[0].tau']
    """
    schema = RunConfig.model_json_schema(mode="validation")
    return list(_keys_below("", schema, schema["$defs"], values))


def _keys_below(
    prefix: str, schema: Schema, definitions: Schema, values: Mapping[str, Any]
) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        value = values.get(name)
        places = [(prefix + name, part, value)]
        if isinstance(value, list):
            of_items = part.get("items", {})
            places += [(f"{prefix}{name}[{i}]", of_items, item) for i, item in enumerate(value)]
        for key, allowed, given in places:
            yield key
            section = _section_schema(allowed, definitions, given)
            below = given if isinstance(given, dict) else {}
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
        aliases = (_ELSEWHERE.get(name) or _ELSEWHERE.get(f"training.{name}", "")).split()
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


def value_at(path: KeyPath, values: Any) -> Any:
    """The value that a path leads to; None where there is none."""
    passed = _along(path, values)
    return passed[-1] if len(passed) > len(path) else None


def _leaves(path: KeyPath, value: Any) -> Iterator[KeyPath]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        yield path
