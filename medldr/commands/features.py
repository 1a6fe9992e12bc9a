"""`medldr features`: the latents of a data set's images, stored once for many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medldr.commands.common_options import Device, Force, Overrides
from medldr.console import Console, say


def features(
    source: Annotated[
        str,
        typer.Argument(
            help="A configuration, whose network starts from the weights that it names, or the "
            "folder of a finished run, whose network was trained.",
            metavar="CONFIG|RUN",
        ),
    ],
    overrides: Overrides = None,
    out: Annotated[Path, typer.Option("--out", help="The folder of latents to write.")] = Path(
        "latents"
    ),
    views: Annotated[
        int,
        typer.Option(
            "--views",
            min=0,
            help="Augmented versions of each image to store as well, for training.",
        ),
    ] = 0,
    encoder: Annotated[
        Path | None,
        typer.Option("--encoder", help="An ONNX file in place of the configuration's network."),
    ] = None,
    precision: Annotated[
        str, typer.Option("--precision", help="float32, bfloat16 or float16, of the encoder.")
    ] = "float32",
    device: Device = None,
    force: Force = False,
) -> None:
    """Store what an encoder makes of every image, so that methods train on it in minutes.

    What was killed goes on where it stopped. `data: {name: features, root: FOLDER}` trains on it.
    """
    from medldr.config import load_config
    from medldr.folders.files import RunFolder

    if not RunFolder(source).run.is_file():
        load_config(source, overrides or ())  # mistakes are named before torch is loaded
    from medldr.encoding import features as store

    made = store(source, overrides or (), out, views=views, encoder=encoder, precision=precision,
                 device=device, force=force)  # fmt: skip
    said = {"there": "are there already", "made": "stored", "replaced": "stored anew"}[made.made]
    more = f"and {views:,} augmented versions of each " if views else ""
    say(
        f"{made.images:,} latents of {made.dim:,} numbers {more}{said}: {made.folder}\n"
        "a study that extends recipe/own_features trains on them with "
        f"data: {{name: features, root: {made.folder}{', views: true' if views else ''}}}",
        Console(),
    )
