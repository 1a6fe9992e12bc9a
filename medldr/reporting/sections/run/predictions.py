"""How good the predictions of a run are: confusion, ROC, reliability, and each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import SplitRecord
from medldr.metrics import measure
from medldr.reporting.document import Figures, Paragraph, Section
from medldr.reporting.figures.confusion import confusion_figures
from medldr.reporting.figures.reliability import reliability_figures
from medldr.reporting.figures.roc import roc_curves, roc_figure
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import ordered, split_name


def confusion(files: RunFiles) -> Section | None:
    """What was taken for what; None where that was not counted."""
    judged, split = files.evaluation, headline(files.evaluation)
    if judged is None or split is None or not split.confusion:
        return None
    found = Section("confusion", "Confusion", "Confusion", [_where(files)])
    if judged.task == "multi-label":
        found.add(label_table(split.confusion, judged.class_names))
    else:
        found.add(Figures(confusion_figures(split.confusion, judged.class_names)))
    return found


def judging(files: RunFiles) -> Section | None:
    """ROC curves and reliability; None where neither can be drawn."""
    judged, split = files.evaluation, headline(files.evaluation)
    if judged is None or split is None:
        return None
    roc = roc_figure(split)
    drawings = [*([roc] if roc is not None else []), *reliability_figures(split, judged)]
    if not drawings:
        return None
    found = Section("judging", "ROC and reliability", "ROC and reliability", [_where(files)])
    if not roc_curves(split):
        auc = split.metrics.get("auc")
        reason = auc.reason if auc is not None and auc.reason else "it is not defined here"
        found.add(Paragraph(f"There is no ROC curve: {reason}."))
    found.add(Figures(drawings))
    return found


def classes(files: RunFiles) -> Section | None:
    """Results of each class or label; None where they were not scored."""
    judged, split = files.evaluation, headline(files.evaluation)
    if judged is None or split is None or not split.classes:
        return None
    labels = judged.task == "multi-label"
    title = f"Results by {'label' if labels else 'class'}"
    found = Section("classes", title, "Labels" if labels else "Classes")
    found.add(_where(files), class_table(split, labels=labels))
    return found


def _where(files: RunFiles) -> Paragraph:
    return Paragraph(f"{split_name(headline_split(files.evaluation))} split.", "small")


def class_table(split: SplitRecord, *, labels: bool = False) -> Table:
    """What is found of each class, with intervals."""
    keys = ordered(key for entry in split.classes.values() for key in entry.metrics)
    one, count = ("Label", "Positive") if labels else ("Class", "Images")
    table = Table(f"Results per {one.lower()}", [one, count])
    table.columns += [measure(key).heading for key in keys]
    for name, entry in split.classes.items():
        scored = {key: Estimate.of(number) for key, number in entry.metrics.items()}
        cells = [Cell() if entry.n is None else Cell(entry.n)]
        table.rows.append(Row(name, cells + [table.number(key, scored.get(key)) for key in keys]))
    return table


def label_table(counts: Sequence[Any], names: Sequence[str]) -> Table:
    """Right and wrong decisions of each label of a multi-label task.

    Args:
        counts: ``L x 2 x 2``, rows are the truth (absent, present), columns what was said.
        names: One per label.
    """
    table = Table(
        "Decisions per label at probability 0.5",
        ["Label", "Present, found", "Present, missed", "Absent, false alarm", "Absent, right"],
    )
    for name, ((right, alarm), (missed, found)) in zip(names, counts, strict=True):
        table.rows.append(Row(name, [Cell(n) for n in (found, missed, alarm, right)]))
    return table
