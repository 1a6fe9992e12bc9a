"""What was found and decided about one key, which becomes a line of the file and its comment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """A key of the file.

    Attributes:
        key: Within its section, such as ``label``; empty for a remark without a key.
        value: Its value; a `Path` is written relative to the file.
        why: What was found, in sentences. Without names of files or of patients.
        used: Whether the key is set; else it is a commented line that readers may uncomment.
    """

    key: str
    value: Any
    why: str
    used: bool = True


def remark(why: str) -> Finding:
    """A comment that goes with no key."""
    return Finding("", None, why, used=False)


def settings(findings: Iterable[Finding]) -> dict[str, Any]:
    """The keys that are set.

    Example:
        >>> settings([Finding("size", 64, ""), Finding("window", "ct", "", used=False)])
        {'size': 64}
    """
    return {one.key: one.value for one in findings if one.used}
