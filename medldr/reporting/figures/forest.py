"""Values with intervals, one below the other: domains of a run, differences between methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metric import Metric
from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures import drawing as palette
from medldr.reporting.figures.drawing import add_tips, draw_axes, shorten
from medldr.reporting.table import ends_of, interval, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BETTER = {"higher": "right of the line is better", "lower": "left of the line is better"}
SIZE = 6.5
SHORT = 24
"""Longer labels need a wider figure."""


class Whisker(NamedTuple):
    """One row of a forest plot: a value with its interval, and how it is drawn.

    Attributes:
        label: What it is of.
        held: The value, and its interval if it has one. Without a value: the interval alone, or
            where it has neither, a heading of the rows below.
        shape: ``o``: an open circle; ``s``: a filled square; ``diamond``: as wide as the interval,
            for a mean of other rows.
        colour: One of the palette.
        size: Of the marker, in points.
    """

    label: str
    held: Estimate
    shape: Literal["o", "s", "diamond"] = "s"
    colour: str = palette.BLUE
    size: float = SIZE


def forest_figure(
    name: str,
    metric: str,
    rows: Sequence[Whisker],
    *,
    title: str,
    caption: str,
    reference: str = "",
    legend: Mapping[str, str] | None = None,
    margin: float | None = None,
) -> Drawing | None:
    """Values with intervals, one below the other; None where there are none.

    Args:
        name: Unique within the page.
        metric: What is shown, which says its unit.
        rows: From top to bottom.
        title: Title of the figure.
        caption: How to read it.
        reference: What differences are relative to, drawn as a line at 0; empty for plain values.
        legend: What each shape that is there means.
        margin: Where to draw a dashed line; None: nowhere.
    """
    if all(row.held.mean is None for row in rows):
        return None
    known = metric_facts(metric)
    factor, signed = 100.0 if known.percent else 1.0, bool(reference)
    unit = f"{known.title}: difference{' (percentage points)' if known.percent else ''}"
    texts = [_text(row, metric, signed=signed) for row in rows]
    told = [text for text, row in zip(texts, rows, strict=True) if row.held != Estimate()]

    def paint(axes: Axes) -> None:
        if reference:
            axes.axvline(0, color=palette.INK, lw=1.4, label=f"{reference} (reference)")
        for place, row in enumerate(rows):
            _mark(axes, row, place, factor)
        for shape, text in (legend or {}).items():
            if colours := {row.colour for row in rows if row.shape == shape}:
                ink = colours.pop() if len(colours) == 1 else palette.MUTED
                face = palette.PAPER if shape == "o" else ink
                axes.plot([], [], shape, ms=SIZE, color=ink, markerfacecolor=face, label=text)
        if margin is not None:
            axes.axvline(factor * margin, color=palette.INK, lw=1, ls="--")
        points = [(factor * _centre(r.held), i) for i, r in enumerate(rows) if r.held != Estimate()]
        add_tips(axes, [x for x, _ in points], [y for _, y in points], told)
        limit = 44 if reference else 30
        axes.set_yticks(range(len(rows)), [shorten(row.label, limit) for row in rows])
        for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if row.held == Estimate() else "normal")
        axes.set_ylim(len(rows) - 0.4, -0.6)
        if reference:  # a tall figure is read from its top
            axes.tick_params(axis="x", labeltop=True)
            _say_sides(axes, known)
        axes.locator_params(axis="x", nbins=5)  # more would run into each other
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)

    lines = 3 * bool(reference) + bool(legend)
    return draw_axes(
        name,
        paint,
        labels=(unit if reference else known.heading, ""),
        title=title,
        caption=caption,
        alt=f"{known.heading}{f' minus that of {reference}' * signed}: {'; '.join(told)}.",
        size=(
            5.2 if max(len(row.label) for row in rows) <= SHORT else 6.6,
            1.15 + 0.3 * len(rows) + 0.2 * lines,
        ),
    )


def _say_sides(axes: Axes, known: Metric) -> None:
    """Which side of the line is better, above it."""
    words = {"higher": ("worse", "better"), "lower": ("better", "worse")}.get(known.better)
    for word, side in zip(words or (), ("left", "right"), strict=True):
        text, apart = (f"← {word}", -8) if side == "left" else (f"{word} →", 8)
        axes.annotate(
            text, (0, 1), (apart, 20), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="left" if apart > 0 else "right", color=palette.MUTED,
        )  # fmt: skip


def _text(row: Whisker, metric: str, *, signed: bool) -> str:
    """A row in words."""
    known, held = metric_facts(metric), row.held
    alone = held.mean is None
    text = (interval if alone else number_text)(held, known, signed=signed)
    return f"{row.label} {text}"


def _centre(held: Estimate) -> float:
    if held.mean is not None:
        return held.mean
    return ((held.low or 0.0) + (held.high or 0.0)) / 2


def _mark(axes: Axes, row: Whisker, place: int, factor: float) -> None:
    held, ink = row.held, row.colour
    ends = ends_of(held, factor)
    if held.mean is None:
        axes.plot(ends, [place] * len(ends), color=ink, lw=1.8, marker="|", ms=9)
    elif row.shape == "diamond" and ends:
        mean = factor * held.mean
        x, y = [ends[0], mean, ends[1], mean], [place, place - 0.26, place, place + 0.26]
        axes.fill(x, y, color=ink)
    else:
        axes.plot(ends, [place] * len(ends), color=ink, lw=2.2)
        marker = "D" if row.shape == "diamond" else row.shape
        face = palette.PAPER if row.shape == "o" else ink
        axes.plot(
            [factor * held.mean], [place], marker, ms=row.size, color=ink, markerfacecolor=face,
            mew=1.8,
        )  # fmt: skip
