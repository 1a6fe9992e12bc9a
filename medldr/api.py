"""The public functions, for Python programs and notebooks; `import medldr` loads them lazily."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medldr.analysis.analyze import analyze as analyze_folders
from medldr.commands.study import run_config
from medldr.config.changes import Changes
from medldr.errors import InputError
from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.representation.frame import Options
from medldr.plugins import takes_plugins
from medldr.reporting import report_folder
from medldr.run import evaluate_run, train_run
from medldr.run_result import Compared, Evaluated, RunResult


@takes_plugins
def train(
    config: str | Path | Mapping[str, Any],
    overrides: Changes = (),
    out: str | Path | None = None,
    *,
    run: str | None = None,
    restart: bool = False,
    plugins: Sequence[str] = (),
) -> RunResult:
    """Train, evaluate and report one run; an unfinished run resumes where it stopped.

    Args:
        config: A packaged name, a YAML file, or a mapping with its content; with `run`, a sweep.
        overrides: ``KEY=VALUE`` texts as on the command line, or values by their dotted keys:
            ``{"training.epochs": 2}``.
        out: Parent folder of the run folders; unset: ``runs``, of a sweep ``runs/NAME``.
        run: Which run of a sweep: its name, its label and seed such as ``erm-s0``, or a part of it.
        restart: Move an earlier run of the same configuration aside and start over.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If there is a mistake in the configuration, the data or the folder.
    """
    settings, folder = run_config(config, overrides, run, out)
    return train_run(settings, folder, restart=restart)


@takes_plugins
def evaluate(
    folder: str | Path,
    *,
    device: str | None = None,
    precision: str | None = None,
    new_test: bool = False,
    plugins: Sequence[str] = (),
) -> Evaluated:
    """Predict and score with a run's selected weights again; returns `evaluation.json`.

    Args:
        folder: The run folder.
        device: Device to use; unset: the run's own.
        precision: ``float32``, ``bfloat16`` or ``float16``; unset: the one that it was trained in.
        new_test: Score it on the test data as it is now, where that alone has changed; the
            evaluation of before is kept as ``evaluation.1.json`` and so on.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If the folder holds no trained run, its data has changed, or the precision is
            not available.
    """
    return Evaluated(evaluate_run(folder, device=device, precision=precision, new_test=new_test))


@takes_plugins
def compare(
    folders: Sequence[str | Path],
    reference: str | None = None,
    *,
    margin: float | None = None,
    metric: str | None = None,
    plugins: Sequence[str] = (),
) -> Compared:
    """Compare finished runs, paired on the same images; nothing is written.

    Args:
        folders: Run folders.
        reference: Name of the method that the others are compared with; unset: the first method.
        margin: How much worse a method may be and still count as non-inferior, in the unit in
            which the metric is printed: 2 for two percentage points of accuracy.
        metric: The metric that the margin is of; unset: the primary one.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        Plain values, as `medldr.evaluation.comparison.compare` describes them.

    Raises:
        InputError: If they are not runs with results on the same images.
    """
    if isinstance(folders, str | Path):
        raise InputError(f"give a list of run folders, not just one: [{str(folders)!r}, ...]")
    found = make_comparison(list(folders), reference=reference, margin=margin, metric=metric)
    return Compared(found, folders)


@takes_plugins
def report(folder: str | Path, *, plugins: Sequence[str] = ()) -> Path:
    """Write the report of a run, of a sweep, or of a folder of runs, from the files in it.

    Args:
        folder: A run folder, a sweep's folder, or any folder of run folders.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        The page. For several runs, `report.md`, `report.csv`, `report.tex` and `table.tex` are
        written next to it.

    Raises:
        InputError: If the folder contains no runs, or they cannot be read.
    """
    written = report_folder(folder)
    return written if isinstance(written, Path) else written.page


@takes_plugins
def analyze(
    folders: str | Path | Sequence[str | Path],
    out: str | Path = "analysis",
    *,
    device: str | None = None,
    items: int = 2_000,
    neighbours: int = 10,
    seed: int = 0,
    plugins: Sequence[str] = (),
) -> Path:
    """Show what the latents of runs are like, and what degradation and restoration do to them.

    Args:
        folders: Run folders, the reference first, or sweep folders.
        out: The folder to write: `analysis.html`, csv files, and `figures/` as svg and pdf.
        device: Device on which latents are made, where a run has not kept them; unset: its own.
        items: Maximum number of images of a run in maps and pairs.
        neighbours: Nearest neighbours to look at.
        seed: Of all draws but those behind latents already stored.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        The page.

    Raises:
        InputError: If a folder holds no finished run, or latents are needed and the data of a run
            is not there or has changed.
    """
    if isinstance(folders, str | Path):
        folders = [folders]
    options = Options(seed=seed, neighbours=neighbours, items=items)
    return analyze_folders(folders, out, options, device=device).page
