"""A sweep as a report needs it: what was planned, and what became of each run.

Rows and columns have their printed names; `Study.keys` maps them to those of the sweep file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from medldr.evaluation import Run
from medldr.folders.choices_record import SettingChoice
from medldr.folders.metrics_log import LogRow
from medldr.folders.sweep_record import JOINT, Layout, Member
from medldr.reporting.read.run import RunFiles

Setting: TypeAlias = tuple[str, ...]
"""The names of its values, one for each axis that is searched."""


ORACLE_MARK = " (oracle)"
"""Behind the printed name of a row whose weights were chosen on the test split."""
STATES = ("failed", "unreadable", "no result", "interrupted", "running", "not run")
"""Why a run has no result, the worst first."""


class Pick(NamedTuple):
    """The setting that the main tables show of a row in a column.

    Attributes:
        row: The method.
        column: The column.
        setting: Its values.
        settings: How many there were.
        by: What chose it; empty where no run had logged anything to choose by.
        incomplete: Settings that lack a result and were no candidates.
        seed: The seed that it is for, or that drew it, where each has settings of its own.
        choice: What it was chosen from.
    """

    row: str
    column: str
    setting: Setting
    settings: int
    by: str
    incomplete: tuple[Setting, ...]
    seed: int | None
    choice: SettingChoice


@dataclass(frozen=True)
class Entry:
    """One run of a sweep.

    Attributes:
        member: What was planned; row and column are the printed ones.
        state: ``done``, ``failed``, ``running``, ``interrupted``, ``not run``, ``no result`` or
            ``unreadable``.
        error: Why, without names of files or patients.
        said: Why, word for word, for the terminal of the user, never for a page.
        run: Its predictions and what it is; None unless done.
        files: The rest of its folder; None unless done.
        planned: Its configuration where it is not done; empty where no file says it.
        setting: Which of the settings of its row it has, where one is chosen among several.
        folds: Where it stands for several folds, each of them by its name, without predictions.
    """

    member: Member
    state: str
    error: str = ""
    said: str = ""
    run: Run | None = None
    files: RunFiles | None = None
    planned: Mapping[str, Any] = field(default_factory=dict)
    setting: Setting = ()
    folds: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def logs(self) -> list[tuple[LogRow, ...]]:
        """What was logged while it trained: one log, or one of each fold; empty unless done."""
        if self.files is None:
            return []
        each = (fold.files for fold in self.folds.values())
        return [files.log for files in each if files is not None] or [self.files.log]

    @property
    def config(self) -> Mapping[str, Any]:
        """What it ran with, or was to run with; empty where no file says it."""
        return self.planned if self.files is None else self.files.config


@dataclass(frozen=True, eq=False)  # compared by identity: numbers are kept by study
class Study:
    """A whole sweep, read once.

    Attributes:
        name: Name of the sweep.
        layout: How it is laid out, by printed rows and columns.
        entries: Every run, in the order of the sweep.
        keys: Printed row to its name in the sweep file.
        column_keys: Printed column to its name in the sweep file.
        notes: What readers should know about the sweep as a whole.
        unreadable: Folders that could not even be placed in the table.
        others: Runs of settings that were not chosen; `entries` are without them.
        picks: Which setting was chosen for each cell, by printed rows and columns.
        untested: Rows whose runs chose their own setting among several: no difference from or to
            them has a p, because such means favour methods with more settings.
        fresh: Whether rows hold runs of fresh seeds, which chose nothing.
    """

    name: str
    layout: Layout
    entries: tuple[Entry, ...]
    keys: Mapping[str, str]
    column_keys: Mapping[str, str]
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    others: tuple[Entry, ...] = ()
    picks: tuple[Pick, ...] = ()
    untested: frozenset[str] = frozenset()
    fresh: bool = False

    @property
    def every(self) -> tuple[Entry, ...]:
        """Every run, also of settings that no table shows."""
        return (*self.entries, *self.others)

    @property
    def rows(self) -> list[str]:
        """Rows from top to bottom, controls last."""
        found = list(dict.fromkeys(entry.member.row for entry in self.entries))
        return sorted(found, key=lambda row: row in self.layout.controls)

    @property
    def columns(self) -> list[str]:
        """Columns from left to right."""
        return list(dict.fromkeys(entry.member.column for entry in self.entries))

    @property
    def reference(self) -> str:
        """The row that the others are compared with."""
        return self.layout.reference or self.rows[0]

    def of(self, row: str | None = None, column: str | None = None) -> list[Entry]:
        """The runs of a row, a column, or a cell."""
        return [
            entry for entry in self.entries
            if row in (None, entry.member.row) and column in (None, entry.member.column)
        ]  # fmt: skip

    def drawn(self, row: str) -> set[str]:
        """Keys of a row that a random search drew, of whose values validation chose."""
        return {key for entry in self.of(row) for key in entry.member.drawn}

    def settings(self, row: str) -> int:
        """Among how many settings that of a row was chosen; 1 where nothing was searched."""
        return max((pick.settings for pick in self.picks if pick.row == row), default=1)

    def oracle(self, row: str) -> bool:
        """Whether any run of a row chose its weights by looking at the test split."""
        return any(entry.run is not None and entry.run.oracle for entry in self.of(row))

    def files(self, row: str, column: str | None = None) -> RunFiles | None:
        """The files of a finished run of a row."""
        return next((e.files for e in self.of(row, column) if e.files is not None), None)


def titled(values: Iterable[str], titles: Mapping[str, str]) -> str:
    """Several values as they are printed, each by its title if it has one.

    Example:
        >>> titled(["erm", "lr-0.1"], {"erm": "ERM"})
        'ERM, lr-0.1'
    """
    return JOINT.join(titles.get(value, value) for value in values)


def printed_titles(
    names: Mapping[str, Iterable[str]], known: Mapping[str, str], oracles: Iterable[str]
) -> dict[str, str]:
    """What is printed for each name; a title that two would share gets the name behind it.

    Args:
        names: Names of rows or columns, each with the values that make it.
        known: Titles of names and values.
        oracles: Names that are marked as chosen by looking at the test split.
    """
    titles = {n: known[n] if n in known else titled(values, known) for n, values in names.items()}
    shared = [title for title, count in Counter(titles.values()).items() if count > 1]
    marked = set(oracles)
    return {
        name: (f"{title} [{name}]" if title in shared else title)
        + (ORACLE_MARK if name in marked else "")
        for name, title in titles.items()
    }


def one_configuration_a_row(members: Sequence[Member], *, planned: bool) -> list[Member]:
    """Give configurations that share a cell a row each, for they are different methods.

    Args:
        members: The runs.
        planned: Whether a sweep file names them. Runs of one label are one method then, though
            configurations may differ between seeds that start from different runs.
    """

    def identity(member: Member) -> str:
        return member.label if planned else member.run.rpartition("-s")[0]

    cells: dict[tuple[str, str], dict[str, str]] = {}
    for member in members:
        cells.setdefault((member.row, member.column), {})[identity(member)] = member.label
    split = {row for (row, _), found in cells.items() if len(found) > 1}

    def own(member: Member) -> Member:
        if member.row not in split:
            return member
        labels = list(cells[member.row, member.column].values())
        name = member.label if labels.count(member.label) == 1 else identity(member)
        *_, last = member.row_values
        values = {**member.row_values, last: f"{member.row_values[last]} ({name})"}
        return replace(member, row=f"{member.row} ({name})", row_values=values)

    return [own(member) for member in members]
