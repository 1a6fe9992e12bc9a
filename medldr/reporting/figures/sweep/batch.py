"""A metric against the images of a step, a curve per method."""

from __future__ import annotations

from math import log2

from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.lines import Curve, lines_figure
from medldr.reporting.results.batch_sizes import BatchCurve, BatchLine
from medldr.reporting.table import interval

APART = 0.05
"""Intervals of two curves at one size would lie on top of each other: each has its own place."""


def batch_figure(curve: BatchCurve, number: int = 1) -> Drawing | None:
    """Each method's metric at every size of a batch, with 95% intervals; None without a method.

    Args:
        curve: Of one data set.
        number: Of the figure on its page, from 1.
    """
    reference = next((line.name for line in curve.lines if line.reference), "")
    controls = [line.name for line in curve.lines if line.control]
    styles = looks([line.name for line in curve.lines], reference, controls)
    known = metric_facts(curve.metric)
    factor = 100.0 if known.percent else 1.0
    drawn, alt, ticks = list[Curve](), list[str](), dict[int, int | None]()
    for place, line in enumerate(curve.lines):
        shift, texts = APART * (place - (len(curve.lines) - 1) / 2), _texts(curve, line)
        x = [log2(point.images) + shift for point in line.points]
        y = [factor * (point.estimate.mean or 0.0) for point in line.points]
        style, tips = styles[line.name], [f"{line.name}, {text}" for text in texts]
        drawn.append(Curve(x, y, line.name, {**style, "marker": "o", "ms": 4.5}, tips=tips))
        for at, point in zip(x, line.points, strict=True):
            ticks[point.images] = point.per_domain
            low, high = point.estimate.low, point.estimate.high
            if low is not None and high is not None:
                ends = [factor * low, factor * high]
                look = {"color": style["color"], "lw": 1.1, "marker": None}
                drawn.append(Curve([at, at], ends, style=look))
        alt.append(f"{line.name}: {'; '.join(texts)}.")
    by_domain, sizes = all(ticks.values()), sorted(ticks)
    names = [f"{size}\n({ticks[size]})" if by_domain else f"{size}" for size in sizes]
    return lines_figure(
        f"batch_size_{number}", drawn,
        labels=("images in a step" + (" (of each domain)" if by_domain else ""), known.heading),
        limits={"xticks": [log2(size) for size in sizes], "xticklabels": names},
        size=(5.2, 3.3 + 0.19 * -(-len(curve.lines) // 2)),
        title=f"{curve.data}: {known.title} against the size of a batch",
        caption="Each point is a mean over seeds with its 95% CI; the horizontal axis doubles from "
        "tick to tick. A curve that rises says that the method gains from larger batches, which "
        "plain training may do too.",
        alt=" ".join(alt),
    )  # fmt: skip


def _texts(curve: BatchCurve, line: BatchLine) -> list[str]:
    known = metric_facts(curve.metric)
    found = [(p, known.with_unit(p.estimate.mean or 0.0), interval(p.estimate, known))
             for p in line.points]  # fmt: skip
    return [f"{p.images} images: {number}{f' ({ends})' if ends else ''}"
            for p, number, ends in found]  # fmt: skip
