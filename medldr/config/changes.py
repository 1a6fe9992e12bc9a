"""Changes to a configuration: texts as on the command line, or a dictionary of Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias

from medldr.config.yaml import parse_value
from medldr.errors import InputError

Changes: TypeAlias = str | Sequence[str] | Mapping[str, Any]
"""``KEY=VALUE`` texts, or values by their dotted keys: ``{"training.epochs": 2}``."""


def change_texts(changes: Changes) -> list[str]:
    """Changes as ``KEY=VALUE`` texts; what is read from them has the type that it had in Python.

    Raises:
        InputError: If a value is none that a configuration can hold.

    Example:
        >>> change_texts({"training.epochs": 2, "algorithm": "latentdr_pool", "label": "1e3"})
        ['training.epochs=2', 'algorithm=latentdr_pool', 'label="1e3"']
    """
    if isinstance(changes, str):
        return [changes]
    if isinstance(changes, Mapping):
        return [f"{key}={_text(key, value)}" for key, value in changes.items()]
    return list(changes)


def _text(key: str, value: Any) -> str:
    """A value as YAML; a word that YAML reads as itself stays bare, like the name of a part."""
    if isinstance(value, str | PurePath) and _is_bare(str(value)):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"{key} = {value!r}: no configuration can hold this ({error})") from error


def _is_bare(text: str) -> bool:
    try:
        return bool(parse_value(text, "") == text)
    except InputError:  # it has signs that mean something in YAML
        return False


def _plain(value: Any) -> Any:
    """What JSON does not know: paths, and the numbers and arrays of NumPy and torch."""
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither a text, a number, a list nor a mapping")
