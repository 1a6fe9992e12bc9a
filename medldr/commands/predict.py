"""`medldr predict`: the answers of a trained run, or of several, to new scans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from medldr.commands.common_options import PICK, Device, Encoder, Force, PickedRun, Precision, Run
from medldr.console import say
from medldr.errors import InputError

if TYPE_CHECKING:
    from medldr.console import Console
    from medldr.prediction.answers import Answers

WIDEST: Final = 32


def predict(
    run: Run,
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Scans: files, folders, folders of DICOM series, or a table with a column of "
            "files; of items with several images a table with a column for each, or files with "
            "nnU-Net's names. FOLDER#UID names one series, FILE.npz#name[3] one array.",
            metavar="PATH...",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The table to write.")] = Path(
        "predictions.csv"
    ),
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(
            "--ensemble", help="A further run, whose probabilities are averaged; may be repeated."
        ),
    ] = None,
    tta: Annotated[
        str,
        typer.Option(
            "--tta",
            help="Average over views of each image, joined by +: left_right, up_down, front_back, "
            "quarter_turns, of those that training has seen.",
        ),
    ] = "",
    explain: Annotated[
        Path | None,
        typer.Option("--explain", help="Folder for heat maps of the answers."),
    ] = None,
    path_column: Annotated[
        str | None,
        typer.Option(
            "--path",
            help="Column of a table with the files; of items of several images the columns, joined "
            "by commas (unset: as in training).",
        ),
    ] = None,
    item: Annotated[
        bool,
        typer.Option(
            "--item",
            help="The paths are the images of one item, in the order of the run's columns.",
        ),
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            help="Column of a table with the patient of each scan: NAME_by_group.csv has a row for "
            "each patient, as evaluation.aggregate made them of the run's own.",
        ),
    ] = None,
    precision: Precision = None,
    encoder: Encoder = None,
    device: Device = None,
    force: Force = False,
    show_ids: Annotated[
        bool, typer.Option("--show-ids", help="Name the files on the page of heat maps.")
    ] = False,
    pick: PickedRun = None,
) -> None:
    """Answer new scans with a trained run, or with several as an ensemble.

    Scans are read as those of training were. What cannot be read is listed in
    NAME_unreadable.csv, the rest is answered, and the exit code is 3.
    """
    from medldr.folders.files import require_folder
    from medldr.folders.one_run import one_run

    run = one_run(run, pick, otherwise=f"{PICK}; --ensemble RUN averages several").path
    runs = [run, *(ensemble or ())]
    for folder in runs[1:]:
        require_folder(folder)
    if explain is not None and explain.name.startswith("--"):
        raise InputError(f"--explain needs a folder before {explain}, as in --explain maps")
    if group is not None:
        from medldr.prediction.by_group import group_rule

        group_rule(runs)  # refuses runs that scored no groups before a network is loaded
    from medldr.prediction.answers import check_free, refuse_no_answer, write_answers
    from medldr.prediction.explain import explain as draw
    from medldr.prediction.predict import predict as answer
    from medldr.reporting.writers.terminal import console

    check_free(out, paths, force=force)
    out_by_group = out.with_name(f"{out.stem}_by_group.csv")
    if group is not None:
        check_free(out_by_group, paths, force=force)
    given = [tuple(paths)] if item else paths
    if explain is None:
        answers = answer(runs, given, tta=tta, device=device, path_column=path_column, group=group,
                         precision=precision, encoder=encoder)  # fmt: skip
    else:
        made = draw(
            runs, given, explain, tta=tta, device=device, path_column=path_column, group=group,
            precision=precision, encoder=encoder, force=force, show_ids=show_ids, keep=False,
        )  # fmt: skip
        answers = made.answers
    refuse_no_answer(answers)
    written = write_answers(answers, out)
    shown = answers
    if answers.by_group is not None:
        shown = answers.by_group
        written += write_answers(shown, out_by_group)
    if explain is not None:
        written.append(made.page)
    shown = replace(shown, unreadable=answers.unreadable)
    _print(run.resolve().name, shown, console(), len(written))
    for path in written:
        say(str(path), console())
    raise typer.Exit(3 if answers.unreadable else 0)


def _print(title: str, answers: Answers, out: Console, files: int) -> None:
    """Verdict, decisions and notes, in 25 lines with the paths that follow."""
    from medldr.prediction.explain import decisions
    from medldr.reporting.document import Bullets, Section
    from medldr.reporting.pages.prediction import overview
    from medldr.reporting.writers.terminal import LINES, print_document

    shown = overview(decisions(title, answers, WIDEST))
    notes = Section("notes", "", "", [Bullets([f"note: {note}" for note in answers.notes])])
    shown = replace(shown, sections=[*shown.sections, notes])
    print_document(shown, out, lines=LINES - files, rest="in the csv file")
