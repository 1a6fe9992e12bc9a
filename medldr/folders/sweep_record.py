"""What a sweep consists of, as recorded in `sweep.json`, and the names of its files.

Launching writes it, status and reports read it: a folder alone is enough to make a table, whose
rows and columns are named by the values of the axes that make them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from medldr.folders.files import RunFolder
from medldr.folders.records import Name, read_sealed, write_sealed

SCHEMA: Final = 2
CURE: Final = "Start the sweep again to rewrite it; finished runs are kept"

RUN: Final = "run"
"""Used like an axis for the label of a run's entry."""
DATA: Final = "data"
"""Used like an axis if no axis makes the columns: they are the data sets then."""
DRAW: Final = "draw"
"""Used like an axis for the draws of a random search."""
JOINT: Final = ", "
"""Joins the values of a row or column that several axes make."""
FOLD: Final = "data.fold"
"""The axis of the folds of one manifest: runs that differ in it alone are parts of one result, and
are pooled unless it makes the columns of the table."""


@dataclass(frozen=True)
class Member:
    """One run of a sweep and its place in the table.

    Attributes:
        run: Name of its run folder.
        label: Its configuration's label, without hash and seed.
        seed: Its seed.
        row: Heading of its row, usually the method.
        column: Heading of its column, usually the data set.
        after: Names of runs of the same sweep that must be done before it starts.
        row_values: What makes its row: the name of its value on each axis, in order, by axis
            (``algorithm``, ``training.lr``); ``run`` means the label of its entry. If left out,
            the row is that of one entry.
        column_values: The same for its column; without an axis: ``data``, the data set.
        drawn: Where draws are settings: its values of the keys that are drawn, by dotted key.
    """

    run: Name
    label: str
    seed: int
    row: str
    column: str
    after: tuple[str, ...] = ()
    row_values: Mapping[str, str] = field(default_factory=dict, hash=False)
    column_values: Mapping[str, str] = field(default_factory=dict, hash=False)
    drawn: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.row and not self.row_values:
            object.__setattr__(self, "row_values", {RUN: self.row})
        if self.column and not self.column_values:
            object.__setattr__(self, "column_values", {DATA: self.column})


@dataclass(frozen=True)
class Layout:
    """How a report lays a sweep out.

    Attributes:
        title: Title of the report.
        rows: Heading of the row headings, such as ``algorithm``.
        columns: What the columns are, such as ``data``.
        reference: Row that the others are compared with; None: the first one.
        controls: Rows shown separately: they explain others and do not compete with them.
        contrasts: Further pairs of rows to compare, (one, other): one minus other.
        verdict: The row that the report's verdict is about; None: all that compete.
        metrics: Metrics that have a table; the first one is the main metric.
        titles: What to print in place of the name of a row or column.
        remark: Banner at the top of the report.
        search: Axes, among those of the rows, whose values are settings to choose from.
        search_per_seed: Whether every seed has settings of its own, under the same names.
        fresh_seeds: Seeds with which chosen settings are trained again, for the tables; none of
            them chose.
        as_published: Whether the search follows a published protocol, which reports the runs that
            chose: the table has them beside those of the fresh seeds.
    """

    title: str
    rows: str = "method"
    columns: str = "data"
    reference: str | None = None
    controls: tuple[str, ...] = ()
    contrasts: tuple[tuple[str, str], ...] = ()
    verdict: str | None = None
    metrics: tuple[str, ...] = ("accuracy", "auc")
    titles: dict[str, str] = field(default_factory=dict, hash=False)
    remark: str = ""
    search: tuple[str, ...] = ()
    search_per_seed: bool = False
    fresh_seeds: tuple[int, ...] = ()
    as_published: bool = False


@dataclass(frozen=True)
class Sweep:
    """A sweep as its folder records it.

    Attributes:
        name: Name of the sweep file, without its ending.
        layout: How a report lays it out.
        members: Every run, in the order in which they start.
        overrides: ``KEY=VALUE`` texts it was started with.
        following: Number of runs with fresh seeds that follow once settings are chosen; 0 once they
            are, for then they are members.
    """

    name: str
    layout: Layout
    members: tuple[Member, ...]
    overrides: tuple[str, ...] = ()
    following: int = 0

    @property
    def searching(self) -> Sweep:
        """The same without the runs of fresh seeds, which are known only after the choice."""
        members = (m for m in self.members if m.seed not in self.layout.fresh_seeds)
        return replace(self, members=tuple(members), following=0)


class SweepFolder:
    """Names of the files of one sweep; nothing here reads or writes.

    Example:
        >>> SweepFolder("runs/table").log("octmnist_erm-0a1b2c3d-s0").as_posix()
        'runs/table/logs/octmnist_erm-0a1b2c3d-s0.log'
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.sweep = self.path / "sweep.json"
        self.choices = self.path / "choices.json"
        self.configs = self.path / "configs"
        self.logs = self.path / "logs"
        self.processes = self.logs / "sweeps"
        self.report = self.path / "report.html"
        self.markdown = self.path / "report.md"
        self.csv = self.path / "report.csv"
        self.latex = self.path / "report.tex"
        self.latex_table = self.path / "table.tex"

    def run(self, name: str) -> RunFolder:
        """Folder of a member."""
        return RunFolder(self.path / name)

    def config(self, name: str) -> Path:
        """Resolved configuration that a member is started with."""
        return self.configs / f"{name}.yaml"

    def log(self, name: str) -> Path:
        """What a member printed."""
        return self.logs / f"{name}.log"

    def ending(self, name: str) -> Path:
        """How a member's last process ended, if its own folder does not say."""
        return self.logs / f"{name}.json"


def write_sweep(folder: SweepFolder, sweep: Sweep) -> None:
    """Write `sweep.json`, whole or not at all, with its own checksum."""
    write_sealed(folder.sweep, {"schema": SCHEMA, **asdict(sweep)})


def read_sweep(folder: SweepFolder) -> Sweep | None:
    """The sweep of a folder; None if it holds none.

    Raises:
        InputError: If `sweep.json` is damaged or has an unknown schema.
    """
    if not os.path.lexists(folder.sweep):
        return None
    return read_sealed(folder.sweep, Sweep, CURE, (SCHEMA,))


def joined(values: Mapping[str, str]) -> str:
    """Name of the row or column that these values make.

    Example:
        >>> joined({"algorithm": "erm", "training.lr": "lr-0.1"})
        'erm, lr-0.1'
    """
    return JOINT.join(values.values())


def without_fold(label: str, fold: str) -> str:
    """A label without the words that name its fold; the whole label where nothing else is in it.

    Args:
        label: For example ``erm_fold-0``.
        fold: Name of the axis value, for example ``fold-0``.

    Example:
        >>> without_fold("erm_fold-1_lr-0.1", "fold-1"), without_fold("fold-1", "fold-1")
        ('erm_lr-0.1', 'fold-1')
    """
    left = re.sub(rf"(^|_){re.escape(fold)}(?=_|$)", "", label, count=1).strip("_")
    return left or label
