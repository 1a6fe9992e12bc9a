"""What a table, an archive or a tree says of each item, as text, before any of it is understood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from medldr.data.counting import some

LISTED: Final = 5
"""Examples in a message."""


@dataclass(frozen=True)
class Rows:
    """Items, row by row.

    Attributes:
        where: Key and name of what they come from, for messages.
        paths: ``(N,)`` where each is, as written.
        labels: ``(N,)`` texts by the name of their column; several columns are several labels.
        multi_label: Whether each column of `labels` is a label of its own.
        domains: ``(N,)`` texts; None where there are none.
        groups: ``(N,)`` texts; None where there are none.
        splits: ``(N,)`` texts; None where there are none.
        ids: ``(N,)`` texts; None where the path is the id.
        columns: ``(N,)`` texts of further columns, by name.
        select: Names of those further columns that say which part of a file is meant.
        positions: ``(N,)`` where each row is (``line 3``); empty where the path says it.
        notes: What readers should know.
    """

    where: str
    paths: list[str]
    labels: dict[str, list[str]]
    multi_label: bool = False
    domains: list[str] | None = None
    groups: list[str] | None = None
    splits: list[str] | None = None
    ids: list[str] | None = None
    columns: dict[str, list[str]] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    positions: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def at(self, row: int) -> str:
        """Where a row is, and of which item it speaks."""
        if not self.positions:
            return self.paths[row]
        return f"{self.positions[row]} ({self.paths[row]})"

    def examples(self, rows: Sequence[int], most: int = LISTED) -> str:
        """Where some rows are, in words; the first few of many.

        Example:
            >>> Rows("", ["a", "b", "c"], {}).examples([0, 1, 2], most=2)
            'a, b and 1 more'
        """
        return some(map(self.at, rows), most)

    def take(self, kept: Sequence[int]) -> Rows:
        """Only these rows, in this order."""
        return replace(
            self,
            paths=chosen(self.paths, kept),
            labels={name: chosen(texts, kept) for name, texts in self.labels.items()},
            domains=None if self.domains is None else chosen(self.domains, kept),
            groups=None if self.groups is None else chosen(self.groups, kept),
            splits=None if self.splits is None else chosen(self.splits, kept),
            ids=None if self.ids is None else chosen(self.ids, kept),
            columns={name: chosen(texts, kept) for name, texts in self.columns.items()},
            positions=chosen(self.positions, kept) if self.positions else [],
        )


def chosen(texts: Sequence[str], rows: Iterable[int]) -> list[str]:
    """Those of some rows."""
    return [texts[row] for row in rows]
