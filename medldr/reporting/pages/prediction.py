"""Answers to new items: how many were decided for each class, the decisions, the heat maps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from medldr.data.counting import counted
from medldr.reporting.document import (
    Bullets,
    Document,
    Paragraph,
    Picture,
    Pictures,
    Section,
    Verdict,
)
from medldr.reporting.prose import assemble, section, sentence
from medldr.reporting.table import Cell, Row, Table

_MOST_CLASSES = 4
_MOST_ROWS = 200
"""Decisions on the page; predictions.csv has all."""


@dataclass(frozen=True)
class Decision:
    """The answer to one item.

    Attributes:
        name: What it is called.
        classes: What was decided: one class, or the labels that are present.
        probability: Of the positive class where a threshold decides, else of the class named.
        warnings: What is unusual about the item.
    """

    name: str
    classes: tuple[str, ...]
    probability: float
    warnings: Sequence[str]


@dataclass(frozen=True)
class Decided:
    """All answers.

    Attributes:
        title: What answered.
        items: ``items`` or ``groups``.
        decisions: In the order of the inputs.
        rule: The positive class and its threshold; None where the most probable class counts.
        notes: How the answers were made.
        unreadable: Items that could not be used, and why.
    """

    title: str
    items: str
    decisions: Sequence[Decision]
    rule: tuple[str, float] | None
    notes: Sequence[str]
    unreadable: Sequence[tuple[str, str]]


def overview(found: Decided, most: int | None = None) -> Document:
    """Verdict and decisions, all or the first ones."""
    heading = "Probability" if found.rule is None else f"Probability of {found.rule[0]}"
    columns = [found.items.removesuffix("s").capitalize(), "Decision", heading, "Warnings"]
    table = Table("Decisions", columns, texts=(1,), intervals=False)
    for one in found.decisions[:most]:
        chance = Cell(f"{one.probability:.3f}", order=one.probability)
        said = Cell(len(one.warnings)) if one.warnings else Cell("")
        table.rows.append(Row(one.name, [Cell(", ".join(one.classes) or "none"), chance, said]))
    if left := len(found.decisions) - len(table.rows):
        table.notes.append(f"and {left:,} more in the csv file")
    shown = section("prediction", "answers", table)
    return Document(found.title, "", "", (), [] if shown is None else [shown], _verdict(found))


def _verdict(found: Decided) -> Verdict:
    """How many were decided for each class, by which rule, and what should not be trusted."""
    total, items = len(found.decisions), found.items
    answered = counted(total, items.removesuffix("s"), items)
    counts = Counter(name for one in found.decisions for name in one.classes)
    if not total:
        word, said = f"{answered} answered", "Nothing could be read."
    elif found.rule is not None:
        positive, threshold = found.rule
        word = f"{counts[positive]:,} of {total:,} above the threshold"
        said = f"{positive} is decided for {items} above a probability of {threshold:.3g}."
    else:
        word = f"{answered} answered"
        each = [f"{name} {count:,}" for name, count in counts.most_common(_MOST_CLASSES)]
        rest = len(counts) - len(each)
        each += [counted(rest, "other class", "other classes")] if rest else []
        said = f"Decided: {', '.join(each)}." if each else "No label is present."
    more = []
    if warned := sum(bool(one.warnings) for one in found.decisions):
        more.append(sentence("unusual_items", count=warned, of=answered))
    if found.unreadable:
        name, reason = found.unreadable[0]
        count = len(found.unreadable)
        more.append(sentence("unreadable_items", count=count, name=name, reason=reason))
    return Verdict(word, said, "open", more)


def prediction_page(found: Decided, pictures: Sequence[tuple[str, bool]], method: str) -> Document:
    """The page of heat maps.

    Args:
        found: The answers.
        pictures: PNG files in base64 of the first items, and whether the heat map of each is zero
            everywhere.
        method: How heat maps were made.
    """
    shown = overview(found, _MOST_ROWS)
    sections = assemble(
        "prediction",
        [
            ("maps", lambda: _maps(found, pictures, method)),
            ("answers", lambda: shown.section("answers")),
            ("notes", lambda: section("prediction", "notes", Bullets(found.notes))),
        ],
    )
    return replace(shown, kicker="medldr · predictions", sections=sections)


def _maps(found: Decided, pictures: Sequence[tuple[str, bool]], method: str) -> Section | None:
    if not pictures:
        return None
    drawn = [_picture(*pair) for pair in zip(found.decisions, pictures, strict=False)]
    left = len(found.decisions) - len(pictures)
    more = Paragraph(sentence("more_maps", count=left) if left > 0 else "", "small")
    return section("prediction", "maps", Pictures(drawn, large=True), more, method=method)


def _picture(one: Decision, made: tuple[str, bool]) -> Picture:
    png, blank = made
    said = ", ".join(one.classes) or "none"
    lines = [f"{one.name}: {said}", *one.warnings, *([sentence("blank_map")] if blank else [])]
    return Picture(png, lines, f"Heat map of an item that was decided as {said}")
