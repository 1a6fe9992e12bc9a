"""Bars in groups of one colour each, such as training images by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    GREEN,
    MUTED,
    ORANGE,
    add_tips,
    draw_axes,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS: Final = {"many": (BLUE, "o"), "medium": (GREEN, "s"), "few": (ORANGE, "^")}
"""Colour and marker of each group of classes; markers tell them apart without colour."""
MOST_NAMES: Final = 12
"""Bars whose names fit below the figure."""
STEEP: Final = 20
"""How many times the smallest bar the largest one may be before the axis is logarithmic."""


class Bar(NamedTuple):
    """One bar: its name, its height, its group, and what it says under the pointer."""

    name: str
    value: int
    group: str
    tip: str


def bars_figure(
    name: str,
    bars: Sequence[Bar],
    colours: Mapping[str, str],
    *,
    labels: tuple[str, str],
    limits: Sequence[float] = (),
    **words: Any,
) -> Drawing:
    """Bars in their order, coloured by group.

    Args:
        name: Unique within the page.
        bars: From left to right, the first one being the largest and the last one the smallest.
        colours: By group, in the order of the legend.
        labels: Of the horizontal axis, where names do not fit below it, and of the vertical one.
        limits: Where to draw dotted lines, if they lie among the heights.
        words: Further arguments of `draw_axes`.
    """
    low, high, few = bars[-1].value, bars[0].value, len(bars) <= MOST_NAMES
    steep = high > STEEP * max(low, 1)

    def paint(axes: Axes) -> None:
        for group, colour in colours.items():
            places = [place for place, bar in enumerate(bars) if bar.group == group]
            if places:
                axes.bar(places, [bars[n].value for n in places], color=colour, width=0.8)
                axes.plot([], [], color=colour, lw=6, label=f"{group} ({len(places)})")
        if steep:
            axes.set_yscale("log")
            axes.set_ylim(bottom=max(low, 1) / 2)  # the smallest keeps a bar
        for limit in limits:
            if low < limit < high:
                axes.axhline(limit, color=MUTED, lw=1, ls=":")
        heights = [max(bar.value, 1) for bar in bars]
        add_tips(axes, range(len(bars)), heights, [bar.tip for bar in bars])
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        names = [shorten(bar.name, 16) for bar in bars] if few else []
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")

    shown = ("" if few else labels[0], labels[1] + (" (logarithmic)" if steep else ""))
    return draw_axes(name, paint, labels=shown, **words)
