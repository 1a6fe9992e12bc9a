"""How unequal the classes of a training set are, where that says something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from medldr.evaluation.metrics.items import Shots
from medldr.reporting.document import Drawing, Figures
from medldr.reporting.figures.bars import LOOKS, Bar, bars_figure
from medldr.reporting.figures.said import figure_words

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


def size_figures(plans: Mapping[str, Mapping[str, int]], shots: Shots | None = None) -> Figures:
    """Sizes as bars; nothing for more ways of dividing the data than a reader compares.

    Args:
        plans: Training images by class, for each way of dividing the data (its text may be empty).
        shots: Limits between many, medium and few; None: the usual ones.
    """
    drawn = [
        class_sizes_figure(counts, shots or Shots(()), name=f"class-sizes-{number}", of=plan)
        for number, (plan, counts) in enumerate(plans.items())
        if len(plans) <= _MOST_FIGURES
    ]
    return Figures([drawing for drawing in drawn if drawing is not None])


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
    looks = {bucket: colour for bucket, (colour, _) in LOOKS.items()}
    alt = f"{len(bars)} classes from {bars[0].name} ({bars[0].value:,} training images) to "
    alt += f"{bars[-1].name} ({bars[-1].value:,})."
    given = {"many": shots.many, "few": shots.few, "of": f", {of}" if of else ""}
    words = figure_words("class-sizes", **given)
    words |= {"limits": (shots.many, shots.few), "legend": 3, "size": (5.2, 3.3)}
    return bars_figure(name, bars, looks, alt=alt, **words)
