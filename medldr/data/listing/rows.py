"""What a table, an archive or a tree says of each item, as text, before any of it is understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from medldr.data.counting import some
from medldr.data.files.scan import Source
from medldr.data.listing.places import Places

LISTED: Final = 5
"""Examples in a message."""


@dataclass(frozen=True)
class Rows:
    """Items, row by row.

    Attributes:
        where: Key and name of what they come from, for messages.
        root: The folder of their files.
        texts: ``(N,)`` where each is, as written.
        places: The files that are meant, and those that are absent or that no row names.
        labels: ``(N,)`` texts by the name of their column; several columns are several labels.
        multi_label: Whether each column of `labels` is a label of its own.
        domains: ``(N,)`` texts; None where there are none.
        groups: ``(N,)`` texts; None where there are none.
        splits: ``(N,)`` texts; None where there are none.
        ids: ``(N,)`` texts; None where the path is the id.
        columns: ``(N,)`` texts of further columns, by name.
        select: Names of those further columns that say which part of a file is meant.
        positions: ``(N,)`` where each row is (``line 3``); None where the path says it.
        notes: What readers should know.
    """

    where: str
    root: Path
    texts: list[str]
    places: Places
    labels: dict[str, list[str]]
    multi_label: bool = False
    domains: list[str] | None = None
    groups: list[str] | None = None
    splits: list[str] | None = None
    ids: list[str] | None = None
    columns: dict[str, list[str]] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    positions: list[str] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def names(self) -> list[str]:
        """``(N,)`` the id of each: of its column, or its path."""
        return self.places.paths if self.ids is None else self.ids

    @property
    def sources(self) -> tuple[Source, ...]:
        """``(N,)`` where each is; of rows that all have a file."""
        return tuple(source for source in self.places.sources if source is not None)

    def at(self, row: int) -> str:
        """Where a row is, and of which item it speaks."""
        if self.positions is None:
            return self.texts[row]
        return f"{self.positions[row]} ({self.texts[row]})"

    def examples(self, rows: Sequence[int], most: int = LISTED) -> str:
        """Where some rows are, in words; the first few of many."""
        return some(map(self.at, rows), most)

    def take(self, kept: Sequence[int]) -> Rows:
        """Only these rows, in this order."""

        def of(texts: list[str]) -> list[str]:
            return [texts[row] for row in kept]

        def if_any(texts: list[str] | None) -> list[str] | None:
            return None if texts is None else of(texts)

        places = self.places
        return replace(
            self,
            texts=of(self.texts),
            places=Places(
                [places.sources[row] for row in kept], of(places.paths), {}, places.unused
            ),
            labels={name: of(texts) for name, texts in self.labels.items()},
            domains=if_any(self.domains),
            groups=if_any(self.groups),
            splits=if_any(self.splits),
            ids=if_any(self.ids),
            columns={name: of(texts) for name, texts in self.columns.items()},
            positions=if_any(self.positions),
        )
