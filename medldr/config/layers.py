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
from typing import Any, Final, TypeVar

from medldr import plugins
from medldr.config.packaged import packaged_configs, packaged_names
from medldr.config.section import PLUGIN_SECTIONS
from medldr.config.yaml import Document, KeyPath, parse_value, read_named_yaml, read_yaml
from medldr.errors import InputError, did_you_mean, some

COMMAND_LINE: Final = "command line"
T = TypeVar("T")
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
        quoted: Whether messages may quote it: not what another file names, which may be any file.
    """

    source: str
    folder: Path
    values: dict[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    part: str | None = None
    pinned: Mapping[str, Any] = field(default_factory=dict)
    quoted: bool = True

    def show(self, value: Any) -> str:
        """A value of it in a message."""
        return repr(value) if self.quoted else "[not shown]"

    def without(self, section: str) -> Layer:
        """The same layer without a section; a part of that section sets nothing any more."""
        if (self.part or "").startswith(f"{section}/"):
            return replace(self, values={}, pinned={})
        return replace(self, values={k: v for k, v in self.values.items() if k != section})

    def where(self, path: KeyPath) -> str:
        """The file and the line of a key, or of the nearest enclosing one that has a line."""
        line = nearest(path, self.lines)
        return self.source if line is None else f"{self.source}:{line}"


def nearest(path: KeyPath, table: Mapping[KeyPath, T]) -> T | None:
    """What a table holds for a key, or for the nearest enclosing one that it has."""
    ends = (path[:end] for end in range(len(path), 0, -1))
    return next((table[end] for end in ends if end in table), None)


class Merged:
    """The merged values, and for each of them the layer that it comes from."""

    def __init__(self, layers: Iterable[Layer] = ()) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[KeyPath, Layer] = {}
        for layer in layers:
            self._merge(self.values, layer.values, (), layer)

    def origin(self, path: KeyPath) -> Layer | None:
        """The layer that set this key, or the nearest enclosing one."""
        return nearest(path, self.origins)

    def where(self, path: KeyPath) -> str:
        """File and line of a value, or ``command line``."""
        layer = self.origin(path)
        return "defaults" if layer is None else layer.where(path)

    def sources(self, path: KeyPath) -> list[str]:
        """The files that set something at or below a key, the strongest first."""
        below = [layer.source for key, layer in self.origins.items() if key[: len(path)] == path]
        return list(dict.fromkeys(reversed(below)))

    def _merge(self, old: dict[str, Any], new: Mapping[str, Any], at: KeyPath, by: Layer) -> None:
        if at and "name" in old and new.get("name", old["name"]) != old["name"]:
            for key in list(old):
                self._forget((*at, key))
            old.clear()
        for key, value in new.items():
            path = (*at, key)
            if isinstance(value, dict) and isinstance(old.get(key), dict):
                self._merge(old[key], value, path, by)
            else:
                if key in old:
                    self._forget(path)
                old[key] = copy.deepcopy(value)
                self._remember(value, path, by)

    def _remember(self, value: Any, path: KeyPath, layer: Layer) -> None:
        self.origins[path] = layer
        if isinstance(value, dict):
            for key, inner in value.items():
                self._remember(inner, (*path, key), layer)

    def _forget(self, path: KeyPath) -> None:
        for below in [key for key in self.origins if key[: len(path)] == path]:
            del self.origins[below]


class Layers:
    """Collects the layers of a configuration.

    Args:
        section: Where packaged parts are, if not in any section of a run: ``search``.

    Attributes:
        in_order: The layers, the strongest last.
        problems: What is wrong so far, one line each.
    """

    def __init__(self, section: str | None = None) -> None:
        self._section = section
        self.in_order: list[Layer] = []
        self.problems: list[str] = []
        self._open: list[Path] = []

    def add_file(self, path: Path, part: str | None = None, *, quoted: bool = True) -> None:
        """Add what a file extends, then the file itself."""
        real = path.resolve()
        if real in self._open:
            chain = " -> ".join(str(p) for p in [*self._open[self._open.index(real) :], real])
            raise InputError(f"configurations extend each other in a circle: {chain}")
        self._open.append(real)
        document = read_yaml(path) if quoted else read_named_yaml(path)
        self.add_document(document, path.parent, part, quoted=quoted)
        self._open.pop()

    def add_document(
        self, document: Document, folder: Path, part: str | None = None, *, quoted: bool = True
    ) -> None:
        """Add what a mapping extends, the parts its bare words refer to, then the mapping."""
        first = len(self.in_order)
        values = dict(document.values)
        layer = Layer(document.source, folder, values, document.lines, part, quoted=quoted)
        extends, pins = (_names(layer, key, values.pop(key, None)) for key in ("extends", "pins"))
        for entry in extends:
            self._add_entry(entry, layer)
        for section, kind in PLUGIN_SECTIONS.items():
            value = values.get(section)
            if value is None or isinstance(value, str):
                values.pop(section, None)  # None: a section whose keys are all commented out
            if isinstance(value, str):
                self._add_word(section, kind, value, layer)
        self.in_order.append(layer)
        if pins:
            self.in_order[-1] = replace(layer, pinned=_pinned(pins, self.in_order[first:]))

    def add_overrides(self, overrides: Sequence[str], folder: Path) -> None:
        """Add ``KEY=VALUE`` texts: whole sections first, then names, then single keys."""
        pairs = []
        for text in overrides:
            key, equals, value = text.partition("=")
            if not equals or not all(key.strip().split(".")):
                self.problems.append(
                    f"{text!r} ({COMMAND_LINE}): should be KEY=VALUE without blanks, "
                    "for example training.lr=0.01"
                )
                continue
            try:
                pairs.append((key.strip(), parse_value(value, f"{text!r} ({COMMAND_LINE})")))
            except InputError as error:
                self.problems.append(f"{error}. Quote the value if it is text")
        for key, value in sorted(pairs, key=lambda pair: strength(pair[0])):
            self.add_document(Document(COMMAND_LINE, nested(key, value)), folder)

    def _add_entry(self, entry: str, by: Layer) -> None:
        """Add a file or a packaged part that a document extends."""
        parts = packaged_names()
        if self._section is not None:
            parts = [f"{self._section}/{name}" for name in packaged_names(self._section)]
        if _FILE_ENTRY.search(entry):
            path = by.folder / Path(entry).expanduser()
            if path.is_file():
                self.add_file(path, quoted=False)
                return
            fault = f"there is no file {path if by.quoted else 'of that name'}"
        elif entry in parts:
            self.add_file(packaged_configs() / f"{entry}.yaml", entry)
            return
        else:
            known = f"{did_you_mean(entry, parts)} Known: {some(parts, listed='medldr list parts')}"
            beside = f" (a file beside it is ./{entry}.yaml)" if by.quoted else ""
            fault = f"there is no such packaged part{beside}.{known}"
        raise InputError(f"{by.source}: extends {by.show(entry)}, but {fault}")

    def _add_word(self, section: str, kind: plugins.Kind, word: str, by: Layer) -> None:
        """Replace a section by the part or the plug-in that a bare word names."""
        parts, names = packaged_names(section), plugins.names(kind)
        if word not in parts and word not in names and "." not in word:
            several = f" Several are a list: [{word}]." if "," in word else ""
            self.problems.append(
                f"{section} = {by.show(word)} ({by.where((section,))}): there is no such part or "
                f"{plugins.SINGULAR[kind]}.{several or did_you_mean(word, [*parts, *names])} "
                f"Parts: {some(parts, listed=f'medldr list {kind}')}"
            )
            return
        variants = sorted((part for part in parts if part.startswith(f"{word}_")), key=len)
        if word not in parts and variants:
            self.problems.append(
                f"{section} = {by.show(word)} ({by.where((section,))}): say which: "
                f"{some(variants, listed=f'medldr list {kind}')}"
            )
            return
        self.in_order = [layer.without(section) for layer in self.in_order]
        if word in parts:
            self.add_file(packaged_configs() / section / f"{word}.yaml", f"{section}/{word}")
        else:
            self.in_order.append(replace(by, values={section: {"name": word}}))


def nested(key: str, value: Any) -> dict[str, Any]:
    """The value of a dotted key as a mapping of sections.

    Example:
        >>> nested("training.lr", 0.1)
        {'training': {'lr': 0.1}}
    """
    *sections, last = key.split(".")
    mapping = {last: value}
    for section in reversed(sections):
        mapping = {section: mapping}
    return mapping


def strength(key: str) -> tuple[int, int]:
    """Rank of a dotted key in the order of merging: whole sections, then names, then other keys."""
    words = key.split(".")
    if len(words) == 1:
        return (0 if key == "extends" else 1, 0)
    return (2, len(words)) if words[-1] == "name" else (3, 0)


def lookup(values: Mapping[str, Any], key: str) -> Any:
    """Value of a dotted key; KeyError if there is none.

    Example:
        >>> lookup({"training": {"lr": 0.1}}, "training.lr")
        0.1
    """
    value: Any = values
    for word in key.split("."):
        if not isinstance(value, Mapping) or word not in value:
            raise KeyError(key)
        value = value[word]
    return value


def _pinned(keys: Sequence[str], layers: Sequence[Layer]) -> dict[str, Any]:
    """The values of the keys that a file pins, from the file and what it extends."""
    stated = Merged(layers).values
    try:
        return {key: lookup(stated, key) for key in keys}
    except KeyError as error:
        by = layers[-1]
        raise InputError(
            f"{by.source}: pins {by.show(error.args[0])}, but neither this file nor what it "
            "extends sets that key"
        ) from None


def _names(layer: Layer, key: str, value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{key} = {layer.show(value)} ({layer.where((key,))}): should be a list of names"
        )
    return names
