"""Values with intervals, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from medldr.folders.evaluation_record import DomainRecord
from medldr.metrics import measure
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    INK,
    ORANGE,
    RED,
    draw,
    legend_below,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Whisker:
    """One row of a forest figure: a value with its interval.

    Attributes:
        label: Text at the left.
        value: The estimate.
        low: Lower end of the interval; None where there is none.
        high: Upper end of the interval.
        accent: Drawn in the second colour.
    """

    label: str
    value: float
    low: float | None
    high: float | None
    accent: bool = False


def forest_figure(
    name: str,
    rows: Sequence[Whisker],
    *,
    title: str,
    caption: str,
    xlabel: str,
    factor: float = 1.0,
    reference: float | None = None,
    colours: tuple[str, str] = (BLUE, ORANGE),
    legend: tuple[str, str] | None = None,
    label_limit: int = 30,
) -> Drawing | None:
    """Values with intervals, one below the other; None where there are none.

    Args:
        name: Unique within the page.
        rows: From top to bottom.
        title: Title of the figure.
        caption: How to read it.
        xlabel: What is measured, with its unit.
        factor: 100 where values are shown as per cent.
        reference: Where to draw a vertical line, for example 0 for differences.
        colours: Of plain and of accented rows.
        legend: Names of the two colours.
        label_limit: Longest label; longer ones are cut.
    """
    if not rows:
        return None
    spans = [
        f"{row.label} {factor * row.value:.3g}"
        + ("" if row.low is None or row.high is None
           else f" ({factor * row.low:.3g} to {factor * row.high:.3g})")
        for row in rows
    ]  # fmt: skip

    def paint(figure: Figure) -> None:
        axes: Axes = figure.add_subplot()
        for accent in (False, True):
            chosen = [(i, row) for i, row in enumerate(rows) if row.accent == accent]
            label = legend[accent] if legend and chosen else None
            colour = colours[accent]
            for i, row in chosen:
                if row.low is not None and row.high is not None:
                    axes.plot([factor * row.low, factor * row.high], [i, i], color=colour, lw=2.2)
            axes.plot(
                [factor * row.value for _, row in chosen], [i for i, _ in chosen],
                "s" if accent else "o", color=colour, ms=6.5, label=label,
            )  # fmt: skip
        if reference is not None:
            axes.axvline(reference, color=INK, lw=1)
        axes.set_yticks(range(len(rows)), [shorten(row.label, label_limit) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.locator_params(axis="x", nbins=5)  # more would run into each other
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(xlabel)
        if legend:
            legend_below(axes)

    height = 1.15 + 0.3 * len(rows) + (0.25 if legend else 0)
    alt = f"{xlabel}: " + "; ".join(spans) + "."
    return draw(name, paint, title=title, caption=caption, alt=alt, size=(5.2, height))


def domain_figure(domains: Mapping[str, DomainRecord]) -> Drawing | None:
    """Accuracy in each domain with its interval, the highest first; None where there is none.

    Args:
        domains: Numbers of each domain by its title.
    """
    rows = [
        Whisker(name, number.value, number.low, number.high, accent=not entry.seen)
        for name, entry in domains.items()
        if (number := entry.metrics.get("accuracy")) is not None and number.value is not None
    ]
    rows.sort(key=lambda row: -row.value)
    return forest_figure(
        "domains", rows, title="Accuracy by domain", factor=100.0,
        xlabel=measure("accuracy").heading, colours=(BLUE, RED),
        legend=("seen in training", "unseen"),
        caption="One row per domain with its 95 % interval; a domain far to the left of the "
        "others is one the model should not be trusted in.",
    )  # fmt: skip
