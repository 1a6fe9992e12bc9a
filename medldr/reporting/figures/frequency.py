"""Recall of each class against its training images: what rare classes lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from medldr.folders.evaluation_parts import ShotsRecord
from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, GREEN, MUTED, ORANGE, add_tips, draw_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WHISKERS = 30
"""With more classes, their intervals would hide each other."""
LOOKS = {"many": (BLUE, "o"), "medium": (GREEN, "s"), "few": (ORANGE, "^")}
"""Colour and marker of each group of classes; markers tell them apart without colour."""


class _Point(NamedTuple):
    name: str
    bucket: str
    images: int
    recall: float
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        interval = "" if self.low is None else f" ({self.low:.0f} to {self.high:.0f})"
        return f"{self.name}: {self.images:,} training images, recall {self.recall:.0f}%{interval}"


def frequency_figure(split: SplitRecord, shots: ShotsRecord) -> Drawing | None:
    """One point per class, by training images and recall; None where no recall is defined.

    Args:
        split: Whose recall is shown.
        shots: Training images of each class, and the limits of the groups.
    """
    points = [
        _Point(
            name,
            shots.buckets.get(name, "medium"),
            shots.counts[name],
            100 * number.value,
            None if number.low is None else 100 * number.low,
            None if number.high is None else 100 * number.high,
        )
        for name, entry in split.classes.items()
        if name in shots.counts
        and (number := entry.metrics.get("recall")) is not None
        and number.value is not None
    ]
    if not points:
        return None
    points.sort(key=lambda point: -point.images)
    few_points = len(points) <= MOST_WHISKERS

    def paint(axes: Axes) -> None:
        axes.set_xscale("log")
        for limit in (shots.many, shots.few):
            if points[-1].images < limit < points[0].images:
                axes.axvline(limit, color=MUTED, lw=1, ls=":")
        for bucket in LOOKS:
            of_bucket = [point for point in points if point.bucket == bucket]
            _draw(axes, bucket, of_bucket, whiskers=few_points)
        add_tips(axes, [p.images for p in points], [p.recall for p in points],
                 [p.text for p in points])  # fmt: skip
        axes.set_ylim(-3, 103)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.invert_xaxis()  # the tail on the right, as distributions of classes are drawn

    ends = points if few_points else [*points[:3], *points[-3:]]
    shown = "" if few_points else "The three most frequent and the three rarest classes: "
    return draw_axes(
        "frequency",
        paint,
        labels=("training images of the class, most frequent first", "recall (%)"),
        legend=3,
        title="Recall by training images",
        caption="Each point is a class. Points that fall to the right mean that the network has "
        f"learned rare classes less well; dotted lines are at {shots.many} and {shots.few} "
        "training images, which divide many from medium and medium from few."
        + (" Bars are 95% CIs." if few_points else ""),
        alt=shown + "; ".join(point.text for point in ends) + ".",
        size=(5.2, 3.5),
    )


def _draw(axes: Axes, bucket: str, points: Sequence[_Point], *, whiskers: bool) -> None:
    if not points:
        return
    colour, marker = LOOKS[bucket]
    for point in points if whiskers else ():
        if point.low is not None and point.high is not None:
            axes.plot([point.images] * 2, [point.low, point.high], color=colour, lw=1.4)
    axes.plot(
        [point.images for point in points],
        [point.recall for point in points],
        marker, ms=6, color=colour, label=bucket,
    )  # fmt: skip
