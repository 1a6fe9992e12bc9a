"""`medldr data split`: make the splits of a data set once, print them, write them to a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from medldr.commands.common_options import DataName, FolderAndOverrides
from medldr.console import Console, say


def split(
    name: DataName,
    overrides: FolderAndOverrides = None,
    out: Annotated[
        Path, typer.Option("--out", help="The manifest to write, for example splits.json.")
    ] = Path("splits.json"),
    folds: Annotated[
        int | None,
        typer.Option("--folds", help="Make this many folds; each item is tested in one of them."),
    ] = None,
    leave_one_domain_out: Annotated[
        bool,
        typer.Option("--leave-one-domain-out", help="Make a fold per domain that tests on it."),
    ] = False,
    val: Annotated[
        float | None,
        typer.Option("--val", help="Share of all items that validates; unset: data.val_fraction."),
    ] = None,
    test: Annotated[
        float | None,
        typer.Option("--test", help="Share of all items to test; unset: data.test_fraction."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Seed of the division; unset: data.split_seed."),
    ] = None,
    replace_splits: Annotated[
        bool,
        typer.Option("--replace-splits", help="Make splits although the data set has its own."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another manifest of that name.")
    ] = False,
) -> None:
    """Divide a data set once, and write which items train, validate and test to a manifest.

    Groups (patients, slides) stay whole; classes and domains keep their proportions in every part.
    Runs use the manifest with data.manifest=FILE and, where it holds several folds, data.fold.
    """
    from medldr.checking.find_data import require_data

    require_data(name)
    from medldr.checking.find_data import data_section
    from medldr.commands.data import print_plan
    from medldr.data.load import load_table
    from medldr.data.splits.folds import plan_manifest, rare_class_notes
    from medldr.data.splits.manifest import write_manifest
    from medldr.errors import InputError
    from medldr.types import SPLITS

    section = data_section(name, overrides or ()).with_seed(0)
    given = {"val_fraction": val, "test_fraction": test, "split_seed": seed}
    for option, value in (("--val", val), ("--test", test)):
        lowest = 0 if option == "--test" else 1e-9  # without validation no weights are chosen
        if value is not None and not lowest <= value < 1:
            raise InputError(f"{option} is {value:g}; it is a share of all items, between 0 and 1")
    if test is not None and folds is not None:
        raise InputError(f"--test: with --folds {folds} each fold tests 1/{folds} of the items")
    section = section.model_copy(update={k: v for k, v in given.items() if v is not None})
    table = load_table(section)
    if (table.splits != "").any() and not replace_splits:
        own = ", ".join(s for s in SPLITS if (table.splits == s).any())
        raise InputError(
            f"{table.name} has splits of its own ({own}), which published numbers belong to. To "
            "use others in their place, add --replace-splits"
        )
    manifest = plan_manifest(table, section, folds=folds, domains=leave_one_domain_out)
    console = Console()
    print_plan(table, manifest, console)
    for note in rare_class_notes(table, manifest):
        console.print(f"[yellow]note[/yellow] {escape(note)}", highlight=False, soft_wrap=True)
    new = write_manifest(out, manifest, force=force)
    say(f"{out} {'written' if new else 'holds just these splits already'}", console)
    several = len(manifest.folds) > 1
    use = f" data.fold={next(iter(manifest.folds))}" if several else ""
    say(f"runs use it with data.manifest={out}{use}", console)
