"""What a table, an archive or a tree says of each item, as text, before any of it is understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from medldr.data.counting import some
from medldr.data.files.scan import Source
from medldr.data.listing.places import Places


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
        roles: ``(N,)`` texts by ``domain``, ``group``, ``split`` and ``id``, as far as there are.
        columns: ``(N,)`` texts of further columns, by name.
        select: Names of those further columns that say which part of a file is meant.
        positions: ``(N,)`` where each row is (``line 3``); empty where the path says it.
        notes: What readers should know.
    """

    where: str
    root: Path
    texts: list[str]
    places: Places
    labels: dict[str, list[str]]
    multi_label: bool = False
    roles: dict[str, list[str]] = field(default_factory=dict)
    columns: dict[str, list[str]] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    positions: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def names(self) -> list[str]:
        """``(N,)`` the id of each: of its column, or its path."""
        return self.roles.get("id", self.places.paths)

    @property
    def sources(self) -> tuple[Source, ...]:
        """``(N,)`` where each is; of rows that all have a file."""
        return tuple(source for source in self.places.sources if source is not None)

    def at(self, row: int) -> str:
        """Where a row is, and of which item it speaks."""
        return f"{self.positions[row]} ({self.texts[row]})" if self.positions else self.texts[row]

    def examples(self, rows: Sequence[int]) -> str:
        """Where some rows are, in words; the first few of many."""
        return some(map(self.at, rows), most=5)

    def take(self, kept: Sequence[int]) -> Rows:
        """Only these rows, in this order."""

        def of(texts: list[str]) -> list[str]:
            return [texts[row] for row in kept] if texts else []

        def of_all(columns: dict[str, list[str]]) -> dict[str, list[str]]:
            return {name: of(texts) for name, texts in columns.items()}

        sources = [self.places.sources[row] for row in kept]
        return replace(
            self,
            texts=of(self.texts),
            places=Places(sources, of(self.places.paths), {}, self.places.unused),
            labels=of_all(self.labels),
            roles=of_all(self.roles),
            columns=of_all(self.columns),
            positions=of(self.positions),
        )
