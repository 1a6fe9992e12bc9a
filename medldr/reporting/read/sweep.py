"""A sweep as a report needs it: what was planned, and what became of each run.

From here on rows and columns go by what is printed; `Study.keys` leads back to the names of the
sweep file. Nothing here is fatal to a report: what cannot be read is named and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.evaluation import Run, load_run
from medldr.folders.files import read_json
from medldr.folders.lifecycle import status
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, read_sweep
from medldr.reporting.read.loose_runs import guess_sweep
from medldr.reporting.read.method import row_titles
from medldr.reporting.read.privacy import hide_names, read_ids, read_split_ids
from medldr.reporting.read.run import RunSource, read_run
from medldr.reporting.read.titles import one_configuration_a_row, printed_titles
from medldr.reporting.results.searched_settings import Pick, chosen_settings

STOPPED = (130, 143, -2, -15)
"""Exit codes of a run that was asked to stop and can go on."""


@dataclass(frozen=True)
class Entry:
    """One run of a sweep.

    Attributes:
        member: What was planned; row and column are the printed ones.
        state: ``done``, ``failed``, ``running``, ``interrupted``, ``not run``, ``no result`` or
            ``unreadable``.
        error: Why, without names of files or patients.
        said: Why, word for word: for the terminal of whoever ran it, never for a page.
        run: Its predictions and what it is; None unless done.
        source: The other files of its folder; None unless done.
        planned: Its configuration where it is not done; empty where no file says it.
        setting: Which of the settings of its row it has, where one is chosen among several.
    """

    member: Member
    state: str
    error: str = ""
    said: str = ""
    run: Run | None = None
    source: RunSource | None = None
    planned: Mapping[str, Any] = field(default_factory=dict)
    setting: str = ""

    @property
    def config(self) -> Mapping[str, Any]:
        """What it ran with, or was to run with; empty where no file says it."""
        return self.planned if self.source is None else self.source.config


@dataclass(frozen=True)
class Study:
    """A whole sweep, read once.

    Attributes:
        name: Name of the sweep.
        layout: How it is laid out, by printed rows and columns.
        entries: Every run, in the order of the sweep.
        keys: Printed row to its name in the sweep file.
        column_keys: Printed column to its name in the sweep file.
        notes: What a reader must be told about the sweep as a whole.
        left_out: Folders that could not even be placed in the table.
        others: Runs of settings that were not chosen; `entries` are without them.
        picks: Which setting was chosen for each cell, by printed rows and columns.
    """

    name: str
    layout: Layout
    entries: tuple[Entry, ...]
    keys: Mapping[str, str]
    column_keys: Mapping[str, str]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    others: tuple[Entry, ...] = ()
    picks: tuple[Pick, ...] = ()

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

    def oracle(self, row: str) -> bool:
        """Whether any run of a row chose its weights by looking at the test split."""
        return any(entry.run is not None and entry.run.oracle for entry in self.of(row))

    def source(self, row: str, column: str | None = None) -> RunSource | None:
        """The files of a finished run of a row."""
        return next((e.source for e in self.of(row, column) if e.source is not None), None)


def read_study(folder: SweepFolder) -> Study:
    """Read a sweep folder, or any folder of run folders.

    Raises:
        InputError: If it holds neither, or its `sweep.json` is damaged.
    """
    sweep, left_out = read_sweep(folder), list[str]()
    # A planned run may have a configuration of its own for each seed: it starts from another run.
    identity = _label if sweep is not None else _identity
    if sweep is None:
        sweep, left_out = guess_sweep(folder)
    members = one_configuration_a_row(sweep.members, identity)
    if not members:
        raise InputError(f"{folder.sweep} names no run. Start the sweep again to write it anew")
    entries = [_with_plan(folder, _read(folder, member)) for member in members]
    ids = _ids(folder, entries)
    names = {name for member in members for name in (member.run, member.label)}
    clean = [replace(e, said=e.error, error=hide_names(e.error, ids, names)) for e in entries]
    if not sweep.layout.search:
        return _printed(sweep, clean, left_out)
    shown, others, picks = chosen_settings(clean, sweep.layout.search)
    return _printed(sweep, shown, left_out, others, picks)


def _read(folder: SweepFolder, member: Member) -> Entry:
    files = folder.run(member.run)
    try:
        said = status(files)
        code, error = _ending(folder, member.run)
        if said is None:
            return Entry(member, "failed" if code else "not run", error)
        if said == "interrupted" and code and code not in STOPPED:
            return Entry(member, "failed", error)
        if said != "done":
            recorded = read_json(files.run).get("error")
            return Entry(member, said, str(recorded or error))
        run = load_run(files)
        if not isinstance(run, Run):
            return Entry(member, "no result", run)
        return Entry(member, "done", run=run, source=read_run(files))
    except (InputError, AttributeError, KeyError, TypeError, ValueError) as error:
        # A damaged folder must not cost the results of all the others.
        return Entry(member, "unreadable", f"{type(error).__name__}: {error}")


def _with_plan(folder: SweepFolder, entry: Entry) -> Entry:
    """A run without a result with what it was to be: which domain it held out, above all."""
    if entry.source is not None:
        return entry
    for path in (folder.run(entry.member.run).config, folder.config(entry.member.run)):
        try:
            if path.is_file():
                return replace(entry, planned=read_yaml(path).values)
        except InputError:
            continue
    return entry


def _ending(folder: SweepFolder, name: str) -> tuple[int, str]:
    """How its last process ended, where that is known and was not overtaken by a later start."""
    path = folder.ending(name)
    if not path.is_file():
        return 0, ""
    record = read_json(path)
    facts = read_json(folder.run(name).run) if folder.run(name).run.is_file() else {}
    starts = (facts.get("times") or {}).get("starts", 0)
    if record.get("starts", starts) != starts:
        return 0, ""
    return int(record["code"]), str(record.get("error") or "")


def _ids(folder: SweepFolder, entries: Iterable[Entry]) -> frozenset[str]:
    """Every id and group name that any run of the sweep knows; read only if an error needs it."""
    if not any(entry.error for entry in entries):
        return frozenset()
    found: frozenset[str] = frozenset()
    for files in (folder.run(entry.member.run) for entry in entries):
        found |= read_ids(files.predictions) | read_split_ids(files.splits)
    return found


def _label(member: Member) -> str:
    return member.label


def _identity(member: Member) -> str:
    return member.run.rpartition("-s")[0]


def _printed(
    sweep: Sweep,
    entries: list[Entry],
    left_out: list[str],
    others: Iterable[Entry] = (),
    picks: Iterable[Pick] = (),
) -> Study:
    """Put the printed titles in place of the names of rows and columns."""
    layout, others = sweep.layout, list(others)
    every = [*entries, *others]
    oracles = {e.member.row for e in entries if e.run is not None and e.run.oracle}
    rows = printed_titles([e.member.row for e in every], {**row_titles(), **layout.titles}, oracles)
    columns = printed_titles([e.member.column for e in every], layout.titles, ())
    spoken = [layout.reference, *layout.controls, *(n for pair in layout.contrasts for n in pair)]
    notes = [f"{name} is left out: its files cannot be read." for name in left_out]
    notes += [
        f"The sweep file speaks of a row {name!r} that no run belongs to."
        for name in spoken
        if name is not None and name not in rows
    ]
    shown = replace(
        layout,
        reference=rows.get(layout.reference or ""),
        controls=tuple(rows[name] for name in layout.controls if name in rows),
        contrasts=tuple(
            (rows[one], rows[other])
            for one, other in layout.contrasts
            if one in rows and other in rows
        ),
    )

    def placed(entry: Entry) -> Entry:
        row, column = rows[entry.member.row], columns[entry.member.column]
        return replace(entry, member=replace(entry.member, row=row, column=column))

    return Study(
        name=sweep.name,
        layout=shown,
        entries=tuple(placed(entry) for entry in entries),
        keys={title: name for name, title in rows.items()},
        column_keys={title: name for name, title in columns.items()},
        notes=tuple(dict.fromkeys(notes)),
        left_out=tuple(left_out),
        others=tuple(placed(entry) for entry in others),
        picks=tuple(p._replace(row=rows[p.row], column=columns[p.column]) for p in picks),
    )
