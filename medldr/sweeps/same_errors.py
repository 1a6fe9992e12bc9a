"""An error that many runs share is reported once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_NAMES: Final = 3
_ERRORS: Final = 5


def group_same_errors(errors: Mapping[str, str]) -> dict[str, list[str]]:
    """Run names by error, in the order in which each error first occurs.

    Args:
        errors: The error of each run, by name.

    Example:
        >>> group_same_errors({"a": "no data", "b": "boo", "c": "no data"})
        {'no data': ['a', 'c'], 'boo': ['b']}
    """
    groups: dict[str, list[str]] = {}
    for name, error in errors.items():
        groups.setdefault(error, []).append(name)
    return groups


def some_runs(names: Sequence[str]) -> str:
    """The number of runs and the names of the first few.

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
    r"""One line for an error of a single run; for a shared error, a second line with the names.

    At most five errors are shown.

    Args:
        errors: The error of each run, by name.

    Example:
        >>> error_lines({"a": "no data", "b": "boo", "c": "no data"})
        ['no data', '  2 runs: a, c', 'b: boo']
    """
    groups = group_same_errors(errors)
    lines: list[str] = []
    for error, names in list(groups.items())[:_ERRORS]:
        alone = len(names) == 1
        lines += [f"{names[0]}: {error}"] if alone else [error, f"  {some_runs(names)}"]
    if len(groups) > _ERRORS:
        lines.append(f"and {len(groups) - _ERRORS} more (`medldr sweep status` lists them all)")
    return lines
