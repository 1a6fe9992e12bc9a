"""Values with intervals, one below the other: domains of a run, differences of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from medldr.evaluation.comparison.comparison import Comparison, Score
from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    INK,
    MUTED,
    PAPER,
    add_tips,
    draw_axes,
    shorten,
)
from medldr.types import SPLIT_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BETTER = {"higher": "right of the line is better", "lower": "left of the line is better"}


class Whisker(NamedTuple):
    """One row of a forest plot: a value with its interval, and how it is drawn."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    unseen: bool = False
    colour: str = BLUE
    dash: str = "-"


def forest_figure(
    name: str,
    rows: Sequence[Whisker],
    *,
    title: str,
    caption: str,
    xlabel: str,
    factor: float = 1.0,
    legend: bool = False,
    reference: str = "",
    margin: float | None = None,
) -> Drawing | None:
    """Values with intervals, one below the other; None where there are none.

    Args:
        name: Unique within the page.
        rows: From top to bottom; unseen ones have filled squares, others open circles.
        title: Title of the figure.
        caption: How to read it.
        xlabel: What is measured, with its unit.
        factor: 100 where values are shown as percentages.
        legend: Whether to name the two kinds of points.
        reference: What differences are relative to, drawn as a line at 0; their labels are longer.
        margin: Where to draw a dashed line, in the unit of the rows; None: nowhere.
    """
    if not rows:
        return None
    scaled = [
        row._replace(
            value=factor * row.value,
            low=None if row.low is None else factor * row.low,
            high=None if row.high is None else factor * row.high,
        )
        for row in rows
    ]
    spans = [
        f"{row.label} {row.value:.3g}"
        + ("" if row.low is None else f" ({row.low:.3g} to {row.high:.3g})")
        for row in scaled
    ]

    def paint(axes: Axes) -> None:
        if reference:
            axes.axvline(0, color=INK, lw=1.4, label=f"{reference} (reference)")
        for place, row in enumerate(scaled):
            if row.low is not None and row.high is not None:
                ends = [row.low, row.high]
                axes.plot(ends, [place, place], row.dash, color=row.colour, lw=2.2)
        for unseen, marker, label in ((False, "o", "seen in training"), (True, "s", "unseen")):
            points = [(row, i) for i, row in enumerate(scaled) if row.unseen == unseen]
            for row, i in points:
                _mark(axes, [row.value], [i], marker, row.colour, filled=unseen)
            colours = {row.colour for row, _ in points}
            if legend and points:
                ink = colours.pop() if len(colours) == 1 else MUTED
                _mark(axes, [], [], marker, ink, filled=unseen, label=label)
        if margin is not None:
            axes.axvline(factor * margin, color=INK, lw=1, ls="--")
        add_tips(axes, [row.value for row in scaled], range(len(rows)), spans)
        limit = 44 if reference else 30
        axes.set_yticks(range(len(rows)), [shorten(row.label, limit) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.locator_params(axis="x", nbins=5)  # more would run into each other
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)

    lines = (1 if reference else 0) + (1 if legend else 0)
    height = 1.15 + 0.3 * len(rows) + 0.2 * lines
    alt = f"{xlabel}: " + "; ".join(spans) + "."
    return draw_axes(
        name, paint, labels=(xlabel, ""), title=title, caption=caption, alt=alt, size=(5.2, height)
    )


def _mark(
    axes: Axes,
    x: list[float],
    y: list[float],
    marker: str,
    ink: str,
    *,
    filled: bool,
    label: str | None = None,
) -> None:
    face = ink if filled else PAPER
    axes.plot(x, y, marker, ms=6.5, label=label, color=ink, markerfacecolor=face, mew=1.8)


def difference_figure(
    found: Comparison,
    styles: Mapping[str, Mapping[str, Any]],
    metric: str = "accuracy",
    column: str = "",
    number: int = 0,
) -> Drawing | None:
    """Every method minus the reference on every split and domain; None for a single method.

    Args:
        found: The comparison.
        styles: Colour and dashes of each method, from `looks`.
        metric: The metric.
        column: Title of the column of a sweep that this comparison is; its figures leave out
            single domains, and name of a split only whether it was seen.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    rows = [
        Whisker(
            _label(found, score, column), value.mean, value.low, value.high, unseen,
            colour=styles[score.method]["color"], dash=styles[score.method]["ls"],
        )
        for score, unseen in _scores(found, metric, domains=not column)
        if (minus := found.difference(score.split, metric, score.method, score.domain)) is not None
        and (value := minus.estimate).mean is not None
    ]  # fmt: skip
    known, margin = metric_facts(metric), None
    if found.margin is not None and found.margin.metric == metric:
        margin = found.margin.value * (1 if known.better == "lower" else -1)
    return forest_figure(
        f"difference-{metric.replace('_', '-')}{f'-{number}' if number else ''}", rows,
        title=f"{f'{column}, ' if column else ''}{known.title}: difference from {found.reference}",
        xlabel="difference (percentage points)" if known.percent else "difference",
        factor=100.0 if known.percent else 1.0,
        legend=any(row.unseen for row in rows), reference=found.reference,
        caption="Each row is a paired difference with its 95% CI; "
        f"{BETTER.get(known.better, 'the line marks no difference')}, and an "
        "interval that crosses the line means no clear difference."
        + ("" if margin is None else " The dashed line is the margin of non-inferiority."),
        margin=margin,
    )  # fmt: skip


def _scores(found: Comparison, metric: str, *, domains: bool) -> Iterator[tuple[Score, bool]]:
    """Scores in the order of rows, and whether each is of unseen domains."""
    for split, about in found.splits.items():
        single = list(about.domains) if domains and len(about.domains) > 1 else []
        for domain in [None, *single]:
            for method in found.others:
                score = found.score(split, metric, method.name, domain)
                if score is not None:
                    yield score, score.seen is False if domain else bool(found.unseen(split))


def _label(found: Comparison, score: Score, column: str) -> str:
    if column:
        several = len(found.splits) > 1
        title = f", {SPLIT_TITLES.get(score.split, score.split)}" if several else ""
        return f"{score.method}{title}"
    title = found.title(score.split) if score.domain is None else f"  {score.domain}"
    return title if len(found.others) == 1 else f"{score.method}, {title.strip()}"
