"""`medldr sweep`: start the missing runs of a sweep, or show how far they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from medldr.commands.common_options import Json, print_json
from medldr.errors import InputError

SOME_MISSING: Final = 3
"""Exit code of a sweep of which something failed or was left out."""


def sweep(
    file: Annotated[
        str,
        typer.Argument(
            help="Name of a packaged sweep (see `medldr list sweeps`) or a YAML file; or the word "
            "status, followed by a sweep's folder.",
            metavar="FILE",
        ),
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            help="Changes: seeds=[0,1] and axes.KEY=[...] change the sweep; any other KEY=VALUE "
            "changes every run, for example training.epochs=2.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the sweep; unset: runs/NAME.")
    ] = None,
    launcher: Annotated[
        str,
        typer.Option(
            help="local: processes on this machine; slurm: cluster jobs, through submitit."
        ),
    ] = "local",
    jobs: Annotated[
        int | None,
        typer.Option(help="Maximum number of concurrent runs; unset: one per GPU, or 1 without."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Start only runs whose label matches, for example '*_erm'.", metavar="PATTERN"
        ),
    ] = None,
    only_show: Annotated[
        bool, typer.Option("--dry-run", help="Show the runs and their states; start nothing.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry runs that failed before.")
    ] = False,
    choose_again: Annotated[
        bool,
        typer.Option(
            "--choose-again", help="Choose again which settings are trained with fresh seeds."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Start the missing runs of a sweep, several at once, and report all in one table.

    `medldr sweep status DIR` shows the progress of a sweep. After an interruption, the same command
    resumes it; finished runs are not repeated. The exit code is 3 if some runs failed.
    """
    words = overrides or []
    if file == "status":
        _status(words, as_json=as_json)
        return
    if as_json:
        raise InputError("--json is for `medldr sweep status DIR`")
    from medldr.sweeps.plan.file import find_sweep

    find_sweep(file)  # before what takes long to load
    from medldr.sweeps.launch import make_plan

    plan = make_plan(file, words, out, only, choose_again=choose_again)
    from medldr.reporting import print_sweep
    from medldr.sweeps.command import check_launcher, dry_run, print_errors, start
    from medldr.sweeps.show import error_lines

    check_launcher(launcher, jobs)
    if only_show:
        dry_run(plan)
        return
    result, report = start(plan, jobs, launcher, retry_failed)
    print_sweep(report)
    if not result.complete:
        counts = f"{len(result.failed)} failed, {len(result.left_out)} left out"
        cure = (
            f"Run `medldr sweep status {result.folder}` for details, or add --retry-failed to retry"
        )
        errors = [*error_lines(result.failed), *error_lines(result.left_out)]
        print_errors([*errors, f"{counts}. {cure}"])
    raise typer.Exit(0 if result.complete and report.sweep.complete else SOME_MISSING)


def _status(words: Sequence[str], *, as_json: bool) -> None:
    from medldr.folders.files import require_folder
    from medldr.folders.sweep_record import SweepFolder
    from medldr.sweeps.show import plain_status, print_status
    from medldr.sweeps.status import status_of

    if len(words) != 1:
        raise InputError("give one sweep folder: medldr sweep status DIR")
    folder = Path(words[0]).expanduser()
    require_folder(folder)
    status = status_of(SweepFolder(folder))
    if as_json:
        print_json(plain_status(status))
    else:
        print_status(status)
