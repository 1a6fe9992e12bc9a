"""The public functions, for Python programs and notebooks; `import medldr` loads them lazily."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medldr.analysis.analyze import analyze as analyze_folders
from medldr.config import load_config
from medldr.errors import InputError
from medldr.evaluation import compare as compare_runs
from medldr.folders.evaluation_record import read_evaluation_content
from medldr.folders.files import RunFolder
from medldr.prediction.predict import predict as predict
from medldr.reporting import report_folder
from medldr.run import evaluate_run, train_run
from medldr.run import load_model as load_model
from medldr.run_result import RunResult as RunResult
from medldr.sweeps.command import sweep as sweep


def train(
    config: str | Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    out: str | Path = "runs",
    *,
    restart: bool = False,
) -> RunResult:
    """Train, evaluate and report one run; an unfinished run resumes where it stopped.

    Args:
        config: A packaged name, a YAML file, or a mapping with its content.
        overrides: ``KEY=VALUE`` texts as on the command line.
        out: Parent folder of the run folders.
        restart: Move an earlier run of the same configuration aside and start over.

    Raises:
        InputError: If there is a mistake in the configuration, the data or the folder.
    """
    return train_run(load_config(config, overrides), out, restart=restart)


def evaluate(folder: str | Path) -> dict[str, Any]:
    """Predict and score with a run's selected weights again; returns `evaluation.json`."""
    return read_evaluation_content(RunFolder(evaluate_run(folder).folder))


def compare(
    folders: Sequence[str | Path],
    reference: str | None = None,
    *,
    margin: float | None = None,
    metric: str = "accuracy",
) -> dict[str, Any]:
    """Compare finished runs, paired on the same images; nothing is written.

    Args:
        folders: Run folders.
        reference: Name of the method that the others are compared with; unset: the first method.
        margin: How much worse a method may be and still count as non-inferior, in the unit in
            which the metric is printed: 2 for two percentage points of accuracy.
        metric: The metric that the margin is of.

    Returns:
        Plain values, as `medldr.evaluation.compare` describes them.

    Raises:
        InputError: If they are not runs with results on the same images.
    """
    if isinstance(folders, str | Path):
        raise InputError(f"give a list of run folders, not just one: [{str(folders)!r}, ...]")
    return compare_runs(list(folders), reference=reference, margin=margin, metric=metric)


def report(folder: str | Path) -> Path:
    """Write the report of a run, of a sweep, or of a folder of runs, from the files in it.

    Args:
        folder: A run folder, a sweep's folder, or any folder of run folders.

    Returns:
        The page. For several runs, `report.md`, `report.csv`, `report.tex` and `table.tex` are
        written next to it.

    Raises:
        InputError: If the folder contains no runs, or they cannot be read.
    """
    written = report_folder(folder)
    return written if isinstance(written, Path) else written.page


def analyze(
    folders: Sequence[str | Path], out: str | Path = "analysis", *, device: str | None = None
) -> Path:
    """Show what the latents of runs are like, and what degradation and restoration do to them.

    Args:
        folders: Run folders, the reference first, or sweep folders.
        out: The folder to write: `analysis.html`, csv files, and `figures/` as svg and pdf.
        device: Device on which latents are made, where a run has not kept them; unset: its own.

    Returns:
        The page.

    Raises:
        InputError: If a folder holds no finished run, or latents are needed and the data of a run
            is not there or has changed.
    """
    if isinstance(folders, str | Path):
        folders = [folders]
    return analyze_folders(folders, out, device=device).page
