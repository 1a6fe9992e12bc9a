"""Starting a sweep: everything is checked, then its folder is prepared, then the runs start."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medldr.config import RunConfig, dump_config
from medldr.config.changes import Changes
from medldr.errors import InputError
from medldr.folders.choices_record import Choices
from medldr.folders.files import RunFolder, write_text
from medldr.folders.run_record import read_run_record
from medldr.folders.sweep_record import Sweep, SweepFolder, write_sweep
from medldr.plugins import allowed
from medldr.sweeps.choose import choose_settings, known_choices, stale_runs, unsettled
from medldr.sweeps.launchers.base import Job, Launcher
from medldr.sweeps.plan.expand import Planned, as_record, expand, select
from medldr.sweeps.plan.file import SweepFile, load_sweep
from medldr.sweeps.plan.search import search_notes
from medldr.sweeps.progress import Outcome, SweepProgress
from medldr.sweeps.scheduler import Scheduler, StopWatch, SweepStopped
from medldr.sweeps.shared_folder import at_work, left_behind, note_plan, refuse_others
from medldr.sweeps.show import count_runs, some_runs

if TYPE_CHECKING:
    from pandas import DataFrame

    from medldr.reporting.table import Table


@dataclass(frozen=True)
class Plan:
    """A sweep that was expanded and checked; nothing has been written to its folder yet.

    Attributes:
        folder: Its folder.
        record: The content of `sweep.json`.
        planned: All members.
        chosen: The members to start.
        file: The sweep file.
        only: Start only the members that match this pattern.
        notes: Notes for the user.
        choose_again: Whether to choose settings anew.
    """

    folder: SweepFolder
    record: Sweep
    planned: tuple[Planned, ...]
    chosen: tuple[Planned, ...]
    file: SweepFile
    only: str | None = None
    notes: tuple[str, ...] = ()
    choose_again: bool = False


@dataclass(frozen=True, repr=False)
class SweepResult:
    """The outcome of a sweep.

    Attributes:
        folder: Its folder.
        done: Names of the runs that are done.
        failed: Error of each run that failed, by name.
        left_out: Why the others were not finished, by name.
        tables: Its numbers, as they are printed; none before its report is written.
    """

    folder: Path
    done: tuple[str, ...]
    failed: Mapping[str, str]
    left_out: Mapping[str, str]
    tables: tuple[Table, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        from medldr.reporting.table import CHANCE

        first = self.tables[0].rows if self.tables else []
        rows = sum(row.style != CHANCE for row in first)
        counts = {"failed": len(self.failed), "left out": len(self.left_out), "rows": rows}
        facts = [f"{number} {word}" for word, number in counts.items() if number]
        done = f"{count_runs(len(self.done))} done"
        return f"SweepResult({', '.join([str(self.folder), done, *facts])})"

    def _repr_html_(self) -> str | None:
        """Its numbers as tables; None, which shows `repr`, before its report is written."""
        from medldr.reporting.writers.html import html_notebook

        return html_notebook(repr(self), self.tables) if self.tables else None

    def to_frame(self) -> DataFrame:
        """Every number of its finished runs, a row each; see `medldr.results`."""
        from medldr.evaluation.score_table import results  # scipy: once there are numbers

        return results(self.folder)

    @property
    def complete(self) -> bool:
        """Whether nothing failed and nothing was left out."""
        return not (self.failed or self.left_out)


def make_plan(
    source: str | Path | Mapping[str, Any],
    overrides: Changes = (),
    out: Path | str | None = None,
    only: str | None = None,
    *,
    choose_again: bool = False,
) -> Plan:
    """Expand a sweep file and check all its members.

    Args:
        source: A packaged name, a YAML file, or a mapping with its content.
        overrides: ``KEY=VALUE`` texts, or values by key.
        out: Folder of the sweep; unset: ``runs/<name of the sweep>``.
        only: Start only the members that match this pattern.
        choose_again: Choose the settings that fresh seeds are trained with anew.

    Raises:
        InputError: If the file or a member is invalid, or the folder holds something else.
    """
    sweep = load_sweep(source, overrides)
    where = Path(out).expanduser() if out is not None else Path("runs") / sweep.name
    plan = _planned(sweep, SweepFolder(where), only)
    folder, record = plan.folder, plan.record
    check_machines(plan.planned)
    refuse_others(folder, record)
    searching = record.searching.members
    notes = [*sweep.notes, *search_notes(sweep.search, searching, sweep.source)]
    notes += filter(None, [left_behind(folder, record)])
    if choose_again and not sweep.fresh_seeds:
        raise InputError(f"--choose-again: {sweep.source} has no search.fresh_seeds. Leave it out")
    if sweep.fresh_seeds and not choose_again:
        choices = known_choices(folder, plan.planned, record.layout)
        plan = _planned(sweep, folder, only, choices) if choices else plan
    return replace(plan, notes=tuple(notes), choose_again=choose_again)


def _planned(sweep: SweepFile, folder: SweepFolder, only: str | None, made: Choices = ()) -> Plan:
    planned = tuple(expand(sweep, folder.path, made))
    record = as_record(sweep, planned, chosen=bool(made))
    chosen = planned if only is None else tuple(select(planned, only))
    return Plan(folder, record, planned, chosen, sweep, only)


def write_plan(plan: Plan) -> None:
    """Write `sweep.json`, and each member's configuration unless it is already there."""
    for entry in plan.planned:
        path, text = plan.folder.config(entry.member.run), dump_config(entry.config)
        if not (path.is_file() and path.read_bytes() == text.encode()):
            write_text(path, text)
    write_sweep(plan.folder, plan.record)


def run_plan(
    plan: Plan,
    launcher: Launcher,
    *,
    retry_failed: bool = False,
    progress: SweepProgress | None = None,
) -> SweepResult:
    """Start what is missing of a sweep and wait for it.

    Args:
        plan: From `make_plan`.
        launcher: How processes are started.
        retry_failed: Retry members that failed before.
        progress: Where progress is shown; unset: standard error.

    Raises:
        InputError: If its folder cannot be written, or another plan is at work there.
        SweepStopped: After a signal that asks to end, with every run's state saved.
    """
    refuse_others(plan.folder, plan.record)
    shown = progress or SweepProgress(len(plan.chosen))
    with at_work(plan.folder) as mine, shown, StopWatch().watching() as watch:
        note_plan(mine, plan.record)
        refuse_others(plan.folder, plan.record, mine)  # one that has started in the meantime
        write_plan(plan)
        for note in (*plan.notes, *filter(None, [launcher.note])):
            shown.note(note)
        following: Plan | None = plan
        try:
            while following is not None:
                plan = following
                configs = {entry.member.run: entry.config for entry in plan.chosen}
                scheduler = Scheduler(
                    plan.folder,
                    [entry.member for entry in plan.chosen],
                    functools.partial(_job, plan.folder, configs, cores=launcher.cores),
                    launcher,
                    shown,
                    mine,
                    retry_failed=retry_failed,
                    watch=watch,
                )
                outcome: Outcome = scheduler.run()
                if watch.received:
                    raise SweepStopped(watch.received, len(outcome.done), scheduler.interrupted)
                following, retry_failed = _following(plan, shown), False
        finally:
            launcher.close()
    order = [name for name in configs if name in set(outcome.done)]
    return SweepResult(plan.folder.path, tuple(order), outcome.failed, outcome.left_out)


def _following(plan: Plan, shown: SweepProgress) -> Plan | None:
    """The plan with the runs of fresh seeds, written; None where there are none, or not yet."""
    if not plan.record.following:
        return None
    waiting = unsettled(plan.folder, plan.record.members)
    if waiting:
        shown.note(f"settings are chosen once every draw is done or failed; {some_runs(waiting)}")
        return None
    about = plan.folder, plan.planned, plan.record.layout
    known = () if plan.choose_again else known_choices(*about)  # by another sweep process
    whole = _planned(plan.file, plan.folder, plan.only, known or choose_settings(*about))
    write_plan(whole)
    if plan.choose_again and (stale := stale_runs(plan.folder, whole.planned)):
        shown.note(f"stale, and in no table, because other settings count now; {some_runs(stale)}")
    more = len(whole.planned) - len(plan.planned)
    seeds = ", ".join(map(str, plan.file.fresh_seeds))
    shown.note(f"settings chosen; {count_runs(more)} with fresh seeds ({seeds}) follow")
    return whole


def check_machines(planned: Sequence[Planned]) -> None:
    """Refuse members that a sweep cannot start.

    Raises:
        InputError: Naming the member.
    """
    for entry in planned:
        if entry.config.machine.nodes > 1:
            raise InputError(
                f"machine.nodes in {entry.member.label}: a sweep starts each run on a single node. "
                "Train this one with `medldr train`, with the sweep's folder as --out"
            )


def _job(folder: SweepFolder, configs: Mapping[str, RunConfig], name: str, cores: int) -> Job:
    """The process of a member, as it would be started now."""
    config = configs[name]
    machine = config.machine
    threads = threads_of(config, folder.run(name), cores)
    folder = SweepFolder(folder.path.absolute())
    words = ["train", str(folder.config(name)), f"machine.threads={threads}"]
    words += [f"--plugins={package}" for package in allowed()]  # a cluster may drop the environment
    return Job(
        name=name,
        command=(sys.executable, "-m", "medldr.cli", *words, "--out", str(folder.path)),
        log=folder.log(name),
        devices=0 if machine.device in ("cpu", "mps") else machine.devices,
        cores=(threads + machine.workers) * machine.devices,
        processes=machine.devices,
    )


def threads_of(config: RunConfig, run: RunFolder, cores: int) -> int:
    """CPU threads of each process of a run.

    The number in its configuration comes first. A resumed run keeps the number that its state was
    made with, because another one would change its results. Otherwise its processes share the cores
    of the job.

    Args:
        config: The run.
        run: Its folder.
        cores: Cores of the job.
    """
    if config.machine.threads is not None:
        return config.machine.threads
    if run.has_state:
        recorded = read_run_record(run).threads if run.run.exists() else None
        if recorded is not None:
            return recorded
    return max(1, cores // config.machine.devices)
