"""`medldr analyze`: what a method does to latents, from run folders and sweep folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medldr.commands.common_options import Device, OutFolder
from medldr.console import Console, say


def analyze(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Finished run folders, reference first, or sweep folders."),
    ],
    out: OutFolder = Path("analysis"),
    device: Device = None,
    items: Annotated[
        int, typer.Option(min=10, help="Maximum number of images of a run in maps and pairs.")
    ] = 2_000,
    neighbours: Annotated[int, typer.Option(min=1, help="Nearest neighbours to look at.")] = 10,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all draws but those behind latents already stored.")
    ] = 0,
) -> None:
    """Show what degradation and restoration do to latents, and what the latents are like.

    Writes one page, a csv file per section, and each figure as svg and pdf. Latents are read from
    the run folder (evaluation.latents=true keeps them) or made again from its images.
    """
    from medldr.folders.files import require_folder

    for folder in folders:
        require_folder(folder)
    from medldr.analysis.analyze import analyze as analyse
    from medldr.evaluation.representation.frame import Options
    from medldr.reporting.pages.analysis import on_terminal
    from medldr.reporting.writers.terminal import LINES, print_document
    from medldr.reporting.writers.terminal import console as terminal_console

    console, progress = terminal_console(), Console(stderr=True, highlight=False)
    options = Options(seed=seed, neighbours=neighbours, items=items)
    with progress.status("reading") as status:
        written = analyse(folders, out, options, device=device, done=status.update)
    print_document(on_terminal(written.document), console, lines=LINES - 1)
    say(f"page: {written.page}", console)
