"""The items of a data set before any of them is opened: as text, and once they are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some
from medldr.data.files.scan import Source
from medldr.data.image_table import BadFile, ImageTable
from medldr.data.listing.places import Places
from medldr.errors import InputError

_LISTED: Final = 8


@dataclass(frozen=True)
class Rows:
    """What a table, an archive or a tree says of each item, as text and not yet understood.

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
        images: ``(N,)`` where each image is, by its column, of items that have several; `texts` and
            `places` are then those of the first image that is there.
        positions: ``(N,)`` where each row is (``line 3``); empty where the path says it.
        notes: What readers should know.
        faults: What is wrong with its cells, told with all else that is wrong.
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
    images: dict[str, list[str]] = field(default_factory=dict)
    positions: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

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
        text = self.texts[row]
        if not self.positions:
            return text
        return f"{self.positions[row]} ({text})" if text else self.positions[row]

    def missing(self, row: int) -> list[str]:
        """Columns whose image a row lacks, of those that name several."""
        return [name for name, cells in self.images.items() if not cells[row]]

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
            images=of_all(self.images),
            positions=of(self.positions),
        )


@dataclass(frozen=True)
class Listing:
    """Items row by row, checked and in one spelling.

    Attributes:
        root: The folder of their files.
        ids: ``(N,)`` text, unique.
        class_names: One name per class or per label.
        labels: ``(N,)`` int64, or ``(N, L)`` float32 with NaN for a missing one.
        domains: ``(N,)`` text; all empty where there are none.
        groups: ``(N,)`` text; empty for an item without one.
        splits: ``(N,)`` text; one of `SPLITS`, or all empty.
        sources: ``(N,)`` where each is; empty where all ids are paths below `root`.
        columns: Further columns ``(N,)`` of text by name; empty where a value is missing.
        notes: What readers should know; without names of files or of groups.
        skipped: Rows that are left out, and why.
        unused: Files beside those of the rows that no row refers to.
    """

    root: Path
    ids: NDArray[np.str_]
    class_names: tuple[str, ...]
    labels: NDArray[np.int64] | NDArray[np.float32]
    domains: NDArray[np.str_]
    groups: NDArray[np.str_]
    splits: NDArray[np.str_]
    sources: tuple[Source, ...] = ()
    columns: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skipped: tuple[BadFile, ...] = ()
    unused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def multi_label(self) -> bool:
        """Whether an item may have several labels."""
        return self.labels.ndim == 2

    def take(self, rows: NDArray[np.int64]) -> Listing:
        """Only these rows, in this order."""
        return replace(
            self,
            ids=self.ids[rows],
            sources=tuple(self.sources[row] for row in rows.tolist()) if self.sources else (),
            labels=self.labels[rows],
            domains=self.domains[rows],
            groups=self.groups[rows],
            splits=self.splits[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
        )

    def without(
        self,
        bad: Sequence[BadFile],
        where: str,
        *,
        skip: bool,
        what: str = "items",
        form: str = "{0.path}: {0.reason}",
    ) -> tuple[Listing, list[str]]:
        """The items but for those that cannot be used, and a note on these if there are any.

        Args:
            bad: Which ones, by their ids, and why.
            where: What the items come from, for messages.
            skip: Whether they may be left out (`data.on_bad_file`).
            what: What the items are called.
            form: How each is listed.

        Raises:
            InputError: If there are any and they may not, or there are no others.
        """
        if not bad:
            return self, []
        if not skip or len(bad) == len(self):
            lines = [form.format(file) for file in bad[:_LISTED]]
            if len(bad) > _LISTED:
                lines.append(f"and {len(bad) - _LISTED:,} more")
            cure = "Put intact files in their place, or change the keys that are named"
            if not skip:
                cure += ", or leave them out with data.on_bad_file=skip"
            listed = "\n  ".join(lines)
            raise InputError(
                f"{where}: {len(bad):,} of {len(self):,} {what} cannot be used:\n  {listed}\n{cure}"
            )
        out = {file.path for file in bad}
        kept = np.flatnonzero([name not in out for name in self.ids.tolist()])
        note = (
            f"{len(bad):,} of {len(self):,} {what} were left out because they cannot be used "
            "(data.on_bad_file=skip); this changes the seeded split of the others."
        )
        return self.take(kept), [note]

    def noting(self, *notes: str) -> Listing:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def table(self, **more: Any) -> ImageTable:
        """The table of these items.

        Args:
            more: What else a table holds: ``name``, ``task``, ``images`` and so on.
        """
        own = {
            "class_names": self.class_names,
            "labels": self.labels,
            "ids": self.ids,
            "domains": self.domains,
            "groups": self.groups,
            "splits": self.splits,
            "metadata": self.columns,
        }
        return ImageTable(**{**own, **more})


def texts(values: list[str]) -> NDArray[np.str_]:
    """A column of text."""
    return np.array(values, dtype=np.str_)
