"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    str, typer.Argument(help="Name of a packaged run (see `medldr list runs`) or a YAML file.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Changes: KEY=VALUE, for example training.epochs=2.", metavar="KEY=VALUE"),
]
Run = Annotated[Path, typer.Argument(help="A finished run folder.")]
RunsBelow = Annotated[Path, typer.Option("--out", help="Parent folder of the run folders.")]
OutFolder = Annotated[Path, typer.Option("--out", help="The folder to write.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps; unset: as in the run.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what an earlier call wrote under that name.")
]
FolderAndOverrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="The folder with the files, if it is not the usual one, and changes: KEY=VALUE, for "
        "example data.size=64.",
        metavar="[DIR] [KEY=VALUE]",
    ),
]
