"""How unequal the classes of a training set are, where that says something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from medldr.data.counting import counted
from medldr.evaluation.metrics.items import BUCKETS, Shots
from medldr.reporting.document import Block, Drawing, Figures, Paragraph
from medldr.reporting.figures.bars import LOOKS, Bar, bars_figure
from medldr.reporting.prose import sentence
from medldr.reporting.table import Cell, Row, Table

UNEQUAL: Final = 2
"""How many times the smallest class the largest one is before a page shows their sizes."""

_MOST_FIGURES: Final = 4


def unequal(counts: Sequence[int], *, asked: bool = False) -> bool:
    """Whether a page should show sizes: more than two unequal classes, or an imbalance asked for.

    Args:
        counts: Training images of each class.
        asked: Whether the run makes its training rows long-tailed.

    Example:
        >>> unequal([50, 30, 25]), unequal([50, 30, 26]), unequal([50, 5])
        (True, False, False)
    """
    if asked:
        return True
    return len(counts) > 2 and max(counts) >= UNEQUAL * max(min(counts), 1)


def in_words(counts: Sequence[int], shots: Shots) -> str:
    """How many classes have many, a medium number of and few images, and the extremes.

    Example:
        >>> in_words([500, 5, 5], Shots(()))[50:]
        '2 classes have few (fewer than 20); the largest class has 500 and the smallest 5.'
    """
    parts = {
        "many": f"many training images (more than {shots.many})",
        "medium": "a medium number",
        "few": f"few (fewer than {shots.few})",
    }
    members = {b: sum(shots.bucket(n) == b for n in counts) for b in BUCKETS}
    said = [
        f"{counted(members[b], 'class has', 'classes have')} {parts[b]}"
        for b in BUCKETS
        if members[b]
    ]
    ends = f"the largest class has {max(counts):,} and the smallest {min(counts):,}"
    return f"{', '.join(said)}; {ends}."


def size_blocks(
    plans: Mapping[str, Mapping[str, int]], shots: Shots | None = None, *, table: bool = True
) -> list[Block]:
    """Sizes in words, as bars and in a table.

    Args:
        plans: Training images by class, for each way of dividing the data (its text may be empty).
        shots: Limits between many, medium and few; None: the usual ones.
        table: Whether to add the table.
    """
    shots = shots or Shots(())
    blocks: list[Block] = []
    if len(plans) == 1:
        blocks += [Paragraph(in_words(list(counts.values()), shots)) for counts in plans.values()]
    if len(plans) <= _MOST_FIGURES:
        drawn = [
            class_sizes_figure(counts, shots, name=f"class-sizes-{number}", of=plan)
            for number, (plan, counts) in enumerate(plans.items())
        ]
        blocks.append(Figures([drawing for drawing in drawn if drawing is not None]))
    if table:
        blocks += [_table(plans, shots), Paragraph(sentence("class_sizes"), "small")]
    return blocks


def _table(plans: Mapping[str, Mapping[str, int]], shots: Shots) -> Table:
    columns = [plan or "Training images" for plan in plans]
    found = Table("Training images of each class", ["Class", *columns], intervals=False)
    for name in next(iter(plans.values())):
        cells = [Cell(counts[name], detail=shots.bucket(counts[name])) for counts in plans.values()]
        found.rows.append(Row(name, cells))
    return found


def class_sizes_figure(
    counts: Mapping[str, int], shots: Shots, *, name: str = "class-sizes", of: str = ""
) -> Drawing | None:
    """A bar per class, the largest class first; None where no class has an image.

    Args:
        counts: Training images by class.
        shots: Limits between many, medium and few; the numbers in it are not used.
        name: Unique within the page.
        of: What the figure is of, where there are several.
    """
    bars = [
        Bar(title, count, shots.bucket(count), f"{title}: {count:,} training images")
        for title, count in sorted(counts.items(), key=lambda item: -item[1])
    ]
    if not bars or not bars[0].value:
        return None
    return bars_figure(
        name, bars, {bucket: colour for bucket, (colour, _) in LOOKS.items()},
        limits=(shots.many, shots.few), legend=3, size=(5.2, 3.3),
        labels=("classes, the largest first", "training images"),
        title=f"Training images of each class{f', {of}' if of else ''}",
        caption=f"One bar per class. Many: more than {shots.many} training images; few: fewer than "
        f"{shots.few}; medium: between. Classes with few are easily missed.",
        alt=f"{len(bars)} classes from {bars[0].name} ({bars[0].value:,} training images) to "
        f"{bars[-1].name} ({bars[-1].value:,}).",
    )  # fmt: skip
