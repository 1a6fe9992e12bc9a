"""Pages and tables of runs, comparisons and sweeps: read, laid out, written."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from medldr.evaluation.comparison.comparison import Comparison
from medldr.folders.files import RunFolder, write_text
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.document import Document
from medldr.reporting.pages.checklist import checklist_page
from medldr.reporting.pages.comparison import comparison_page, leading_metric, overview, titled
from medldr.reporting.pages.run import run_page
from medldr.reporting.pages.sweep import SweepPage, sweep_page, terminal_page
from medldr.reporting.read.loose_runs import is_run_folder
from medldr.reporting.read.run import RunFiles, read_run
from medldr.reporting.sections.run.result import run_overview
from medldr.reporting.sections.sweep.csv_lines import csv_fields, csv_lines
from medldr.reporting.table import Table
from medldr.reporting.writers.csv import csv_text
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.latex import latex_document, latex_tables
from medldr.reporting.writers.markdown import markdown_page
from medldr.reporting.writers.terminal import LINES, console, print_document

logger = logging.getLogger("medldr.reporting")


class ReportWarning(UserWarning):
    """A page could not be written; the run itself is complete."""


def write_report(folder: RunFolder | Path | str) -> Path:
    """Write `report.html` and `checklist.html` of a run, finished or not.

    A figure that cannot be drawn is replaced by a sentence that says why, and never raises.

    Args:
        folder: A run folder. The page names what the folder lacks.

    Returns:
        The page.

    Raises:
        InputError: If it is not a run folder, or one of its files cannot be read.
        StorageError: If the page cannot be written.
    """
    files = _folder(folder)
    read = read_run(files, mistakes=True)
    write_text(files.report, html_page(run_page(read)))  # first: no checklist costs it
    write_text(files.checklist, html_page(checklist_page(read)))
    return files.report


def write_report_or_warn(folder: RunFolder | Path | str) -> Path | None:
    """`write_report` for the end of training, where a page must never cost a result.

    Any error becomes a `ReportWarning` that says how to try again; its traceback goes to the log.

    Returns:
        The page, or None where it could not be written.
    """
    try:
        return write_report(folder)
    except Exception as error:  # by now the weights and numbers are on the disk
        path = _folder(folder).path
        logger.debug("the page of %s could not be written", path, exc_info=True)
        warnings.warn(
            f"the page of {path} could not be written ({type(error).__name__}: {error}); its "
            f"numbers are complete. Try again with: medldr report {path}",
            ReportWarning,
            stacklevel=2,
        )
        return None


def print_run(folder: RunFolder | Path | str, *, fresh: bool = True) -> None:
    """Print what a run's page says first, and where the page is.

    Args:
        folder: The run folder.
        fresh: False for a run that had finished before, which is then said.

    Raises:
        InputError: If it is not a run folder, or one of its files cannot be read.
    """
    files = _folder(folder)
    said = "" if fresh else "This run had already finished; nothing had to be done."
    place = ("page", files.report) if files.report.exists() else ("run", files.path)
    _print(run_overview(read_run(files)), *place, said=said)


def write_comparison(
    found: Comparison,
    path: Path | str,
    title: str | None = None,
    remark: str | None = None,
    folders: Sequence[RunFolder | Path | str] = (),
) -> Path:
    """Write the page of a comparison.

    Args:
        found: The comparison.
        path: The page to write.
        title: Its title; unset: made of the methods' titles.
        remark: A banner at the top, such as `DEMONSTRATION`.
        folders: The run folders compared, for learning curves and published numbers; a run whose
            folder is not given has neither.

    Returns:
        The page.

    Raises:
        InputError: If a folder is not a run folder.
        StorageError: If the page cannot be written.
    """
    files = {run.name: run for run in (read_run(_folder(folder)) for folder in folders)}
    led = replace(found, primary=leading_metric(found, files))
    write_text(path, html_page(comparison_page(led, title, remark, files)))
    return Path(path)


def compare_runs(
    folders: Sequence[RunFolder | Path | str],
    path: Path | str,
    *,
    metric: str | None = None,
    margin: float | None = None,
    title: str | None = None,
    remark: str | None = None,
) -> Comparison:
    """Compare runs, write the page and print the table.

    Args:
        folders: Run folders; the first one's method is the reference.
        path: The page to write.
        metric: The metric that leads on the page and in the terminal, and that the margin is of;
            unset: the primary one, else what the mix of classes calls for.
        margin: How much worse than the reference a method may be and still count as non-inferior,
            in the unit in which the metric is printed; unset: nothing is said about that.
        title: Title of the page; unset: made of the methods' names.
        remark: A banner at the top of the page.

    Raises:
        InputError: If the runs cannot be compared, or the metric was not computed.
    """
    from medldr.evaluation.comparison.compare import make_comparison

    found = make_comparison(folders, margin=margin, metric=metric)
    files = compared_files(found, folders)
    led = replace(found, primary=metric or leading_metric(found, files))
    printed = overview(titled(led, files), led.primary)
    write_text(path, html_page(comparison_page(led, title, remark, files)))
    _print(printed, "page", Path(path))
    return found


def compared_files(
    found: Comparison, folders: Sequence[RunFolder | Path | str]
) -> dict[str, RunFiles]:
    """What the folders of the runs of a comparison hold, by the names of the runs."""
    used = {run for method in found.methods for run in method.runs}
    read = (read_run(of) for of in map(_folder, folders) if of.path.resolve().name in used)
    return {run.name: run for run in read}


def _print(shown: Document, what: str, path: Path, *, said: str = "") -> None:
    """Print what a page begins with, and where it is, in `LINES` lines."""
    out = console()
    print_document(shown, out, lines=LINES - 1 - bool(said))
    for line in filter(None, (said, f"{what}: {path}")):
        out.print(line, soft_wrap=True, markup=False)


@dataclass(frozen=True)
class SweepReport:
    """What was written of a sweep.

    Attributes:
        sweep: The sweep, computed.
        page: `report.html`.
        files: Every file.
    """

    sweep: SweepPage
    page: Path
    files: tuple[Path, ...]


def report_folder(folder: Path | str) -> SweepReport | Path:
    """Write the report of whatever a folder holds: one run, a sweep, or several runs.

    Returns:
        The page of a run; else what was written of the sweep.

    Raises:
        InputError: If it holds none of these, or a file of one run cannot be read.
        StorageError: If a file cannot be written.
    """
    return write_report(folder) if is_run_folder(folder) else write_sweep_report(folder)


def write_sweep_report(folder: SweepFolder | Path | str) -> SweepReport:
    """Write the report of a sweep folder, or of any folder of run folders, finished or not.

    Args:
        folder: The folder; runs that failed or are missing are named, as is an unreadable one.

    Raises:
        InputError: If it holds no runs, or its `sweep.json` is damaged.
        StorageError: If a file cannot be written.
    """
    files = folder if isinstance(folder, SweepFolder) else SweepFolder(folder)
    sweep = sweep_page(files)
    texts = {
        files.report: html_page(sweep.document),
        files.markdown: markdown_page(sweep.document),
        files.csv: csv_text(csv_fields(sweep.results), csv_lines(sweep.results)),
        files.latex_table: latex_tables(sweep.document),
        files.latex: latex_document(sweep.document),
    }
    for path, text in texts.items():
        write_text(path, text)
    return SweepReport(sweep, files.report, tuple(texts))


def printed_tables(report: SweepReport) -> list[Table]:
    """The grids of a sweep, as a notebook shows them."""
    return [table for _, table in report.sweep.document.tables(["result", "grids"])]


def print_sweep(report: SweepReport) -> None:
    """Print the verdict of a sweep, its grid, what is missing, and where the page is."""
    given = SweepFolder(report.page.parent)
    # Without a sweep.json there is nothing that `medldr sweep status` could read.
    hint = f"{given.path}" if given.sweep.is_file() else ""
    _print(terminal_page(report.sweep, hint, styled=console().is_terminal), "page", report.page)


def _folder(folder: RunFolder | Path | str) -> RunFolder:
    return folder if isinstance(folder, RunFolder) else RunFolder(folder)
