"""The command line. Nothing heavy is imported until a command runs.

Exit codes: 0 done; 1 a bug in medldr; 2 the user's input is wrong; 3 done, but some inputs were
skipped; 130 and 143 stopped by a signal.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from medldr.commands.analyze import analyze
from medldr.commands.common_options import Config, Device, Overrides, Run, RunsBelow
from medldr.commands.data_group import data_app
from medldr.commands.export import export
from medldr.commands.new import new
from medldr.commands.open_page import open_page
from medldr.commands.plan import plan
from medldr.commands.predict import predict
from medldr.commands.sweep import sweep
from medldr.commands.validate import validate
from medldr.commands.verify import verify
from medldr.errors import InputError
from medldr.version import __version__

app = typer.Typer(
    name="medldr",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Train and evaluate medical image classifiers that must work in unseen hospitals.",
)
app.add_typer(data_app, name="data")
for command in (new, plan, predict, validate, export, analyze, verify):
    app.command()(command)
app.command("open")(open_page)


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


@app.command()
def quickstart(out: RunsBelow = Path("runs/quickstart")) -> None:
    """Train ERM and LatentDR on a small 3D phantom and compare them (a minute or two)."""
    from medldr.commands.quickstart import quickstart as start

    start(out)


@app.command()
def train(
    config: Config,
    overrides: Overrides = None,
    out: RunsBelow = Path("runs"),
    restart: Annotated[
        bool, typer.Option("--restart", help="Move an earlier run aside and start over.")
    ] = False,
) -> None:
    """Train, evaluate and report one run; an unfinished run resumes where it stopped.

    The exit code is 3 if files were left out (data.on_bad_file=skip); bad_files.csv lists them.
    """
    from medldr.config import load_config
    from medldr.reporting import print_run
    from medldr.run import train_run
    from medldr.training.machine.fabric import is_first_process

    settings = load_config(config, overrides or ())
    result = train_run(settings, out, restart=restart, launcher="script")
    if is_first_process():
        print_run(result.folder, fresh=result.fresh)
    raise typer.Exit(3 if result.skipped else 0)


@app.command()
def evaluate(
    folder: Run,
    device: Device = None,
) -> None:
    """Predict with a run's selected weights again, score them, and rewrite the run's page."""
    from medldr.reporting import print_run
    from medldr.run import evaluate_run

    evaluate_run(folder, device=device)
    print_run(folder)


@app.command()
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
) -> None:
    """Compare finished runs in pairs, with 95% CIs, as a table and a page."""
    from medldr.reporting import compare_runs

    compare_runs(folders, out, metric=metric, margin=margin)


app.command()(sweep)


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders, sweep folders, or folders of run folders.")
    ],
) -> None:
    """Write the page of each run, or the tables of each sweep, from the files in its folder.

    For a sweep: report.html, report.md, report.csv, and table.tex with the document report.tex.
    The exit code is 3 if a run could not be read or compared and was left out.
    """
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


@app.command("list")
def list_(
    kind: Annotated[
        str,
        typer.Argument(help="runs, sweeps, algorithms, datasets, models, losses or transforms."),
    ] = "runs",
) -> None:
    """List the names that a configuration can use, with one line each."""
    from medldr.commands.list import print_catalogue

    print_catalogue(kind)


@app.command()
def doctor() -> None:
    """Check this machine: versions, devices, precision, data folders."""
    from medldr.commands.doctor import print_checkup

    raise typer.Exit(print_checkup())


@app.command()
def schema(
    out: Annotated[Path | None, typer.Option("--out", help="File to write; unset: print.")] = None,
) -> None:
    """Print the JSON Schema of run configurations, for editors."""
    import json

    from medldr.config import json_schema
    from medldr.folders.files import write_text

    text = json.dumps(json_schema(), indent=1)
    if out is None:
        typer.echo(text)
    else:
        write_text(out, text + "\n")
        typer.echo(out)


def main() -> None:
    """Run the command line and exit with the matching exit code."""
    sys.exit(_run())


# Typer bundles its own click or uses the installed one; this is the class of whichever it is.
UsageError: Any = typer.BadParameter.__base__


def _run() -> int:
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        error.show()
        return 2
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("stopped", err=True)
        return 130
    except BaseException as error:
        signum = getattr(error, "signum", None)
        if signum is None:
            raise
        typer.echo(str(error), err=True)
        return 128 + int(signum)
    if code == 130:  # typer swallows KeyboardInterrupt
        typer.echo("stopped", err=True)
    return int(code or 0)


if __name__ == "__main__":
    main()
