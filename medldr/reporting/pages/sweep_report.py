"""The report of a sweep: a page, Markdown, a flat table and LaTeX, and a table for the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from medldr.folders.files import write_text
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.pages.run import write_report
from medldr.reporting.pages.sweep import SweepContent, sweep_content
from medldr.reporting.read.loose_runs import is_run_folder
from medldr.reporting.writers.csv import tidy_csv
from medldr.reporting.writers.html import render
from medldr.reporting.writers.latex import latex_document, latex_tables
from medldr.reporting.writers.markdown import markdown_page


@dataclass(frozen=True)
class SweepReport:
    """What was written.

    Attributes:
        content: What it says.
        page: `report.html`.
        files: Every file.
    """

    content: SweepContent
    page: Path
    files: tuple[Path, ...]

    @property
    def complete(self) -> bool:
        """Whether every run that was there could be read and compared."""
        unreadable = any(entry.state == "unreadable" for entry in self.content.study.every)
        apart = any(column.problem for column in self.content.columns)
        return not (unreadable or apart or self.content.study.left_out)


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
        folder: The folder; runs that failed or are missing are told, an unreadable one is named.

    Raises:
        InputError: If it holds no runs, or its `sweep.json` is damaged.
        StorageError: If a file cannot be written.
    """
    files = folder if isinstance(folder, SweepFolder) else SweepFolder(folder)
    content = sweep_content(files)
    texts = {
        files.report: sweep_page(content),
        files.markdown: markdown_page(content),
        files.csv: tidy_csv(content),
        files.latex_table: latex_tables(content),
        files.latex: latex_document(content),
    }
    for path, text in texts.items():
        write_text(path, text)
    return SweepReport(content, files.report, tuple(texts))


def sweep_page(content: SweepContent) -> str:
    """The page as text."""
    return render(
        "sweep.html.jinja",
        title=content.title,
        kicker="medldr · report of a sweep",
        subtitle=content.subtitle,
        banners=content.banners,
        sections=[(section.anchor, section.short) for section in content.sections],
        content=content.sections,
    )
