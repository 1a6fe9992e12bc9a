"""What keeps items from being used, all of it in one message before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medldr.data.counting import counted, some
from medldr.datasets._table.places import ABSENT, foreign_front, near_name, near_root
from medldr.datasets._table.repeats import Contradiction, values
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError

_LISTED: Final = 10
_LISTED_LABELS: Final = 5


@dataclass(frozen=True)
class Faults:
    """Rows that cannot be used.

    Attributes:
        rows: The table.
        root: The folder of its files.
        absent: Why a row has no file, by its number.
        contradictions: Rows of one item that differ.
        unlabelled: Rows without a label.
        unused: Files without a row, which are only named beside other faults.
    """

    rows: Rows
    root: Path
    absent: dict[int, str]
    contradictions: Sequence[Contradiction]
    unlabelled: Sequence[int]
    unused: Sequence[str]

    def refuse(self, *, skip_absent: bool, skip_unlabelled: bool) -> None:
        """Raise if there is a fault that may not be skipped.

        Args:
            skip_absent: Whether rows without a file are left out.
            skip_unlabelled: Whether rows without a label are left out.

        Raises:
            InputError: Lists all faults by kind, with lines and cures.
        """
        parts = []
        if self.absent and (not skip_absent or len(self.absent) == len(self.rows)):
            parts.append(self._absent())
        if self.contradictions:
            parts.append(self._contradictions())
        if self.unlabelled and (not skip_unlabelled or len(self.unlabelled) == len(self.rows)):
            parts.append(self._unlabelled())
        if not parts:
            return
        if self.unused:
            listed = some(self.unused, _LISTED)
            parts.append(f"{counted(len(self.unused), 'file has', 'files have')} no row: {listed}")
        raise InputError("\n  ".join([f"{self.rows.where} cannot be used as it is:", *parts]))

    def _absent(self) -> str:
        absent = list(self.absent)
        listed = []
        for row in absent[:_LISTED]:
            why = self.absent[row]
            hint = near_name(self.root, self.rows.paths[row]) if why == ABSENT else ""
            listed.append(f"{self.rows.at(row)}: {why}{hint}")
        if len(absent) > _LISTED:
            listed.append(f"and {len(absent) - _LISTED:,} more")
        cure = "Correct the paths, or leave these rows out with data.on_bad_file=skip"
        if len(absent) == len(self.rows):
            cure = f"Paths are relative to data.root, here {self.root}"
            first = self.rows.paths[absent[0]]
            other, front = near_root(self.root, first), foreign_front(self.root, first)
            if other is not None:
                cure = f"They are found with data.root={other}"
            elif front is not None:
                cure += f"; take '{front}' away from the beginning of each, and they are found"
        what = counted(len(absent), "row has", "rows have")
        return "\n    ".join([f"{what} no file below {self.root}:", *listed, cure])

    def _contradictions(self) -> str:
        listed = []
        for found in self.contradictions[:_LISTED]:
            first, second = values(self.rows, found)
            listed.append(
                f"{self.rows.at(found.first)} has {found.column} {first!r}, "
                f"{self.rows.at(found.second)} {second!r}"
            )
        if len(self.contradictions) > _LISTED:
            listed.append(f"and {len(self.contradictions) - _LISTED:,} more")
        what = counted(
            len(self.contradictions), "row contradicts another", "rows contradict others"
        )
        return "\n    ".join([f"{what} of the same item:", *listed, "Keep one row of each item"])

    def _unlabelled(self) -> str:
        listed = self.rows.examples(self.unlabelled, _LISTED_LABELS)
        what = counted(len(self.unlabelled), "row has", "rows have")
        return (
            f"{what} no label: {listed}. Fill it in, or leave such rows out with "
            "data.on_missing_label=skip"
        )
