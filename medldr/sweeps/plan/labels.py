"""Names of the values of an axis in labels and tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from medldr.config import PLUGIN_SECTIONS

ALLOWED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
"""A valid name; any of them may begin a label."""
LONGEST: Final = 200
"""Maximum length of a label; hash and seed follow it in the name of a folder."""


def last_word(key: str) -> str:
    """The last word of a dotted key.

    Example:
        >>> last_word("training.batch_size")
        'batch_size'
    """
    return key.rsplit(".", 1)[-1]


def value_name(key: str, value: Any) -> str:
    """Name of an axis value that was not given one.

    Args:
        key: The axis, a key of a run.
        value: A text, number, boolean, None or a list of these. A section's bare word stays as
            it is; all others are prefixed with the last word of the key. Numbers stay as written.

    Raises:
        ValueError: If the value is too complex to be its own name.

    Example:
        >>> value_name("algorithm", "latentdr_pool"), value_name("training.batch_size", 12)
        ('latentdr_pool', 'batch_size-12')
        >>> value_name("training.milestones", [50, 75]), value_name("training.clip_norm", None)
        ('milestones-50-75', 'clip_norm-null')
    """
    if isinstance(value, str) and key in PLUGIN_SECTIONS and ALLOWED.fullmatch(value):
        return value
    items = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(item, (dict, list, tuple)) for item in items):
        raise ValueError(
            "a mapping or a list of lists has no name; write the axis as a mapping, NAME: value"
        )
    text = "-".join(_written(item) for item in items) or "empty"
    return f"{last_word(key)}-{text}"


def named_values(key: str, written: Any) -> dict[str, Any]:
    """Values of an axis by name.

    Args:
        key: The axis, a key of a run.
        written: A list of values, a mapping of names to values, or one value alone.

    Raises:
        ValueError: If there is no value, two have the same name, or a name cannot be in a label.

    Example:
        >>> named_values("seedless", [1, 2])
        {'seedless-1': 1, 'seedless-2': 2}
        >>> named_values("training", {"short": {"epochs": 1}})
        {'short': {'epochs': 1}}
    """
    if isinstance(written, Mapping):
        for name in written:
            if not ALLOWED.fullmatch(str(name)):
                raise ValueError(
                    f"{name!r} cannot be part of a label: it should begin with a letter or a "
                    "digit; letters, digits and _ . + - may follow"
                )
        found = {str(name): value for name, value in written.items()}
    else:
        found = {}
        several = isinstance(written, (list, tuple))
        for value in written if several else [] if written is None else [written]:
            name = value_name(key, value)
            if name in found:
                raise ValueError(f"two values have the same name {name!r}")
            found[name] = value
    if not found:
        raise ValueError("has no value")
    return found


def _written(item: Any) -> str:
    words = {True: "true", False: "false", None: "null"}
    plain = words[item] if item is None or isinstance(item, bool) else str(item)
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", plain).strip("-") if isinstance(item, str) else plain
