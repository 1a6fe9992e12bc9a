"""Layers: the parts a file extends, the file, the command line; merged in that order.

Mappings merge, lists and scalars replace. A new ``name`` in a section drops the keys that the
section inherited. A bare word for a section (``algorithm: latentdr_pool``) refers to a part and
replaces the section: everything that earlier parts of that kind set is removed.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from medldr import plugins
from medldr.config.packaged import packaged_configs, packaged_names
from medldr.config.section import PLUGIN_SECTIONS
from medldr.config.yaml import Document, KeyPath, parse_value, read_yaml
from medldr.errors import InputError, did_you_mean

COMMAND_LINE: Final = "command line"
_OF_THE_FILE: Final = ("extends", "pins")
_FILE_ENTRY: Final = re.compile(r"^[./~]|\.ya?ml$")


@dataclass(frozen=True)
class Layer:
    """What one file, or one override, sets.

    Attributes:
        source: The file or the command line, as messages name it.
        folder: What its relative paths are relative to.
        values: Sections and top-level keys.
        lines: Line numbers by key path.
        part: Its name if it is a packaged part, for example ``data/octmnist``.
        pinned: Keys that it pins for its protocol, with the pinned values.
    """

    source: str
    folder: Path
    values: dict[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    part: str | None = None
    pinned: Mapping[str, Any] = field(default_factory=dict)

    def without(self, section: str) -> Layer:
        """The same layer without this section."""
        return replace(self, values={k: v for k, v in self.values.items() if k != section})


class Merged:
    """The merged values, and for each of them the layer that it comes from."""

    def __init__(self, layers: Iterable[Layer] = ()) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[KeyPath, Layer] = {}
        for layer in layers:
            self._merge(self.values, layer.values, (), layer)

    def origin(self, path: KeyPath) -> Layer | None:
        """The layer that set this key, or the nearest enclosing one."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.origins:
                return self.origins[path[:end]]
        return None

    def where(self, path: KeyPath) -> str:
        """File and line of a value, or ``command line``."""
        layer = self.origin(path)
        if layer is None:
            return "defaults"
        for end in range(len(path), 0, -1):
            if path[:end] in layer.lines:
                return f"{layer.source}:{layer.lines[path[:end]]}"
        return layer.source

    def sources(self, path: KeyPath) -> list[str]:
        """The files that set something at or below a key, the strongest first."""
        said = [layer.source for key, layer in self.origins.items() if key[: len(path)] == path]
        return list(dict.fromkeys(reversed(said)))

    def _merge(self, old: dict[str, Any], new: Mapping[str, Any], at: KeyPath, by: Layer) -> None:
        if at and "name" in old and new.get("name", old["name"]) != old["name"]:
            for key in list(old):
                self._forget((*at, key))
            old.clear()
        for key, value in new.items():
            here = (*at, key)
            if isinstance(value, dict) and isinstance(old.get(key), dict):
                self._merge(old[key], value, here, by)
            else:
                self._forget(here)
                old[key] = copy.deepcopy(value)
                self._remember(value, here, by)

    def _remember(self, value: Any, path: KeyPath, layer: Layer) -> None:
        self.origins[path] = layer
        if isinstance(value, dict):
            for key, inner in value.items():
                self._remember(inner, (*path, key), layer)

    def _forget(self, path: KeyPath) -> None:
        for known in [known for known in self.origins if known[: len(path)] == path]:
            del self.origins[known]


class Layers:
    """Collects the layers of a configuration.

    Attributes:
        problems: What is wrong so far, one line each.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._open: list[Path] = []
        self._levels: list[list[Layer]] = [[]]  # layers of each document being read

    @property
    def found(self) -> list[Layer]:
        """The layers, the strongest last."""
        return self._levels[0]

    def add_file(self, path: Path, part: str | None = None) -> None:
        """Add what a file extends, then the file itself."""
        real = path.resolve()
        if real in self._open:
            chain = " -> ".join(str(p) for p in [*self._open[self._open.index(real) :], real])
            raise InputError(f"configurations extend each other in a circle: {chain}")
        self._open.append(real)
        self.add_document(read_yaml(path), path.parent, part)
        self._open.pop()

    def add_document(self, document: Document, folder: Path, part: str | None = None) -> None:
        """Add what a mapping extends, the parts its bare words refer to, then the mapping."""
        self._levels.append([])
        values = dict(document.values)
        extends, pins = (values.pop(key, None) for key in _OF_THE_FILE)
        for entry in _texts(extends, "extends", document):
            self._add_entry(entry, document, folder)
        layer = Layer(document.source, folder, values, document.lines, part)
        for section, kind in PLUGIN_SECTIONS.items():
            value = layer.values.get(section)
            if isinstance(value, str):
                layer = layer.without(section)
                self._add_word(section, kind, value, layer)
            elif value is None:
                layer = layer.without(section)  # a section whose keys are all commented out
        own = self._levels.pop()
        pinned = _pinned(_texts(pins, "pins", document), [*own, layer], document)
        self._levels[-1] += [*own, replace(layer, pinned=pinned)]

    def add_overrides(self, overrides: Sequence[str], folder: Path) -> None:
        """Add ``KEY=VALUE`` texts: whole sections first, then names, then single keys."""
        pairs = []
        for text in overrides:
            key, equals, value = text.partition("=")
            words = key.strip().split(".")
            if not equals or not all(words):
                self.problems.append(
                    f"{text!r} ({COMMAND_LINE}): should be KEY=VALUE, for example training.lr=0.01"
                )
                continue
            try:
                pairs.append((words, parse_value(value, f"{text!r} ({COMMAND_LINE})")))
            except InputError as error:
                self.problems.append(f"{error}. Quote the value if it is text")
        for words, value in sorted(pairs, key=_strength):
            nested = {words[-1]: value}
            for word in reversed(words[:-1]):
                nested = {word: nested}
            self.add_document(Document(COMMAND_LINE, nested), folder)

    def _add_entry(self, entry: str, document: Document, folder: Path) -> None:
        if _FILE_ENTRY.search(entry):
            path = folder / Path(entry).expanduser()
            if not path.is_file():
                bare = re.sub(r"\.ya?ml$", "", entry)
                hint = f". The packaged part is {bare!r}" if bare in packaged_names() else ""
                raise InputError(
                    f"{document.source}: extends {entry!r}, but there is no file {path}{hint}"
                )
            self.add_file(path)
            return
        known = packaged_names()
        if entry not in known:
            local = folder / f"{entry}.yaml"
            hint = did_you_mean(entry, known)
            if local.is_file():
                hint = f" For the file next to it, write './{entry}.yaml'."
            raise InputError(
                f"{document.source}: extends {entry!r}, but there is no such packaged part.{hint} "
                f"Known: {', '.join(known)}"
            )
        self.add_file(packaged_configs() / f"{entry}.yaml", entry)

    def _add_word(self, section: str, kind: plugins.Kind, word: str, layer: Layer) -> None:
        """Replace a section by the part or the plug-in that a bare word names."""
        parts, known = packaged_names(section), plugins.names(kind)
        if word not in parts and word not in known and "." not in word:
            self.problems.append(
                f"{section} = {word!r} ({_place(layer, section)}): there is no such part or "
                f"{plugins.SINGULAR[kind]}.{did_you_mean(word, [*parts, *known])} "
                f"Parts: {', '.join(parts)}"
            )
            return
        self._levels = [_taken_back(level, section) for level in self._levels]
        if word in parts:
            self.add_file(packaged_configs() / section / f"{word}.yaml", f"{section}/{word}")
        else:
            self._levels[-1].append(replace(layer, values={section: {"name": word}}))


def _pinned(keys: list[str], layers: list[Layer], document: Document) -> dict[str, Any]:
    """The values of the keys that a file pins, from the file and what it extends."""
    stated = Merged(layers).values if keys else {}
    pinned = {}
    for key in keys:
        try:
            pinned[key] = lookup(stated, key)
        except KeyError:
            raise InputError(
                f"{document.source}: pins {key!r}, but neither this file nor what it extends "
                "sets that key"
            ) from None
    return pinned


def lookup(values: Mapping[str, Any], key: str) -> Any:
    """Value of a dotted key; KeyError if there is none.

    Example:
        >>> lookup({"training": {"lr": 0.1}}, "training.lr")
        0.1
    """
    value: Any = values
    for word in key.split("."):
        if not isinstance(value, Mapping):
            raise KeyError(key)
        value = value[word]
    return value


def _taken_back(layers: list[Layer], section: str) -> list[Layer]:
    kept = (layer for layer in layers if not (layer.part or "").startswith(f"{section}/"))
    return [layer.without(section) for layer in kept]


def _strength(pair: tuple[list[str], Any]) -> tuple[int, int]:
    words = pair[0]
    if len(words) == 1:
        return (0 if words[0] == "extends" else 1, 0)
    return (2, len(words)) if words[-1] == "name" else (3, 0)


def _place(layer: Layer, key: str) -> str:
    line = layer.lines.get((key,))
    return layer.source if line is None else f"{layer.source}:{line}"


def _texts(value: Any, key: str, document: Document) -> list[str]:
    entries = [value] if isinstance(value, str) else value
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        line = document.lines.get((key,))
        where = document.source if line is None else f"{document.source}:{line}"
        raise InputError(f"{key} = {value!r} ({where}): should be a list of names")
    return entries
