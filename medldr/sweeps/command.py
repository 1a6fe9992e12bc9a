"""Start a sweep and report it, for `medldr sweep` and for `medldr.sweep`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from medldr.config.changes import Changes
from medldr.config.load import refusal
from medldr.console import Console
from medldr.errors import InputError
from medldr.folders.standing import standing_of
from medldr.plugins import takes_plugins
from medldr.reporting import SweepReport, printed_tables, write_sweep_report
from medldr.sweeps.launch import Plan, SweepResult, make_plan, run_plan
from medldr.sweeps.launchers.local import local_launcher
from medldr.sweeps.launchers.slurm import slurm_launcher
from medldr.sweeps.plan.run_data import absent_files, changed_data
from medldr.sweeps.plan.schema import nearest
from medldr.sweeps.show import print_plan
from medldr.sweeps.status import MemberStatus

LAUNCHERS: Final = ("local", "slurm")


@takes_plugins
def sweep(
    source: str | Path | Mapping[str, Any],
    overrides: Changes = (),
    out: Path | str | None = None,
    *,
    jobs: int | None = None,
    launcher: str = "local",
    only: str | None = None,
    retry_failed: bool = False,
    choose_again: bool = False,
    plugins: Sequence[str] = (),
) -> SweepResult:
    """Start the missing runs of a sweep, each as a separate process, and write its report.

    Args:
        source: A packaged name, a YAML file, or a mapping with its content.
        overrides: ``KEY=VALUE`` texts, or values by key; ``seeds`` and ``axes.KEY`` change the
            sweep, any other key changes every run.
        out: Folder of the sweep; unset: ``runs/<its name>``.
        jobs: Maximum number of concurrent runs; unset: one per GPU, or one without any.
        launcher: ``local`` or ``slurm``.
        only: Start only the runs whose label matches this pattern.
        retry_failed: Retry runs that failed before.
        choose_again: Choose anew the settings that are trained with fresh seeds.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        Its folder, and the names of the runs that are done, failed or were left out.

    Raises:
        InputError: If the file, a member, the folder or the launcher is invalid; nothing started.
        SweepStopped: After a signal that asks to end; the same call resumes the sweep.
    """
    check_launcher(launcher, jobs)
    plan = make_plan(source, overrides, out, only, choose_again=choose_again)
    return start(plan, jobs, launcher, retry_failed)[0]


def start(
    plan: Plan, jobs: int | None, launcher: str, retry_failed: bool
) -> tuple[SweepResult, SweepReport]:
    """Start what is missing of a planned sweep, and write the report of all of it.

    Raises:
        InputError: If data are absent, or not those of the finished runs; nothing was started.
    """
    if launcher == "slurm":
        chosen = slurm_launcher(plan.folder, plan.file.slurm, jobs)
    else:
        chosen = local_launcher(jobs)
    absent = absent_files(plan.folder, plan.chosen)
    if absent:
        raise refusal(f"the data of the sweep {plan.record.name}", absent)
    changed, notes = changed_data(plan.folder, plan.chosen)
    if changed:
        raise refusal(f"the finished runs of the sweep {plan.record.name}", changed)
    plan = replace(plan, notes=(*plan.notes, *notes))
    result = run_plan(plan, chosen, retry_failed=retry_failed)
    print_errors(["writing the tables and the page of the sweep ..."])  # which takes seconds
    report = write_sweep_report(plan.folder)
    return replace(result, tables=tuple(printed_tables(report))), report


def check_launcher(name: str, jobs: int | None) -> None:
    """Refuse an unknown launcher and a number of jobs below 1."""
    if name not in LAUNCHERS:
        raise InputError(f"--launcher: unknown launcher {name!r}.{nearest(name, LAUNCHERS)}")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs={jobs}: it should be 1 or more")


def dry_run(plan: Plan) -> None:
    """Print the members of a sweep and the state of each; nothing is written or started."""
    print_errors([*plan.notes, *absent_files(plan.folder, plan.chosen)])
    members = [entry.member for entry in plan.chosen]
    standings = [MemberStatus(member, standing_of(plan.folder, member.run)) for member in members]
    print_plan(plan.record.name, plan.folder.path, standings, plan.record.following)


def print_errors(lines: Sequence[str]) -> None:
    """Print lines on standard error."""
    console = Console(stderr=True, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=not console.is_terminal, markup=False)
