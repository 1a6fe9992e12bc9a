"""YAML 1.2 without surprises, read with ruamel: what is written is what is meant.

Scalars follow the YAML 1.2 core schema: ``1e-3`` is a number, ``no`` is text. One thing differs:
an integer with a leading zero (``0123``) stays text, because it is an id and never 123 or 83.
Numbers remember how they were written: an unquoted id such as ``1e5`` can become text again.
Nothing in a file is executed: only plain values exist, any other tag is an error.
"""

from __future__ import annotations

import copy
import functools
import re
import reprlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tag import Tag

from medldr.errors import InputError
from medldr.folders.files import reading

KeyPath: TypeAlias = tuple[str | int, ...]
"""The location of a value: keys of mappings and positions in lists."""

_TAG: Final = "tag:yaml.org,2002:"
_CORE: Final = (
    ("null", re.compile(r"|~|null|Null|NULL")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")),
    (
        "float",
        re.compile(
            r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
            r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
        ),
    ),
)
_MOST_VALUES: Final = 100_000
_MOST_BYTES: Final = 256 << 10


class WrittenInt(int):
    """An integer that prints as it was written."""

    text: str

    def __str__(self) -> str:
        return self.text


class WrittenFloat(float):
    """A number that prints as it was written."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Document:
    """A mapping read from a file, and the line where each of its values begins.

    Attributes:
        source: The file, as messages name it.
        values: Plain mappings, lists, texts, numbers, booleans and None.
        lines: Line numbers from 1, by key path.
    """

    source: str
    values: dict[str, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)


def read_yaml(path: Path | str) -> Document:
    """Read a file that holds one mapping; an empty file is an empty mapping.

    Raises:
        InputError: If the file cannot be read or does not hold a mapping, with the line.
    """
    with reading(path, "UTF-8 text"):
        content = Path(path).read_bytes()
        text = content.decode("utf-8-sig")
    if len(content) > _MOST_BYTES:
        raise InputError(
            f"{path} has {len(content) / 2**10:,.0f} kB, and no configuration has over "
            f"{_MOST_BYTES >> 10} kB: is it the right file? Long lists of ids belong into a table"
        )
    return parse_document(text, str(path))


def read_named_yaml(path: Path) -> Document:
    """Read a file that another one names; no message quotes it, as it may be any file.

    Raises:
        InputError: If it cannot be read or does not hold a mapping, with the line.
    """
    try:
        return read_yaml(path)
    except InputError as error:
        if isinstance(error.__context__, OSError):
            raise
        line = re.match(r":\d+", str(error).removeprefix(str(path)))
        raise InputError(
            f"{path}{line[0] if line else ''} is not keys and values in YAML (key: value)"
        ) from None


def parse_document(text: str, source: str) -> Document:
    r"""Read one mapping from a text.

    Example:
        >>> parse_document("lr: 1e-3\nid: 0123\nname: no", "x.yaml").values
        {'lr': 0.001, 'id': '0123', 'name': 'no'}
    """
    return copy.deepcopy(_document(text, source))


@functools.lru_cache(maxsize=256)  # the runs of a sweep share their parts
def _document(text: str, source: str) -> Document:
    lines: dict[KeyPath, int] = {}
    values = _parse(text, source, lines)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        found = "a list" if isinstance(values, list) else reprlib.repr(values)
        raise InputError(f"{source} should contain keys and values (key: value), not {found}")
    return Document(source, values, lines)


def parse_value(text: str, source: str) -> Any:
    """Read one value, for example the text after ``KEY=`` on the command line.

    Example:
        >>> parse_value("[50, 75]", "command line"), parse_value("off", "command line")
        ([50, 75], 'off')
    """
    return _parse(text, source, None)


def plain(value: Any) -> Any:
    """The same value, without the memory of how its numbers were written."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, WrittenInt):
        return int(value)
    return float(value) if isinstance(value, WrittenFloat) else value


class _CoreResolver(VersionedResolver):
    """Resolves plain scalars by the core schema, even under a ``%YAML 1.1`` directive."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is ScalarNode and implicit[0]:
            for name, pattern in _CORE:
                if pattern.fullmatch(value):
                    return Tag(suffix=_TAG + name)
        plain = {ScalarNode: "str", SequenceNode: "seq", MappingNode: "map"}
        return Tag(suffix=_TAG + plain[kind])


def _parse(text: str, source: str, lines: dict[KeyPath, int] | None) -> Any:
    """Values of a text; fills `lines`; without it, messages have no line numbers."""
    reader = YAML(typ="safe", pure=True)
    reader.Resolver = _CoreResolver
    reader.composer.warn_double_anchors = False  # YAML allows reusing the name of an anchor
    try:
        root = reader.compose(text)
        return None if root is None else _Builder(source, lines).build(root, ())
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = _at(source, None if lines is None else mark)
        hint = "; indent with blanks, not tabs" if "'\\t'" in str(error.problem) else ""
        hint += "; write a blank after a colon" if re.search(r"\w:[\[{]", text) else ""
        raise InputError(f"{where}: YAML syntax: {error.problem}{hint}") from None
    except YAMLError as error:
        raise InputError(f"{source}: YAML syntax: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise InputError(f"{source}: YAML nested too deeply") from None


class _Builder:
    """Makes plain values of ruamel's nodes."""

    def __init__(self, source: str, lines: dict[KeyPath, int] | None) -> None:
        self.source = source
        self.lines = {} if lines is None else lines
        self.numbered = lines is not None
        self.open: set[int] = set()
        self.count = 0

    def build(self, node: Node, at: KeyPath) -> Any:
        self.count += 1
        if self.count > _MOST_VALUES:
            raise self.error(node, f"more than {_MOST_VALUES:,} values, with all anchors expanded")
        if id(node) in self.open:
            raise self.error(node, "an anchor that contains itself")
        self.lines.setdefault(at, node.start_mark.line + 1)
        self.open.add(id(node))
        try:
            return self.build_by_tag(node, at)
        finally:
            self.open.discard(id(node))

    def build_by_tag(self, node: Node, at: KeyPath) -> Any:
        tag = str(node.tag).removeprefix(_TAG)
        if isinstance(node, MappingNode) and tag == "map":
            return self.mapping(node, at)
        if isinstance(node, SequenceNode) and tag == "seq":
            return [self.build(item, (*at, i)) for i, item in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            text = node.value
            if tag == "str":
                return text
            if tag == "null":
                return None
            if tag == "bool":
                return text.lower() == "true"
            if tag in ("int", "float"):
                return self.number(node, tag)
        raise self.error(node, f"the tag {node.tag} is not allowed: configurations are plain data")

    def mapping(self, node: MappingNode, at: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        first: dict[str, int] = {}
        inherited: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key_node, ScalarNode):
                raise self.error(key_node, "a key must be a plain word")
            line = key_node.start_mark.line + 1
            if key == "<<" and key_node.style is None:
                inherited = {**self.inherited(value_node, at), **inherited}
                continue
            if key in first:
                raise self.error(key_node, f"key {key!r} appears twice (also on line {first[key]})")
            first[key] = line
            self.lines[(*at, key)] = line
            values[key] = self.build(value_node, (*at, key))
        return {**inherited, **values}

    def inherited(self, node: Node, at: KeyPath) -> dict[str, Any]:
        value = self.build(node, at)
        merged: dict[str, Any] = {}
        for part in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(part, dict):
                raise self.error(node, "'<<' takes a mapping or a list of mappings")
            merged.update(part)
        return merged

    def number(self, node: ScalarNode, tag: str) -> WrittenInt | WrittenFloat:
        text = node.value
        number: WrittenInt | WrittenFloat
        try:
            if tag == "int":
                prefix = text[:2].lower()
                number = WrittenInt(text, {"0x": 16, "0o": 8}.get(prefix, 10))
            else:
                number = WrittenFloat(re.sub(r"\.(?=[iInN])", "", text))
        except ValueError:
            raise self.error(node, f"{text!r} is not a number") from None
        number.text = text
        return number

    def error(self, node: Node, problem: str) -> InputError:
        where = _at(self.source, node.start_mark if self.numbered else None)
        return InputError(f"{where}: {problem}")


def _at(source: str, mark: Any) -> str:
    return source if mark is None else f"{source}:{mark.line + 1}"
