"""Answers to new items with the reasons: heat maps as pictures, as a page and as numbers."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.listing.folders import HEAT_PAGE, holds_heat_maps
from medldr.errors import InputError
from medldr.folders.files import check_replaceable, whole_folder, write_text
from medldr.plugins import takes_plugins
from medldr.prediction.answers import Answers, Unreadable, refuse_no_answer
from medldr.prediction.explainer import Explainer
from medldr.prediction.predict import Inputs, answer, load_runs
from medldr.prediction.trained import Trained
from medldr.reporting.pages.prediction import Decided, Decision, prediction_page
from medldr.reporting.writers.html import html_page

_SHOWN: Final = 10
"""Pictures that a notebook shows; the folder has all."""


@dataclass(frozen=True, repr=False)
class Explained:
    """Answers to new items, and where the networks looked.

    Attributes:
        answers: The answers.
        heat: ``(N,)`` the heat map of each item that was answered, ``(H, W)`` or ``(X, Y, Z)``,
            of the size of its image as the run stores it; the mean of all runs, from 0 to 1. Images
            of an item that are channels share one map; each view has its own, all on one scale:
            ``(views, H, W)`` or ``(views, X, Y, Z)``, zero for a missing one. Empty where they were
            not kept, or no network has one, as the answers' notes say.
        folder: Where the pictures are: ``0001.png`` is the first item that was answered.
        page: The page of them.
    """

    answers: Answers
    heat: tuple[NDArray[np.float32], ...]
    folder: Path
    page: Path

    def __repr__(self) -> str:
        return f"Explained({self.answers!r}, {self.page})"

    def _repr_html_(self) -> str:
        """The answers and the first pictures."""
        files = [self.folder / f"{row:04}.png" for row in range(1, len(self.answers) + 1)]
        there = [file for file in files[:_SHOWN] if file.is_file()]
        drawn = [base64.b64encode(file.read_bytes()).decode() for file in there]
        pictures = "".join(f'<img src="data:image/png;base64,{one}">' for one in drawn)
        return self.answers._repr_html_() + pictures


@takes_plugins
def explain(
    runs: str | Path | Sequence[str | Path],
    inputs: Inputs,
    out: str | Path = "explanations",
    *,
    tta: str | Sequence[str] = (),
    device: str | None = None,
    path_column: str | None = None,
    group: str | None = None,
    spacing: Sequence[float] | None = None,
    precision: str | None = None,
    encoder: str | Path | None = None,
    force: bool = False,
    show_ids: bool = False,
    keep: bool = True,
    plugins: Sequence[str] = (),
) -> Explained:
    """Answer new items, and draw for each where the network looked.

    How it is drawn is on the page and in each picture's description: Grad-CAM, or of a network of
    tokens (a ViT) gradient-weighted attention. Where a network has neither feature maps nor
    attention between patches there are answers alone, and a note says why.

    Beside the picture of a volume that a file holds, ``0001.png``, lies its heat map on the grid of
    the scan, ``0001.nii.gz``, to be laid over it in a viewer.

    What is drawn is the class that is decided for: of a volume, the axial, coronal and sagittal
    plane through the strongest heat, and the same planes under the heat map.

    Args:
        runs: As `medldr.predict` takes them, and so all that is not listed here.
        inputs: Files, folders and tables by their paths, or arrays.
        out: The folder of the pictures and their page, `index.html`.
        tta: Views of each image whose probabilities are averaged.
        device: Device to use; unset: the runs' own.
        path_column: Column of a table that names files.
        group: Column of a table with the patient of each item.
        spacing: Of arrays, mm between pixels along each axis.
        precision: The one to answer in; unset: that of training. Heat maps are made in float32.
        encoder: Of runs on stored latents, of which there is no heat map.
        force: Replace the heat maps of an earlier call in `out`.
        show_ids: Name the files on the page.
        keep: Keep the heat maps in memory, too, as `Explained.heat`.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: As `medldr.predict`, or if no item can be used, or `out` holds something.
    """
    loaded = load_runs(runs, device, precision, encoder)
    if not loaded[0].record.input.spatial_size:
        raise InputError(
            f"{loaded[0].folder} was trained on stored latents, of which no heat map can be drawn: "
            "predict without --explain, or explain a run on the images themselves"
        )
    out = Path(out)
    check_replaceable(out, "heat maps", holds_heat_maps, force=force)
    with whole_folder(out) as folder:  # an end on the way leaves what was there
        explainer = Explainer(loaded, folder, keep=keep)
        answers = answer(loaded, inputs, tta, path_column, group, spacing, explainer)
        refuse_no_answer(answers)
        answers = _with_notes(answers, explainer)
        write_text(folder / HEAT_PAGE, _page(loaded, answers, explainer, show_ids=show_ids))
    return Explained(answers, tuple(explainer.heat), out, out / HEAT_PAGE)


def _with_notes(answers: Answers, explainer: Explainer) -> Answers:
    drawn, of_groups = tuple(explainer.notes.values()), answers.by_group
    if of_groups is not None:
        of_groups = replace(of_groups, notes=(*of_groups.notes, *drawn))
    return replace(answers, notes=(*answers.notes, *drawn), by_group=of_groups)


def _page(
    runs: Sequence[Trained], answers: Answers, explainer: Explainer, *, show_ids: bool
) -> str:
    shown = answers
    if not show_ids:
        hidden = [Unreadable("an item", one.reason) for one in answers.unreadable]
        names = tuple(f"item {row}" for row in range(1, len(answers) + 1))
        shown = replace(answers, names=names, unreadable=tuple(hidden))
    title = runs[0].folder.resolve().name
    return html_page(prediction_page(decisions(title, shown), explainer.pictures, explainer.method))


def decisions(title: str, answers: Answers, widest: int | None = None) -> Decided:
    """Answers as pages and tables take them, their names cut to a width."""
    positive, threshold = answers.positive_class, answers.threshold
    rule = None if positive is None or threshold is None else (positive, threshold)
    column = None if rule is None else answers.class_names.index(rule[0])
    made = []
    for row, (name, predicted) in enumerate(zip(answers.names, answers.predicted, strict=True)):
        prob = answers.prob[row]
        short = widest is not None and len(name) > widest
        called = f"…{name[1 - (widest or 0) :]}" if short else name
        classes = tuple(filter(None, predicted.split("|"))) if answers.task == "multi-label" else (
            predicted,
        )  # fmt: skip
        chance = float(prob.max() if column is None else prob[column])
        made.append(Decision(called, classes, chance, answers.warnings[row]))
    items = "groups" if answers.images else "items"
    return Decided(title, items, made, rule, answers.notes, answers.unreadable)
