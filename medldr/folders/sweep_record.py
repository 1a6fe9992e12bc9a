"""What a sweep is made of, as `sweep.json` in its folder says it, and the names of its files.

Launching writes it, status and reports read it: a table can be made of a folder alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json, write_json

SCHEMA = 1


@dataclass(frozen=True)
class Member:
    """One run of a sweep and its place in the table.

    Attributes:
        run: Name of its run folder.
        label: Its configuration's label, without hash and seed.
        seed: Its seed.
        row: What stands at the left of its row, usually the method.
        column: What stands above its column, usually the data set.
        after: Names of runs of the same sweep that must be done before it starts.
    """

    run: str
    label: str
    seed: int
    row: str
    column: str
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    """How a report lays a sweep out.

    Attributes:
        title: Title of the report.
        rows: Heading of the row headings, such as ``algorithm``.
        columns: What the columns are, such as ``data``.
        reference: Row that the others are compared with; None: the first one.
        controls: Rows that are set apart: they explain others and do not compete with them.
        contrasts: Further pairs of rows to compare, (one, other): one minus other.
        metrics: Measures that have a table, the first one foremost.
        titles: What to print in place of the name of a row or column.
        remark: Banner at the top of the report.
        search: Positions, among the parts of a row's name, of the settings that one is chosen from.
    """

    title: str
    rows: str = "method"
    columns: str = "data"
    reference: str | None = None
    controls: tuple[str, ...] = ()
    contrasts: tuple[tuple[str, str], ...] = ()
    metrics: tuple[str, ...] = ("accuracy", "auc")
    titles: dict[str, str] = field(default_factory=dict)
    remark: str = ""
    search: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """A sweep as its folder records it.

    Attributes:
        name: Name of the sweep file, without its ending.
        layout: How a report lays it out.
        members: Every run, in the order in which they start.
        overrides: ``KEY=VALUE`` texts it was started with.
    """

    name: str
    layout: Layout
    members: tuple[Member, ...]
    overrides: tuple[str, ...] = ()


class SweepFolder:
    """Names of the files of one sweep; nothing here reads or writes.

    Example:
        >>> SweepFolder("runs/table").log("octmnist_erm-0a1b2c3d-s0").as_posix()
        'runs/table/logs/octmnist_erm-0a1b2c3d-s0.log'
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.sweep = self.path / "sweep.json"
        self.configs = self.path / "configs"
        self.logs = self.path / "logs"
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
        """How a member's last process ended, where its own folder cannot say so."""
        return self.logs / f"{name}.json"


def write_sweep(folder: SweepFolder, sweep: Sweep) -> None:
    """Write `sweep.json`, whole or not at all."""
    write_json(folder.sweep, {"schema": SCHEMA, **asdict(sweep)})


def read_sweep(folder: SweepFolder) -> Sweep | None:
    """The sweep of a folder; None where it holds none.

    Raises:
        InputError: If `sweep.json` is damaged or of another version.
    """
    if not folder.sweep.is_file():
        return None
    cure = "Start the sweep again to write it anew; finished runs are kept"
    try:
        content = read_json(folder.sweep)
    except InputError as error:
        raise InputError(f"{error}. {cure}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise InputError(f"{folder.sweep} is not a sweep of this version of medldr. {cure}")
    try:
        return Sweep(
            name=str(content["name"]),
            layout=_layout(content["layout"]),
            members=tuple(_member(entry) for entry in content["members"]),
            overrides=tuple(str(text) for text in content["overrides"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder.sweep} is damaged: {error!r}. {cure}") from error


def _layout(content: dict[str, Any]) -> Layout:
    pairs = tuple((str(one), str(other)) for one, other in content["contrasts"])
    lists = {key: tuple(content[key]) for key in ("controls", "metrics")}
    lists["search"] = tuple(int(place) for place in content.get("search", ()))
    return Layout(**{**content, **lists, "contrasts": pairs})


def _member(content: dict[str, Any]) -> Member:
    return Member(**{**content, "after": tuple(content["after"])})
