"""What a key allows, in words, from its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medldr.config.section import PLUGIN_MARK

_PLAIN: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "object": "a mapping",
}
_PLURAL: Final = {"integer": "whole numbers", "number": "numbers", "string": "texts"}
_SIGNS: Final = {
    "exclusiveMinimum": ">",
    "minimum": ">=",
    "exclusiveMaximum": "<",
    "maximum": "<=",
}


def describe(schema: Mapping[str, Any]) -> str:
    """What a piece of JSON Schema allows; empty if it cannot be said briefly.

    Example:
        >>> describe({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
        'a number > 0 and < 1'
        >>> describe({"anyOf": [{"enum": ["sgd", "adam"]}, {"type": "null"}]})
        'sgd, adam or null'
    """
    if PLUGIN_MARK in schema:
        return "a mapping with a key 'name', or a bare name"
    words = [str(word) for word in choices(schema)]
    if "anyOf" in schema:
        said = [describe(o) for o in schema["anyOf"] if not choices(o)]
        options = list(dict.fromkeys(said))  # two kinds of mapping are said once
        words = [*words, *options] if all(options) else []
    elif not words:
        return _list(schema) if schema.get("type") == "array" else _scalar(schema)
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def choices(schema: Mapping[str, Any]) -> list[Any]:
    """The literal values that are allowed."""
    if "const" in schema:
        return [schema["const"]]
    inner = [choices(option) for option in schema.get("anyOf", ())]
    return [*schema.get("enum", ()), *(word for words in inner for word in words)]


def item_schema(schema: Mapping[str, Any], position: int) -> Mapping[str, Any]:
    """The schema of one item of a list."""
    for option in [schema, *schema.get("anyOf", ())]:
        if option.get("type") == "array":
            fixed = option.get("prefixItems", [])
            found: Mapping[str, Any] = (
                fixed[position] if position < len(fixed) else option.get("items", {})
            )
            return found
    return {}


def _list(schema: Mapping[str, Any]) -> str:
    fixed = schema.get("prefixItems", [])
    items = fixed[0] if fixed else schema.get("items", {})
    count = f"{len(fixed)} " if fixed else ""
    words = [str(word) for word in choices(items)]
    what = _PLURAL.get(items.get("type"), "values") if not words else f"of {', '.join(words)}"
    return f"a list of {count}{what}".replace("of of", "of")


def _scalar(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _PLAIN["object"]  # the only schemas that are referred to are those of sections
    said = _PLAIN.get(str(schema.get("type")), "")
    bounds = [f"{sign} {schema[word]}" for word, sign in _SIGNS.items() if word in schema]
    if "maxLength" in schema:
        bounds.append(f"of at most {schema['maxLength']} characters")
    if "pattern" in schema:
        bounds.append(f"of the form {schema['pattern']}")
    return f"{said} {' and '.join(bounds)}".strip() if said else ""
