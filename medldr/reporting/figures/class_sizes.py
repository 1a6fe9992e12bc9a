"""Training images of each class, the largest class first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from medldr.evaluation.metrics.items import Shots
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import MUTED, add_tips, draw_axes, shorten
from medldr.reporting.figures.frequency import LOOKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMES: Final = 12
"""Classes whose names fit below the figure."""
STEEP: Final = 20
"""How many times the smallest class the largest one may be before the axis is logarithmic."""


def class_sizes_figure(
    counts: Mapping[str, int], shots: Shots, *, name: str = "class-sizes", of: str = ""
) -> Drawing | None:
    """A bar per class; None where no class has an image.

    Args:
        counts: Training images by class.
        shots: Limits between many, medium and few; the numbers in it are not used.
        name: Unique within the page.
        of: What the figure is of, where there are several.
    """
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if not ranked or not ranked[0][1]:
        return None
    values = [count for _, count in ranked]
    steep = values[0] > STEEP * max(values[-1], 1)

    def paint(axes: Axes) -> None:
        for bucket, (colour, _) in LOOKS.items():
            places = [n for n, count in enumerate(values) if shots.bucket(count) == bucket]
            if places:
                axes.bar(places, [values[n] for n in places], color=colour, width=0.8)
                axes.plot([], [], color=colour, lw=6, label=f"{bucket} ({len(places)})")
        if steep:
            axes.set_yscale("log")
            axes.set_ylim(bottom=max(values[-1], 1) / 2)  # the smallest class keeps a bar
        for limit in (shots.many, shots.few):
            if values[-1] < limit < values[0]:
                axes.axhline(limit, color=MUTED, lw=1, ls=":")
        texts = [f"{title}: {count:,} training images" for title, count in ranked]
        add_tips(axes, range(len(values)), [max(value, 1) for value in values], texts)
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        if len(ranked) <= MOST_NAMES:
            titles = [shorten(title, 16) for title, _ in ranked]
            axes.set_xticks(range(len(ranked)), titles, rotation=35, ha="right")
        else:
            axes.set_xticks([])

    return draw_axes(
        name,
        paint,
        labels=("" if len(ranked) <= MOST_NAMES else "classes, the largest first",
                "training images" + (" (logarithmic)" if steep else "")),
        legend=3,
        title=f"Training images of each class{f', {of}' if of else ''}",
        caption=f"One bar per class. Many: more than {shots.many} training images; few: fewer than "
        f"{shots.few}; medium: between. Classes with few are easily missed.",
        alt=f"{len(ranked)} classes from {ranked[0][0]} ({values[0]:,} training images) to "
        f"{ranked[-1][0]} ({values[-1]:,}).",
        size=(5.2, 3.3),
    )  # fmt: skip
