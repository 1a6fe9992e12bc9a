"""`medldr share`: results as one file that names nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medldr.commands.common_options import Force
from medldr.console import Console, say


def share(
    folder: Annotated[
        Path, typer.Argument(help="A run folder, a sweep folder, or a folder of run folders.")
    ],
    out: Annotated[Path, typer.Argument(help="The file to write.", metavar="OUT.zip")],
    weights: Annotated[bool, typer.Option("--weights", help="Add the networks.")] = False,
    seen: Annotated[
        bool,
        typer.Option(
            "--seen",
            help="Add digests of the training images: whoever has an image can then tell whether "
            "it was one of them.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Write the results of finished runs as one file without ids, paths, dates and machines.

    It holds settings, metrics and each item's label and probabilities, numbered. Unpacked, it is a
    folder for `medldr report`, `compare` and `verify`.
    """
    from medldr.folders.files import require_folder

    require_folder(folder)
    from medldr.sharing.share import share as write

    written = write(folder, out, weights=weights, seen=seen, force=force)
    say(str(written), Console())
