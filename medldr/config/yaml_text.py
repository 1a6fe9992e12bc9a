"""Values as YAML that every reader reads the same way; `medldr.config.yaml` reads it back."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TEXT: Final = re.compile(r"[A-Za-z_./][\w ./+\-]*[\w./+\-]|[A-Za-z_]")
_LOOKS_LIKE_ANOTHER_TYPE: Final = frozenset(
    # in some YAML reader or other
    ["y", "yes", "n", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"]
)


def write_yaml(values: Mapping[str, Any], comment: str = "") -> str:
    """Text of a mapping, in its own order, that every YAML reader reads the same way.

    Texts that some reader could misread (``no``, ``0123``, ``1e3``) are quoted;
    lists of plain values stay on one line.
    """
    writer = YAML(typ="rt")
    writer.width = 100
    writer.representer.add_representer(type(None), _represent_null)
    writer.representer.add_representer(float, _represent_float)
    stream = io.StringIO()
    for line in comment.splitlines():
        stream.write(f"# {line}".rstrip() + "\n")
    writer.dump(_dressed(dict(values)), stream)
    return stream.getvalue()


def _represent_null(representer: Any, _value: None) -> Any:
    return representer.represent_scalar(_TAG + "null", "null")


def _represent_float(representer: Any, value: float) -> Any:
    text = repr(value)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")  # YAML 1.1 reads 1e-08 as text
    return representer.represent_scalar(_TAG + "float", text)


def _dressed(value: Any) -> Any:
    """The value in ruamel's types, which keep quotes and the style of lists."""
    if isinstance(value, dict):
        dressed = CommentedMap((_dressed(k), _dressed(v)) for k, v in value.items())
        if not value:
            dressed.fa.set_flow_style()
        return dressed
    if isinstance(value, (list, tuple)):
        items = CommentedSeq(_dressed(item) for item in value)
        if not any(isinstance(item, (dict, list, tuple)) for item in value):
            items.fa.set_flow_style()
        return items
    if isinstance(value, str):
        ambiguous = value.lower() in _LOOKS_LIKE_ANOTHER_TYPE or value.startswith(".")
        if ambiguous or not _PLAIN_TEXT.fullmatch(value):
            return DoubleQuotedScalarString(value)
    return value
