"""Reading a sweep folder: each file of each run once.

Nothing here is fatal to a report: what cannot be read is named and left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace

from medldr.config.method import row_titles
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.evaluation.checked import copies_under_another_seed
from medldr.evaluation.comparison.runs import run_of
from medldr.folders.choices_record import read_choices
from medldr.folders.privacy import hide_names, read_ids, read_split_ids
from medldr.folders.standing import recorded_standing
from medldr.folders.sweep_record import FOLD, Layout, Member, Sweep, SweepFolder, read_sweep
from medldr.metrics import METRICS
from medldr.reporting.read.loose_runs import Configs, OpenFolder, lay_out
from medldr.reporting.read.pooled_folds import fold_notes, pool_folds
from medldr.reporting.read.run import also_planned, read_run
from medldr.reporting.read.searched_settings import chosen_settings, fresh_name
from medldr.reporting.read.study import Entry, Pick, Study, one_configuration_a_row, printed_titles


def read_study(folder: SweepFolder) -> Study:
    """Read a sweep folder, or any folder of run folders.

    Raises:
        InputError: If it holds neither, or its `sweep.json` is damaged.
    """
    sweep, unreadable, folders = read_sweep(folder), list[str](), dict[str, OpenFolder]()
    planned = sweep is not None
    if sweep is None:
        sweep, unreadable, folders = lay_out(folder)
    members = one_configuration_a_row(sweep.members, planned=planned)
    if not members:
        raise InputError(f"{folder.sweep} names no runs. Start the sweep again to rewrite it")
    configs: Configs = {}
    entries = [
        _entry(folder, m, folders.get(m.run) or OpenFolder(folder.run(m.run), configs))
        for m in members
    ]
    records = {e.run.name: e.run.facts for e in entries if e.run is not None}
    for one, other in copies_under_another_seed(records).items():
        what = f"its weights or predictions are those of {other}, under another seed"
        entries = [
            Entry(e.member, "unreadable", what) if e.run and e.run.name == one else e
            for e in entries
        ]
    finished = [entry.config for entry in entries if entry.files is not None]
    explained = [replace(e, planned=also_planned(finished, e.planned)) for e in entries]
    pooled = pool_folds(folder, explained)
    ids = _ids(folder, entries) if any(entry.error for entry in pooled) else frozenset[str]()
    names = {name for m in members for name in (m.run, m.label, m.row_values.get(FOLD, ""))}
    names |= METRICS.keys() | {entry.member.run for entry in pooled}
    clean = [replace(e, said=e.error, error=hide_names(e.error, ids, names)) for e in pooled]
    if not sweep.layout.search:
        return _printed(sweep, clean, unreadable)
    choices = read_choices(folder) if sweep.layout.fresh_seeds else None
    shown = chosen_settings(clean, sweep.layout, choices)
    if choices and sweep.layout.as_published:
        sweep = replace(sweep, layout=_of_fresh_rows(sweep.layout, shown.entries[0].member.row))
    study = _printed(sweep, shown.entries, unreadable, shown.others, shown.picks)
    untested = frozenset(title for title, name in study.keys.items() if name in shown.untested)
    return replace(study, untested=untested, fresh=bool(choices))


def _of_fresh_rows(layout: Layout, first: str) -> Layout:
    """A layout that compares the rows of fresh seeds, not those of the seeds that chose."""
    return replace(
        layout,
        reference=fresh_name(layout.reference or first),
        controls=(*layout.controls, *map(fresh_name, layout.controls)),
        contrasts=tuple((fresh_name(a), fresh_name(b)) for a, b in layout.contrasts),
        verdict=layout.verdict and fresh_name(layout.verdict),
    )


def _entry(folder: SweepFolder, member: Member, opened: OpenFolder) -> Entry:
    """A run; without a result it has its planned configuration, which names held-out domains."""
    try:
        entry = _read(folder, member, opened)
    except (InputError, AttributeError, KeyError, TypeError, ValueError) as error:
        # A damaged folder must not cost the results of all the others.
        entry = Entry(member, "unreadable", f"{type(error).__name__}: {error}")
    if entry.files is not None:
        return entry
    with contextlib.suppress(InputError):
        if opened.config is not None:
            return replace(entry, planned=opened.config)
    plan = folder.config(member.run)
    with contextlib.suppress(InputError):
        return replace(entry, planned=read_yaml(plan).values) if plan.is_file() else entry
    return entry


def _read(folder: SweepFolder, member: Member, opened: OpenFolder) -> Entry:
    files, record = opened.files, opened.record
    if record is None or record.status != "done":
        standing = recorded_standing(folder, member.run, record)
        state = {"waiting": "not run", "launched": "running"}.get(standing.state, standing.state)
        recorded = "" if record is None else record.error or ""
        return Entry(member, state, standing.error if state == "failed" else recorded)
    absent = [f.name for f in (files.evaluation, files.predictions) if not f.is_file()]
    if absent:
        cure = f"run `medldr evaluate {files.path}`"
        return Entry(member, "no result", f"{' and '.join(absent)} missing; {cure}")
    read = read_run(files, record, opened.config, predictions=True)
    if read.evaluation is None or read.predictions is None:
        raise InputError(f"{files.path} lost files while it was being read. Write the report again")
    run = run_of(files, record, read.evaluation, read.predictions)
    return Entry(member, "done", run=run, files=replace(read, predictions=None))


def _ids(folder: SweepFolder, entries: Iterable[Entry]) -> frozenset[str]:
    """Every id and group name that any run of the sweep knows."""
    found: set[str] = set()
    for entry in entries:
        files = folder.run(entry.member.run)
        found |= read_ids(files.predictions) if entry.files is None else entry.files.ids
        found |= read_split_ids(files.splits)
    return frozenset(found)


def _printed(
    sweep: Sweep, entries: list[Entry], unreadable: list[str],
    others: Iterable[Entry] = (), picks: Iterable[Pick] = (),
) -> Study:  # fmt: skip
    """Put the printed titles in place of the names of rows and columns."""
    layout, others = sweep.layout, list(others)
    every = [*entries, *others]
    oracles = {e.member.row for e in entries if e.run is not None and e.run.oracle}
    titles = {**row_titles(), **layout.titles}
    by_row = {e.member.row: e.member.row_values.values() for e in every}
    rows = printed_titles(by_row, titles, oracles)
    by_column = {e.member.column: e.member.column_values.values() for e in every}
    columns = printed_titles(by_column, layout.titles, ())
    pairs = (name for pair in layout.contrasts for name in pair)
    spoken = [layout.reference, layout.verdict, *layout.controls, *pairs]
    notes = [f"{name} is left out: its files cannot be read." for name in unreadable]
    lost = [name for name in spoken if name is not None and name not in rows]
    notes += [f"The sweep file names a row {name!r} that matches no run." for name in lost]
    notes += fold_notes(every)
    shown = replace(
        layout,
        reference=rows.get(layout.reference or ""),
        controls=tuple(rows[name] for name in layout.controls if name in rows),
        contrasts=tuple((rows[a], rows[b]) for a, b in layout.contrasts if {a, b} <= rows.keys()),
        verdict=rows.get(layout.verdict or ""),
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
        unreadable=tuple(unreadable),
        others=tuple(placed(entry) for entry in others),
        picks=tuple(p._replace(row=rows[p.row], column=columns[p.column]) for p in picks),
    )
