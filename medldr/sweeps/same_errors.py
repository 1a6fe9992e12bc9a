"""Equal errors of many runs are told once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_NAMES: Final = 3
_ERRORS: Final = 5


def alike(errors: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by what went wrong with them, in the order in which each error first occurs.

    Args:
        errors: What went wrong, by name.

    Example:
        >>> alike({"a": "no data", "b": "boo", "c": "no data"})
        {'no data': ['a', 'c'], 'boo': ['b']}
    """
    groups: dict[str, list[str]] = {}
    for name, error in errors.items():
        groups.setdefault(error, []).append(name)
    return groups


def some_runs(names: Sequence[str]) -> str:
    """How many runs these are, and the first of them.

    Example:
        >>> some_runs(["a", "b", "c", "d", "e"])
        '5 runs: a, b, c and 2 more'
    """
    if len(names) == 1:
        return f"1 run: {names[0]}"
    more = len(names) - _NAMES
    first = ", ".join(names[:_NAMES])
    return f"{len(names)} runs: {first}" + (f" and {more} more" if more > 0 else "")


def error_lines(errors: Mapping[str, str]) -> list[str]:
    r"""A line for a run that failed alone; for others, their error and a line with their names.

    At most five errors are told.

    Args:
        errors: What went wrong, by run name.

    Example:
        >>> error_lines({"a": "no data", "b": "boo", "c": "no data"})
        ['no data', '  2 runs: a, c', 'b: boo']
    """
    groups = alike(errors)
    lines: list[str] = []
    for error, names in list(groups.items())[:_ERRORS]:
        alone = len(names) == 1
        lines += [f"{names[0]}: {error}"] if alone else [error, f"  {some_runs(names)}"]
    if len(groups) > _ERRORS:
        lines.append(f"and {len(groups) - _ERRORS} more (`medldr sweep status` tells them all)")
    return lines
