"""The command line. Nothing heavy is imported until a command runs.

Exit codes: 0 done; 1 a bug in medldr; 2 the user's input is wrong; 3 done, but some inputs were
skipped; 128 and the number of a signal that stopped it: 130, 143.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from medldr.commands.analyze import analyze
from medldr.commands.common_options import (
    PICK,
    Config,
    Device,
    Json,
    Overrides,
    PickedRun,
    Precision,
    Run,
    RunsBelow,
    print_json,
    with_plugins,
)
from medldr.commands.data_group import data_app
from medldr.commands.export import export
from medldr.commands.features import features
from medldr.commands.new import new
from medldr.commands.open_page import open_page
from medldr.commands.plan import plan
from medldr.commands.predict import predict
from medldr.commands.share import share
from medldr.commands.sweep import sweep
from medldr.commands.validate import validate
from medldr.commands.verify import verify
from medldr.errors import InputError, at_command_line
from medldr.foreign_text import visible
from medldr.version import __version__

app = typer.Typer(
    name="medldr",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Train and evaluate medical image classifiers that must work in unseen hospitals.",
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"medldr {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def quickstart(out: RunsBelow = Path("runs/quickstart")) -> None:
    """Train ERM and LatentDR on a small 3D phantom and compare them (a minute or two)."""
    from medldr.commands.quickstart import quickstart as start

    start(out)


def train(
    config: Config,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Parent folder of the run folders; unset: runs, of a sweep runs/NAME."
        ),
    ] = None,
    run: PickedRun = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Move an earlier run aside and start over.")
    ] = False,
) -> None:
    """Train, evaluate and report one run; an unfinished run resumes where it stopped.

    The exit code is 3 if files were left out (data.on_bad_file=skip); bad_files.csv lists them.
    """
    from medldr.commands.study import run_config

    settings, out = run_config(config, overrides or (), run, out)
    from medldr.reporting import print_run
    from medldr.run import train_run
    from medldr.training.machine.fabric import is_first_process

    result = train_run(settings, out, restart=restart, launcher="script")
    if is_first_process():
        print_run(result.folder, fresh=result.fresh)
    raise typer.Exit(3 if result.skipped else 0)


def evaluate(
    folder: Run,
    device: Device = None,
    precision: Precision = None,
    run: PickedRun = None,
    new_test: Annotated[
        bool,
        typer.Option(
            "--new-test",
            help="Score it on the test data as it is now, where that alone has changed; the "
            "evaluation of before is kept.",
        ),
    ] = False,
) -> None:
    """Predict with a run's selected weights again, score them, and rewrite the run's page."""
    from medldr.folders.one_run import one_run

    folder = one_run(folder, run, otherwise=PICK).path
    from medldr.reporting import print_run
    from medldr.run import evaluate_run

    evaluate_run(folder, device=device, precision=precision, new_test=new_test)
    print_run(folder)


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Finished run folders, reference first.")],
    out: Annotated[Path, typer.Option("--out", help="The page to write.")] = Path("compare.html"),
    metric: Annotated[
        str | None, typer.Option(help="Metric of the terminal table; default: the primary one.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            help="Say which methods are non-inferior: at most this much worse than the reference, "
            "in percentage points for metrics in percent, else in the metric's unit."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare finished runs in pairs, with 95% CIs, as a table and a page."""
    from medldr.folders.one_run import one_run

    for folder in folders:
        one_run(folder, otherwise="; `medldr report` compares all of them")
    if len(folders) == 1:
        raise InputError(
            f"give two runs or more, the reference first; `medldr report {folders[0]}` is on one"
        )
    if as_json:
        from medldr.evaluation import compare as plain_comparison

        print_json(plain_comparison(folders, metric=metric, margin=margin))
        return
    from medldr.reporting import compare_runs

    compare_runs(folders, out, metric=metric, margin=margin)


def report(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders, sweep folders, or folders of run folders.")
    ],
) -> None:
    """Write the page of each run, or the tables of each sweep, from the files in its folder.

    For a sweep: report.html, report.md, report.csv, and table.tex with the document report.tex.
    The exit code is 3 if a run could not be read or compared and was left out.
    """
    from medldr.folders.files import require_folder

    for folder in folders:
        require_folder(folder)
    # A report frees next to nothing on its way: looking for it costs up to a tenth of the time.
    gc.set_threshold(50_000)
    from medldr.reporting import SweepReport, print_run, print_sweep, report_folder

    code = 0
    for folder in folders:
        written = report_folder(folder)
        if isinstance(written, SweepReport):
            print_sweep(written)
            code = code if written.sweep.complete else 3
        else:
            print_run(folder)
    raise typer.Exit(code)


def list_(
    kind: Annotated[
        str,
        typer.Argument(help="runs, sweeps, algorithms, datasets, models, losses or transforms."),
    ] = "runs",
) -> None:
    """List the names that a configuration can use, with one line each."""
    from medldr.commands.list import print_catalogue

    print_catalogue(kind)


def doctor() -> None:
    """Check this machine: versions, devices, precision, data folders."""
    from medldr.commands.doctor import print_checkup

    raise typer.Exit(print_checkup())


def schema(
    out: Annotated[Path | None, typer.Option("--out", help="File to write; unset: print.")] = None,
) -> None:
    """Print the JSON Schema of run configurations, for editors."""
    from medldr.config.packaged import packaged_schema
    from medldr.folders.files import write_text

    text = packaged_schema().read_text(encoding="utf-8")
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        typer.echo(out)


PANELS: Final[Mapping[str, Mapping[str, Callable[..., None]]]] = {
    "Start": {"quickstart": quickstart, "list": list_, "doctor": doctor, "schema": schema},
    "Your own data": {"new": new, "plan": plan, "features": features},
    "Train": {"train": train, "evaluate": evaluate, "sweep": sweep},
    "Compare and read": {
        "compare": compare, "report": report, "open": open_page, "analyze": analyze,
        "verify": verify,
    },
    "Use elsewhere": {"predict": predict, "validate": validate, "export": export,
        "share": share,
    },
}  # fmt: skip
"""The commands, in the groups of `medldr --help`."""
NO_CONFIG: Final = ("quickstart", "list", "doctor", "schema", "new")
"""Commands that read no configuration but packaged ones, so that no plug-in is ever asked for."""
for panel, commands in PANELS.items():
    for name, command in commands.items():
        made = command if name in NO_CONFIG else with_plugins(command)
        app.command(name, rich_help_panel=panel)(made)
app.add_typer(data_app, name="data", rich_help_panel="Your own data")


def main() -> None:
    """Run the command line and exit with the matching exit code."""
    sys.exit(_run())


# Typer bundles its own click or uses the installed one; this is the class of whichever it is.
UsageError: Any = typer.BadParameter.__base__


@at_command_line()
def _run() -> int:
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        error.show()
        typer.echo(_as_setting(error), err=True, nl=False)
        return 2
    except InputError as error:
        typer.echo(f"error: {visible(str(error))}", err=True)
        return 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("stopped", err=True)
        return 130
    except OSError as error:
        if error.filename is None:
            raise
        name = str(error.filename)
        shown = name if len(name) <= 300 else f"{name[:150]}...{name[-50:]}"
        typer.echo(f"error: {shown} cannot be used: {error.strerror}", err=True)
        return 2
    except BaseException as error:
        signum = getattr(error, "signum", None)
        if signum is None:
            raise
        typer.echo(str(error), err=True)
        return 128 + int(signum)
    if code == 130:  # typer swallows KeyboardInterrupt
        typer.echo("stopped", err=True)
    return int(code or 0)


def _as_setting(error: Any) -> str:
    """How the setting is written that was given as an option, such as ``--seed 1``."""
    option, context = getattr(error, "option_name", None), error.ctx
    if "unexpected extra argument" in str(error):
        return "Several names are joined by commas, as A,B; a name with blanks is put in quotes\n"
    if option is None or context is None or context.info_name not in ("train", "sweep"):
        return ""
    from medldr.config.messages import known_keys, nearest_key

    key = nearest_key(option.lstrip("-").replace("-", "_"), known_keys({}))
    if key is None:
        return ""
    value = dict(zip(sys.argv, sys.argv[1:], strict=False)).get(option, "VALUE")
    whole = (
        f"seeds=[{value}]" if (context.info_name, key) == ("sweep", "seed") else f"{key}={value}"
    )
    return f"Settings have no dashes: write {whole}\n"


if __name__ == "__main__":
    main()
