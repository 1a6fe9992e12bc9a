"""What `medldr sweep` does, between the words on the command line and the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from medldr.config.load import refusal
from medldr.errors import InputError
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting import SweepReport, print_sweep, printed_tables, write_sweep_report
from medldr.sweeps.launch import Plan, SweepResult, make_plan, run_plan
from medldr.sweeps.launchers.local import local_launcher
from medldr.sweeps.launchers.slurm import slurm_launcher
from medldr.sweeps.plan.run_data import absent_files, changed_data
from medldr.sweeps.plan.schema import nearest
from medldr.sweeps.show import error_lines, print_plan, print_status
from medldr.sweeps.status import MemberStatus, status_of

LAUNCHERS: Final = ("local", "slurm")
SOME_MISSING: Final = 3
"""Exit code of a sweep of which something failed or was left out."""


def run_sweep(
    source: str | Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    out: Path | str | None = None,
    *,
    jobs: int | None = None,
    launcher: str = "local",
    only: str | None = None,
    retry_failed: bool = False,
    choose_again: bool = False,
) -> SweepResult:
    """Start the missing runs of a sweep, each as a separate process, and write its report.

    Args:
        source: A packaged name, a YAML file, or a mapping with its content.
        overrides: ``KEY=VALUE`` texts; ``seeds=...`` and ``axes.KEY=...`` change the sweep, any
            other key changes every run.
        out: Folder of the sweep; unset: ``runs/<its name>``.
        jobs: Maximum number of concurrent runs; unset: one per GPU, or one without any.
        launcher: ``local`` or ``slurm``.
        only: Start only the runs whose label matches this pattern.
        retry_failed: Retry runs that failed before.
        choose_again: Choose anew the settings that are trained with fresh seeds.

    Returns:
        Its folder, and the names of the runs that are done, failed or were left out.

    Raises:
        InputError: If the file, a member, the folder or the launcher is invalid; nothing started.
        SweepStopped: After SIGINT or SIGTERM; the same call resumes the sweep.
    """
    _check_launcher(launcher, jobs)
    plan = make_plan(source, overrides, out, only, choose_again=choose_again)
    return _run(plan, jobs, launcher, retry_failed)[0]


def _run(
    plan: Plan, jobs: int | None, launcher: str, retry_failed: bool
) -> tuple[SweepResult, SweepReport]:
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
    report = write_sweep_report(plan.folder)
    return replace(result, tables=tuple(printed_tables(report))), report


def _check_launcher(name: str, jobs: int | None) -> None:
    """Refuse an unknown launcher and a number of jobs below 1."""
    if name not in LAUNCHERS:
        raise InputError(f"--launcher: unknown launcher {name!r}.{nearest(name, LAUNCHERS)}")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs {jobs}: it should be 1 or more")


def sweep_command(
    source: str,
    words: Sequence[str],
    *,
    out: Path | None,
    launcher: str,
    jobs: int | None,
    only: str | None,
    dry: bool,
    retry_failed: bool,
    choose_again: bool = False,
) -> int:
    """`medldr sweep FILE ...` and `medldr sweep status DIR`.

    Returns:
        The exit code.

    Raises:
        InputError: If the user's input is wrong.
    """
    if source == "status":
        print_status(status_of(SweepFolder(_one_folder(words))))
        return 0
    _check_launcher(launcher, jobs)
    plan = make_plan(source, words, out, only, choose_again=choose_again)
    if dry:
        _dry_run(plan)
        return 0
    result, report = _run(plan, jobs, launcher, retry_failed)
    print_sweep(report)
    if result.complete:
        return 0 if report.sweep.complete else SOME_MISSING
    counts = f"{len(result.failed)} failed, {len(result.left_out)} left out"
    cure = f"Run `medldr sweep status {result.folder}` for details, or add --retry-failed to retry"
    _print_errors([*error_lines(result.failed), *error_lines(result.left_out), f"{counts}. {cure}"])
    return SOME_MISSING


def _dry_run(plan: Plan) -> None:
    """Print the members of a sweep and the state of each; nothing is written or started."""
    _print_errors([*plan.notes, *absent_files(plan.folder, plan.chosen)])
    members = [entry.member for entry in plan.chosen]
    standings = [MemberStatus(member, standing_of(plan.folder, member.run)) for member in members]
    print_plan(plan.record.name, plan.folder.path, standings, plan.record.following)


def _print_errors(lines: Sequence[str]) -> None:
    """Print lines on standard error."""
    console = Console(stderr=True, highlight=False)
    for line in lines:
        console.print(line, soft_wrap=not console.is_terminal, markup=False)


def _one_folder(words: Sequence[str]) -> Path:
    if len(words) != 1:
        raise InputError("give one sweep folder: medldr sweep status DIR")
    return Path(words[0]).expanduser()
