"""The commands `medldr data ...`. Nothing heavy is imported until one of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medldr.commands.common_options import DataName, FolderAndOverrides, with_plugins
from medldr.commands.split import split

data_app = typer.Typer(no_args_is_help=True, help="Inspect data sets before training on them.")


@data_app.command("list")
def data_list() -> None:
    """List the data sets that have a name, and whether their files are on this machine."""
    from medldr.commands.list import print_datasets

    print_datasets()


@data_app.command("fetch")
@with_plugins
def data_fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="A data part, for example retinamnist; or weights:ID, for example "
            "weights:ResNet50_Weights.IMAGENET1K_V1 or weights:timm/convnext_tiny.fb_in1k.",
        ),
    ],
    overrides: FolderAndOverrides = None,
) -> None:
    """Download a data set's files, or published weights, and verify them."""
    if name.startswith("weights:"):
        from medldr.models._fetch import fetch_weights

        fetch_weights(name.removeprefix("weights:"), overrides or ())
        return
    from medldr.checking.find_data import require_data

    require_data(name)
    from medldr.commands.data import fetch

    fetch(name, overrides or ())


@data_app.command("check")
@with_plugins
def data_check(
    name: DataName,
    overrides: FolderAndOverrides = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="The page to write; unset: NAME_check.html.")
    ] = None,
    no_page: Annotated[
        bool, typer.Option("--no-page", help="Write no page, and try no controls.")
    ] = False,
    show_ids: Annotated[
        bool, typer.Option("--show-ids", help="Show names of files and patients on the page.")
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="A run folder: say which images it has seen in training."),
    ] = None,
) -> None:
    """Read a whole data set, report what is wrong or unusual in it, and write a page of it.

    Published counts are shown next to the counts found. The exit code is 2 if a run would be
    refused, for example because files are unreadable; 3 if such files are left out
    (data.on_bad_file=skip), or if images are equal that should not be: in two splits or domains, or
    with two labels, or to images that the run of --run was trained or selected on.
    """
    from medldr.checking.find_data import require_data

    require_data(name)
    from medldr.checking.data_check import data_check as look
    from medldr.commands.check import print_check

    done = look(name, overrides or (), page=page, no_page=no_page, show_ids=show_ids, run=run)
    print_check(done)
    raise typer.Exit(0 if done.sound else 3)


@data_app.command("pack")
@with_plugins
def data_pack(
    name: DataName,
    overrides: FolderAndOverrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the pack; unset: packed/ in the data folder."),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Compare the pack with every source image."),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Number of decoding processes; unset: one per core."),
    ] = None,
) -> None:
    """Decode a data set once into a single memory-mapped array that runs then read.

    After an interruption, the same command resumes. An existing, up-to-date pack is left unchanged.
    The exit code is 3 if files were left out (data.on_bad_file=skip).
    """
    from medldr.checking.find_data import require_data

    require_data(name)
    from medldr.commands.pack import pack

    raise typer.Exit(pack(name, overrides or (), out=out, verify=verify, workers=workers))


data_app.command("split")(with_plugins(split))


@data_app.command("card")
def data_card() -> None:
    """Print a data card to fill: where the images come from, who was included, who labelled them.

    Save it (`medldr data card > card.yaml`), fill it, and name the file in `data.card`.
    """
    from medldr.data.card import card_template

    typer.echo(card_template(), nl=False)


@data_app.command("stats")
@with_plugins
def data_stats(
    name: DataName,
    overrides: FolderAndOverrides = None,
) -> None:
    """Count images per split, class and domain, and describe the pixels."""
    from medldr.checking.find_data import require_data

    require_data(name)
    from medldr.commands.data import stats

    stats(name, overrides or ())
