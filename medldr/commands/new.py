"""`medldr new`: from a folder or a table of scans to a study that runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from medldr.commands.new_study.study import Study

_LISTED: Final = 10
_PLAIN: Final[dict[str, Any]] = {"markup": False, "highlight": False}


def new(
    place: Annotated[
        Path, typer.Argument(help="A folder of scans, or their table.", metavar="DIR_OR_TABLE")
    ],
    out: Annotated[Path, typer.Option("--out", help="The sweep file to write.")] = Path(
        "study.yaml"
    ),
    table: Annotated[
        Path | None, typer.Option(help="The table in the folder, if it has several.")
    ] = None,
    sheet: Annotated[
        str | None, typer.Option(help="The sheet of a workbook, if several list scans.")
    ] = None,
    path: Annotated[
        str | None, typer.Option(help="Column with the files; several images an item: A,B.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of the class; several labels: A,B,C.")
    ] = None,
    domain: Annotated[str | None, typer.Option(help="Column of the hospital or scanner.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of the patient.")] = None,
    split: Annotated[str | None, typer.Option(help="Column of the split.")] = None,
    folders: Annotated[
        str | None,
        typer.Option(
            help="Without a table: what the levels of folders mean, of split, domain, label and "
            "group, for example domain,label."
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="scan, microscopy or photo.")] = None,
    positive: Annotated[str | None, typer.Option(help="The positive one of two classes.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Compare methods on stored latents of this network: timm's name for it, or "
            "hf-hub:OWNER/NAME."
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of --encoder; unset: those that were published.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; take the best guess.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Look at scans of your own and write a commented sweep file that runs as it is.

    It reads every file once, finds labels, hospitals, patients and splits, asks for what it cannot
    tell (on a terminal), and says in the file what was found and why each key is as it is.
    """
    import re
    import sys

    from medldr.errors import InputError, did_you_mean_beside

    place = place.expanduser()
    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"--out: {out} should end in .yaml")
    hub = encoder is not None and encoder.startswith("hf-hub:")
    if weights is not None and (encoder is None or hub or not weights.expanduser().is_file()):
        what = f"there is no file {weights}.{did_you_mean_beside(weights.expanduser())}"
        if encoder is None:
            what = "they are those of --encoder; name it"
        elif hub:
            what = f"{encoder} brings its own; give --encoder timm's name of the network"
        raise InputError(f"--weights: {what}")
    for file in (out, encoder_of(out)) if encoder else (out,):
        if file.exists() and not force:
            raise InputError(f"{file} exists already. Give another name with --out, or add --force")
    if not Path(re.sub(r"(?i)(\.xls[xm])#.*", r"\1", str(place))).exists():  # book.xlsx#SHEET
        foreign = "\\" in place.name  # which is a whole path where / parts folders
        hint = " Folders are parted by /, not by \\." if foreign else ""
        raise InputError(
            f"there is no {place}.{did_you_mean_beside(place)}{hint} Name the folder of your "
            "scans, or their table"
        )
    if place.suffix in (".yaml", ".yml"):
        raise InputError(f"{place} is no table. If it is a study already: `medldr sweep {place}`")
    typer.echo(f"Looking at {place} ...", err=True)  # imports and listings take seconds
    if encoder is not None and hub:
        from medldr.models._published import CONFIG, of_hub

        of_hub(encoder, CONFIG)
    elif encoder is not None:
        from medldr.models._timm import check_network

        check_network(encoder, "--encoder")
    from medldr.commands.new_study.asking import Asker, Options
    from medldr.commands.new_study.study import make_study

    named = {"path": path, "label": label, "domain": domain, "group": group, "split": split}
    for role in ("path", "label"):  # of several columns, which may be written with blanks
        named[role] = named[role] and ",".join(map(str.strip, str(named[role]).split(",")))
    options = Options(
        place=place,
        table=table,
        sheet=sheet,
        columns={role: name for role, name in named.items() if name},  # type: ignore[misc]
        folders=tuple(part.strip() for part in folders.split(",")) if folders else (),
        kind=kind,
        positive=positive,
    )
    interactive = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    write(make_study(options, Asker(interactive=interactive)), out, encoder, weights)


def encoder_of(out: Path) -> Path:
    """The file with the encoder of a study, beside it."""
    return out.with_name(f"{out.stem}_encoder.yaml")


def write(study: Study, out: Path, encoder: str | None, weights: Path | None) -> None:
    """Write the files of a study and say what it is, what to look at and what to do next."""
    import torch
    from rich.text import Text

    from medldr.commands.new_study.encoder_files import encoder_text, latents_of, latents_text
    from medldr.commands.new_study.study_file import classes, summary, text
    from medldr.folders.files import write_text
    from medldr.folders.provenance import cores
    from medldr.reporting.writers.terminal import console
    from medldr.sweeps.plan.file import sweep_name

    if encoder is None:
        write_text(out, text(study, out, gpu=torch.cuda.is_available(), cores=cores()))
        first = [f"data check {out}"]
    else:
        images = encoder_of(out)
        write_text(images, encoder_text(study, images, encoder, weights))
        write_text(out, latents_text(study, out, images))
        latents = images.with_name(latents_of(images))
        first = [f"data check {images}", f"features {images} --out {latents}"]
    print_to = console()
    print_to.print(f"{study.name}: {summary(study)}", **_PLAIN)
    print_to.print(f"  {classes(study)}", **_PLAIN)
    for domain in study.held_out.names.values():
        print_to.print(f"  held out in turn: {domain}", **_PLAIN)
    for line in study.private[:_LISTED]:
        print_to.print(f"  {line}", **_PLAIN)
    if len(study.private) > _LISTED:
        print_to.print(f"  and {len(study.private) - _LISTED:,} more", **_PLAIN)
    for caution in study.cautions:
        print_to.print(Text.assemble(("CHECK: ", "bold red"), caution))
    print_to.print(f"\n{out} written. Read it, then:", **_PLAIN)
    for command in (
        *first,
        f"sweep {out} --dry-run",
        f"sweep {out}",
        f"report runs/{sweep_name(out)}",
    ):
        print_to.print(f"  medldr {command}", **_PLAIN)
