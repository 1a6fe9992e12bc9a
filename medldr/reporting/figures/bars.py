"""Training images of each class as bars, where their sizes say something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from medldr.evaluation.metrics.items import Shots
from medldr.reporting.document import Drawing, Figures
from medldr.reporting.figures import drawing as palette
from medldr.reporting.figures.drawing import add_tips, draw_axes, figure_words, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS: Final = {"many": palette.BLUE, "medium": palette.GREEN, "few": palette.ORANGE}
"""Colour of each group of classes."""
MOST_NAMES: Final = 12
"""Bars whose names fit below the figure."""
STEEP: Final = 20
"""How many times the smallest bar the largest one may be before the axis is logarithmic."""
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
    return asked or (len(counts) > 2 and max(counts) >= UNEQUAL * max(min(counts), 1))


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
    return Figures.of(*drawn)


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
    bars = sorted(counts.items(), key=lambda item: -item[1])
    if not bars or not bars[0][1]:
        return None
    (largest, high), (smallest, low) = bars[0], bars[-1]
    few, steep = len(bars) <= MOST_NAMES, high > STEEP * max(low, 1)

    def paint(axes: Axes) -> None:
        for bucket, colour in LOOKS.items():
            places = [n for n, (_, count) in enumerate(bars) if shots.bucket(count) == bucket]
            if places:
                axes.bar(places, [bars[n][1] for n in places], color=colour, width=0.8)
                axes.plot([], [], color=colour, lw=6, label=f"{bucket} ({len(places)})")
        if steep:
            axes.set_yscale("log")
            axes.set_ylim(bottom=max(low, 1) / 2)  # the smallest keeps a bar
        for limit in (shots.many, shots.few):
            if low < limit < high:
                axes.axhline(limit, color=palette.MUTED, lw=1, ls=":")
        tips = [f"{title}: {count:,} training images" for title, count in bars]
        add_tips(axes, range(len(bars)), [max(count, 1) for _, count in bars], tips)
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        names = [shorten(title, 16) for title, _ in bars] if few else []
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")

    alt = f"{len(bars)} classes from {largest} ({high:,} training images) to {smallest} ({low:,})."
    words = figure_words("class-sizes", many=shots.many, few=shots.few, of=f", {of}" if of else "")
    across, up = words["labels"]
    words["labels"] = ("" if few else across, up + (" (logarithmic)" if steep else ""))
    return draw_axes(name, paint, alt=alt, legend=3, size=(5.2, 3.3), **words)
