"""`medldr export`: a trained network as files that run without medldr."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medldr.commands.common_options import PICK, Encoder, Force, PickedRun, Run
from medldr.console import Console, say


def export(
    run: Run,
    kind: Annotated[
        str, typer.Option("--format", help="onnx, torch (torch.export) or bundle (MONAI).")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write; unset: RUN-FORMAT.")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            help="A scan, or a folder of them, to check the export on; unset: some that the run "
            "was tested on, if they are where they were.",
        ),
    ] = None,
    encoder: Encoder = None,
    force: Force = False,
    pick: PickedRun = None,
) -> None:
    """Write a trained network as ONNX, torch.export or MONAI bundle, with its model card.

    What is written is compared with the network on random and on real images before it gets its
    name. Preprocessing, class names, calibration and threshold travel with it.
    """
    from medldr.folders.one_run import one_run

    run = one_run(run, pick, otherwise=PICK).path
    from medldr.prediction.export import export as write

    made = write(run, kind, out, check=check or (), encoder=encoder, force=force)  # type: ignore[arg-type]
    console = Console(highlight=False)
    for name in made.files:
        say(str(made.folder / name), console)
    say(made.agreement.text, console)
    for limit in made.limits:
        console.print(f"note: {limit}", markup=False)
