"""`medldr predict`: the answers of a trained run, or of several, to new scans."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from medldr.commands.common_options import Device, Force, Run
from medldr.errors import InputError
from medldr.folders.files import write_text

if TYPE_CHECKING:
    from medldr.prediction.answers import Answers
    from medldr.prediction.explainer import Explainer

SHOWN: Final = 20
LISTED: Final = 5
WIDEST: Final = 32


def predict(
    run: Run,
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Scans: files, folders, folders of DICOM series, or a table with a column of "
            "files. FOLDER#UID names one series, FILE.npz#name[3] one array.",
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
        typer.Option("--explain", help="Folder for heat maps (Grad-CAM) of the answers."),
    ] = None,
    path_column: Annotated[
        str | None, typer.Option("--path", help="Column of a table with the files.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            help="Column of a table with the patient of each scan: NAME_by_group.csv has a row for "
            "each patient, as evaluation.aggregate made them of the run's own.",
        ),
    ] = None,
    device: Device = None,
    force: Force = False,
    show_ids: Annotated[
        bool, typer.Option("--show-ids", help="Name the files on the page of heat maps.")
    ] = False,
) -> None:
    """Answer new scans with a trained run, or with several as an ensemble.

    Scans are read as those of training were. What cannot be read is listed in
    NAME_unreadable.csv, the rest is answered, and the exit code is 3.
    """
    from medldr.prediction.answers import check_free, write_answers
    from medldr.prediction.by_group import by_group, group_rule
    from medldr.prediction.explainer import Explainer
    from medldr.prediction.items import find_items
    from medldr.prediction.predict import load_runs, predict_items

    check_free(out, paths, force=force)
    out_by_group = out.with_name(f"{out.stem}_by_group.csv")
    if group is not None:
        check_free(out_by_group, paths, force=force)
    runs = load_runs([run, *(ensemble or ())], device)
    how = None if group is None else group_rule([one.folder for one in runs])
    explainer = None if explain is None else Explainer(runs, explain, force=force)
    items = find_items(paths, len(runs[0].shape) - 1, path_column, group)
    views = [name for name in tta.split("+") if name]
    answers = predict_items(runs, items, tta=views, on_answer=explainer)
    if not len(answers):
        first = answers.unreadable[0]
        raise InputError(
            f"none of {len(answers.unreadable):,} items can be predicted, such as {first.name}: "
            f"{first.reason}"
        )
    written = write_answers(answers, out)
    console = Console(highlight=False)
    if how is not None:
        of_groups = by_group(answers, items, how)
        written += write_answers(of_groups, out_by_group)
        _print(of_groups, console)
    if explainer is not None:
        written.append(_write_page(run.resolve().name, answers, explainer, show_ids=show_ids))
    _print(answers, console)
    for path in written:
        console.print(str(path), soft_wrap=True, markup=False)
    raise typer.Exit(3 if answers.unreadable else 0)


def _write_page(title: str, answers: Answers, explainer: Explainer, *, show_ids: bool) -> Path:
    from medldr.reporting.pages.prediction import prediction_page
    from medldr.reporting.writers.html import html_page

    most = answers.prob.max(axis=1).tolist()
    rows = zip(answers.names, answers.predicted, most, answers.warnings, strict=True)
    listed = [
        (name if show_ids else f"item {row}", predicted or "no label", prob, said)
        for row, (name, predicted, prob, said) in enumerate(rows, start=1)
    ]
    page = prediction_page(
        title,
        answers.class_names,
        answers.task,
        listed,
        explainer.pictures,
        answers.notes,
        len(answers.unreadable),
    )
    path = explainer.folder / "index.html"
    write_text(path, html_page(page))
    return path


def _print(answers: Answers, console: Console) -> None:
    console.print(_table(answers))
    if len(answers) > SHOWN:
        console.print(f"and {len(answers) - SHOWN:,} more")
    for note in answers.notes:
        console.print(f"note: {note}", markup=False)
    warned = sum(bool(said) for said in answers.warnings)
    if warned:
        what = "groups" if answers.images else "items"
        console.print(
            f"{warned:,} of {len(answers):,} {what} have warnings: see the last column of the "
            "table",
            markup=False,
        )
    for one in answers.unreadable[:LISTED]:
        console.print(f"{one.name}: {one.reason}", soft_wrap=True, markup=False)
    if len(answers.unreadable) > LISTED:
        console.print(f"and {len(answers.unreadable) - LISTED:,} more that cannot be read")


def _table(answers: Answers) -> Table:
    called = answers.called_positive
    table = Table(
        Column("Group" if answers.images else "Item", overflow="fold"),
        Column("Predicted", overflow="fold"),
        Column("Probability", justify="right", no_wrap=True),
        *([] if called is None else ["Above threshold"]),
        Column("Warnings", justify="right"),
        box=None,
    )
    most = answers.prob.max(axis=1).tolist()
    rows = zip(answers.names, answers.predicted, most, answers.warnings, strict=True)
    for row, (name, predicted, prob, said) in enumerate(itertools.islice(rows, SHOWN)):
        shown = name if len(name) <= WIDEST else f"…{name[1 - WIDEST :]}"
        above = [] if called is None else ["yes" if called[row] else "no"]
        cells = [shown, predicted or "(none)", f"{prob:.3f}", *above, str(len(said) or "")]
        table.add_row(*map(Text, cells))
    return table
