"""The page of explanations: the heat map of each new item beside its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from medldr.reporting.document import Banner, Bullets, Document, Paragraph, Picture, Pictures
from medldr.reporting.document import Section as Part
from medldr.reporting.prose import sentence
from medldr.reporting.table import Cell, Row, Table

if TYPE_CHECKING:
    from medldr.types import Task


def prediction_page(
    title: str,
    class_names: Sequence[str],
    task: Task,
    answers: Sequence[tuple[str, str, float, Sequence[str]]],
    pictures: Sequence[tuple[str, bool]],
    notes: Sequence[str],
    unreadable: int,
) -> Document:
    """The page.

    Args:
        title: What answered.
        class_names: In the order of the run.
        task: Kind of labels.
        answers: Of each item what it is called, the predicted class, its probability, warnings.
        pictures: PNG files in base64 of the first items, and whether the heat map of each is zero
            everywhere.
        notes: What readers should know.
        unreadable: How many items could not be used.
    """
    subtitle = f"{len(answers):,} new items, {len(class_names)} classes"
    warned = sum(bool(said) for *_, said in answers)
    banners = []
    if warned:
        text = sentence("unusual_items", count=warned, total=len(answers))
        banners.append(Banner("warning", text))
    found = Part("answers", "Answers", "Answers")
    found.add(_counts(class_names, answers) if task != "multi-label" else None)
    said = [*notes]
    if unreadable:
        said.append(sentence("unreadable_items", count=unreadable))
    found.add(Bullets(said, "notes"))
    maps = Part("maps", "Where the network looked", "Heat maps")
    maps.add(Paragraph(sentence("heat_maps")))
    shown = [_picture(*one, *made) for one, made in zip(answers, pictures, strict=False)]
    maps.add(Pictures(shown, large=True))
    if len(pictures) < len(answers):
        maps.add(Paragraph(sentence("more_maps", count=len(answers) - len(pictures)), "small"))
    return Document(title, "Predictions", subtitle, banners, [found, maps])


def _counts(
    class_names: Sequence[str], answers: Sequence[tuple[str, str, float, Sequence[str]]]
) -> Table:
    counts = Counter(predicted for _, predicted, _, _ in answers)
    table = Table("Predicted classes", ["Class", "Items"], intervals=False)
    table.rows.extend(Row(name, [Cell(counts[name])]) for name in class_names)
    return table


def _picture(
    name: str, predicted: str, probability: float, warnings: Sequence[str], png: str, blank: bool
) -> Picture:
    lines = [name, f"{predicted} ({100 * probability:.1f}%)", *warnings]
    if blank:
        lines.append(sentence("blank_map"))
    return Picture(png, lines, f"Heat map of an item that was predicted as {predicted}")
