"""The group (patient) of each row: from a column, a folder, or the path by a pattern."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from medldr.datasets._table.names import join_groups
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError

Scope = Literal["all", "domain"]


def read_groups(
    rows: Rows, paths: Sequence[str], domains: Sequence[str], pattern: str | None, scope: Scope
) -> tuple[list[str], tuple[str, ...]]:
    """The group of each row; all empty where there are none.

    Args:
        rows: The items.
        paths: ``(N,)`` path of each below the data set's folder, in which `pattern` is searched.
        domains: ``(N,)`` their domains.
        pattern: A regular expression; its first group names the patient.
        scope: ``domain`` where equal names in two domains are two patients.

    Returns:
        The groups, and notes.

    Raises:
        InputError: If a path does not match, or groups are named in two ways.
    """
    names = rows.groups
    if pattern is not None:
        if names is not None:
            raise InputError(
                "data.group_pattern finds the group in the path, but a column or folder names it "
                "already. Remove one of them"
            )
        names = _by_pattern(rows, paths, pattern)
    if names is None:
        return [""] * len(rows), ()
    joined, notes = join_groups(names)
    lacking = joined.count("")
    if lacking and any(joined):
        notes += (
            f"{lacking:,} of {len(rows):,} rows have no group: each counts as a group of its own",
        )
    if scope == "domain":
        joined = [
            f"{domain}/{name}" if name else "" for domain, name in zip(domains, joined, strict=True)
        ]
    return joined, notes


def _by_pattern(rows: Rows, paths: Sequence[str], pattern: str) -> list[str]:
    search = re.compile(pattern).search
    names = [found.group(1) or "" if (found := search(path)) else "" for path in paths]
    unnamed = [row for row, name in enumerate(names) if not name]
    if unnamed:
        raise InputError(
            f"{rows.where}: data.group_pattern {pattern!r} finds no group in {len(unnamed):,} of "
            f"{len(rows):,} paths: {rows.examples(unnamed)}. Correct the pattern, or name the "
            "column of patients in data.group"
        )
    return names
