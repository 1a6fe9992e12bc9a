"""A metric against the images of a step, a curve per method."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import add_tips, draw_axes, looks
from medldr.reporting.results.batch_sizes import BatchCurve, BatchLine
from medldr.reporting.table import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 1.035
"""Intervals of two curves at one size would lie on top of each other: each has its own place."""


def batch_figure(curve: BatchCurve, number: int = 1) -> Drawing:
    """Each method's metric at every size of a batch, with 95% intervals.

    Args:
        curve: Of one data set.
        number: Of the figure on its page, from 1.
    """
    names = [line.name for line in curve.lines]
    reference = next((line.name for line in curve.lines if line.reference), "")
    styles = looks(names, reference, [line.name for line in curve.lines if line.control])
    by_domain = all(p.per_domain is not None for line in curve.lines for p in line.points)
    xlabel = "images in a step" + (" (of each domain)" if by_domain else "")
    known = metric_facts(curve.metric)
    return draw_axes(
        f"batch_size_{number}",
        partial(_paint, curve=curve, styles=styles, by_domain=by_domain),
        labels=(xlabel, known.heading),
        legend=2,
        size=(5.2, 3.3 + 0.19 * -(-len(names) // 2)),
        title=f"{curve.data}: {known.title} against the size of a batch",
        caption="Each point is a mean over seeds with its 95% CI; the horizontal axis doubles from "
        "tick to tick. A curve that rises says that the method gains from larger batches, which "
        "plain training may do too.",
        alt=" ".join(_in_words(curve, line) for line in curve.lines),
    )


def _paint(
    axes: Axes, *, curve: BatchCurve, styles: Mapping[str, Mapping[str, Any]], by_domain: bool
) -> None:
    factor = 100.0 if metric_facts(curve.metric).percent else 1.0
    axes.set_xscale("log", base=2)
    ticks: dict[int, int | None] = {}
    for place, line in enumerate(curve.lines):
        shift = APART ** (place - (len(curve.lines) - 1) / 2)
        colour = styles[line.name]["color"]
        x = [point.images * shift for point in line.points]
        y = [factor * (point.estimate.mean or 0.0) for point in line.points]
        axes.plot(x, y, **styles[line.name], marker="o", ms=4.5, label=line.name)
        for at, point in zip(x, line.points, strict=True):
            ticks[point.images] = point.per_domain
            low, high = point.estimate.low, point.estimate.high
            if low is not None and high is not None:
                axes.plot([at, at], [factor * low, factor * high], color=colour, lw=1.1)
        add_tips(axes, x, y, [_point(curve, line, place) for place in range(len(line.points))])
    sizes = sorted(ticks)
    texts = [f"{size}\n({ticks[size]})" if by_domain else f"{size}" for size in sizes]
    axes.set_xticks(sizes, texts)
    axes.minorticks_off()


def _point(curve: BatchCurve, line: BatchLine, place: int) -> str:
    point, known = line.points[place], metric_facts(curve.metric)
    ends = interval(point.estimate, known)
    number = known.with_unit(point.estimate.mean or 0.0)
    return f"{line.name}, {point.images} images: {number}{f' ({ends})' if ends else ''}"


def _in_words(curve: BatchCurve, line: BatchLine) -> str:
    texts = [_point(curve, line, place) for place in range(len(line.points))]
    head = f"{line.name}, "
    return f"{line.name}: {'; '.join(text.removeprefix(head) for text in texts)}."
