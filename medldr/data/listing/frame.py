"""All that is known of the items of a data set before any of them is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.scan import Source
from medldr.data.image_table import BadFile, ImageTable
from medldr.errors import InputError

_LISTED: Final = 10


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
