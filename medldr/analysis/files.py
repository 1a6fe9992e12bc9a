"""The files of an analysis, and the list of them by which a later one finds what to remove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from medldr.folders.files import read_json, write_json, write_text
from medldr.reporting.document import Document
from medldr.reporting.pages.analysis import Lines
from medldr.reporting.writers.csv import csv_text
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.paper import write_figures

LIST: Final = "files.json"
KINDS: Final = (".csv", ".svg", ".pdf")


@dataclass(frozen=True)
class Made:
    """What was written.

    Attributes:
        page: `analysis.html`.
        figures: The files of figures, svg and pdf.
        tables: The csv files.
    """

    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]


def write_made(out: Path, document: Document, lines: Mapping[str, Lines]) -> Made:
    """Write a page with its csv files and figures, in place of those of an earlier analysis.

    Args:
        out: The folder. What an earlier analysis wrote there is removed, anything else stays.
        document: The page.
        lines: Of each csv file, by its name.

    Raises:
        InputError: If the list of earlier files cannot be read.
        StorageError: If a file cannot be written.
    """
    _remove_earlier(out)
    tables = []
    for name, each in lines.items():
        fields = list(dict.fromkeys(key for line in each for key in line))
        tables.append(out / f"{name}.csv")
        write_text(tables[-1], csv_text(fields, each))
    figures = write_figures(document, out / "figures")
    written = [path.relative_to(out).as_posix() for path in (*tables, *figures)]
    write_json(out / LIST, written)
    page = out / "analysis.html"
    write_text(page, html_page(document))
    return Made(page, tuple(figures), tuple(tables))


def _remove_earlier(out: Path) -> None:
    """Files of another analysis beside this page would be taken for its own."""
    if not (out / LIST).is_file():
        return
    for name in read_json(out / LIST):
        path = PurePosixPath(str(name))
        folder = path.parts[:-1]
        if folder in ((), ("figures",)) and path.suffix in KINDS and ".." not in path.parts:
            (out / path).unlink(missing_ok=True)
