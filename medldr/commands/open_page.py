"""`medldr open`: the page of a run, a sweep or an analysis in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Final

import typer

from medldr.errors import InputError, did_you_mean_beside

PAGES: Final = ("report.html", "analysis.html", "index.html")
"""Of a run or a sweep, of an analysis, of heat maps; the first that a folder has is opened."""


def open_page(
    folder: Annotated[
        Path, typer.Argument(help="A run, a sweep, or the folder of an analysis.", metavar="DIR")
    ],
) -> None:
    """Open the page of a run, a sweep or an analysis in the browser; a missing page is made first.

    Prints its path. Where no browser can be opened, as on a server, it says so.
    """
    page = find_page(folder)
    typer.echo(page)
    if not webbrowser.open(page.resolve().as_uri()):
        typer.echo("No browser can be opened here: copy the file to a machine with one.")


def find_page(folder: Path) -> Path:
    """The page of a folder, made from its files if it is missing.

    Raises:
        InputError: If the folder has no page and holds nothing to make one from.
    """
    if not folder.is_dir():
        near = did_you_mean_beside(folder)
        raise InputError(f"{folder} is no folder.{near} Name a run, a sweep or an analysis")
    for name in PAGES:
        if (folder / name).is_file():
            return folder / name
    from medldr.reporting import SweepReport, report_folder

    made = report_folder(folder)
    return made.page if isinstance(made, SweepReport) else made
