"""`medldr validate`: score a trained run at a site whose pictures do not leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medldr.commands.common_options import PICK, Device, Encoder, Force, OutFolder, PickedRun, Run
from medldr.console import Console, say


def validate(
    run: Run,
    table: Annotated[
        Path, typer.Argument(help="The site's table: a row per scan, with its label.")
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which column means what, where it is not as in the run's own data: "
            "data.path=image, data.label=grade, data.group=patient.",
            metavar="data.KEY=VALUE",
        ),
    ] = None,
    out: OutFolder = Path("validation"),
    site: Annotated[
        str, typer.Option("--site", help="The site's name in reports; unset: the folder's.")
    ] = "",
    device: Device = None,
    encoder: Encoder = None,
    force: Force = False,
    keep_seen: Annotated[
        bool,
        typer.Option("--keep-seen", help="Score images that the run was trained on, too."),
    ] = False,
    pick: PickedRun = None,
) -> None:
    """Score a run on labelled scans of another site; only numbers go into the folder.

    It holds metrics with 95% CIs and each item's label and probabilities, numbered: no picture, no
    path, no name of a file or a patient. `medldr report` and `medldr compare` read it as a run. The
    exit code is 3 if some scans could not be read, which are listed beside the folder, or if images
    were left out because the run was trained or selected on them.
    """
    from medldr.folders.one_run import one_run

    run = one_run(run, pick, otherwise=PICK).path
    from medldr.data.counting import counted
    from medldr.prediction.validate import validate as score
    from medldr.reporting import print_run

    done = score(
        run,
        table,
        overrides or (),
        out,
        site=site,
        device=device,
        encoder=encoder,
        force=force,
        keep_seen=keep_seen,
    )
    print_run(done.folder)
    console = Console(highlight=False)
    if done.warned:
        console.print(
            f"warnings for {done.warned:,} of {done.items:,} scans: they are unlike the training "
            "images in some way"
        )
    if done.listed is not None:
        scans = counted(len(done.unreadable), "scan", "scans")
        say(f"{scans} could not be read; {done.listed} names them and stays here", console)
    for text in done.notes:
        say(text, console)
    raise typer.Exit(3 if done.unreadable or done.left_out else 0)
