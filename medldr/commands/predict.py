"""`medldr predict`: the answers of a trained run, or of several, to new scans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from medldr.commands.common_options import Device, Force, Run
from medldr.errors import InputError
from medldr.folders.files import write_text

if TYPE_CHECKING:
    from rich.console import Console

    from medldr.prediction.answers import Answers
    from medldr.prediction.explainer import Explainer
    from medldr.reporting.pages.prediction import Decided

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
    from medldr.reporting.writers.terminal import console

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
    shown = answers
    if how is not None:
        shown = by_group(answers, items, how)
        written += write_answers(shown, out_by_group)
    title = run.resolve().name
    if explainer is not None:
        written.append(_write_page(title, answers, explainer, show_ids=show_ids))
    _print(title, replace(shown, unreadable=answers.unreadable), console(), len(written))
    for path in written:
        console().print(str(path), soft_wrap=True, markup=False)
    raise typer.Exit(3 if answers.unreadable else 0)


def _write_page(title: str, answers: Answers, explainer: Explainer, *, show_ids: bool) -> Path:
    from medldr.prediction.answers import Unreadable
    from medldr.reporting.pages.prediction import prediction_page
    from medldr.reporting.writers.html import html_page

    if not show_ids:
        hidden = [Unreadable("an item", one.reason) for one in answers.unreadable]
        names = tuple(f"item {row}" for row in range(1, len(answers) + 1))
        answers = replace(answers, names=names, unreadable=tuple(hidden))
    page = prediction_page(_decided(title, answers), explainer.pictures)
    path = explainer.folder / "index.html"
    write_text(path, html_page(page))
    return path


def _print(title: str, answers: Answers, out: Console, files: int) -> None:
    """Verdict, decisions and notes, in 25 lines with the paths that follow."""
    from medldr.reporting.document import Bullets, Section
    from medldr.reporting.pages.prediction import overview
    from medldr.reporting.writers.terminal import LINES, print_document

    shown = overview(_decided(title, answers, WIDEST))
    notes = Section("notes", "", "", [Bullets([f"note: {note}" for note in answers.notes])])
    shown = replace(shown, sections=[*shown.sections, notes])
    print_document(shown, out, lines=LINES - files, rest="in the csv file")


def _decided(title: str, answers: Answers, widest: int | None = None) -> Decided:
    """Answers as pages and tables take them, their names cut to a width."""
    from medldr.reporting.pages.prediction import Decided, Decision

    positive, threshold = answers.positive_class, answers.threshold
    rule = None if positive is None or threshold is None else (positive, threshold)
    column = None if rule is None else answers.class_names.index(rule[0])
    decisions = []
    for row, (name, predicted) in enumerate(zip(answers.names, answers.predicted, strict=True)):
        prob = answers.prob[row]
        short = widest is not None and len(name) > widest
        called = f"…{name[1 - (widest or 0) :]}" if short else name
        classes = tuple(filter(None, predicted.split("|"))) if answers.task == "multi-label" else (
            predicted,
        )  # fmt: skip
        chance = float(prob.max() if column is None else prob[column])
        decisions.append(Decision(called, classes, chance, answers.warnings[row]))
    items = "groups" if answers.images else "items"
    return Decided(title, items, decisions, rule, answers.notes, answers.unreadable)
