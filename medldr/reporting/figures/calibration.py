"""Calibration as a smooth curve with its band, beside the bins."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from medldr.folders.evaluation_parts import CalibrationCurve
from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, MUTED, ORANGE, draw_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def calibration_figures(split: SplitRecord, level: float) -> list[Drawing]:
    """One figure per class that has a curve.

    Args:
        split: The split.
        level: Of the band.
    """
    found = split.calibration_curves.items()
    return [
        _figure(number, name, curve, level)
        for number, (name, curve) in enumerate(found)
        if curve.predicted
    ]


def _figure(number: int, name: str, curve: CalibrationCurve, level: float) -> Drawing:
    last = len(curve.predicted) - 1
    words = "; ".join(
        f"{curve.predicted[i]:.2f} predicted, {curve.observed[i]:.2f} observed "
        f"({curve.low[i]:.2f} to {curve.high[i]:.2f})"
        for i in dict.fromkeys((0, last // 4, last // 2, 3 * last // 4, last))
    )
    kind = f"a spline with {curve.knots} knots" if curve.knots else "a straight line"
    return draw_axes(
        f"calibration-{number}", partial(_paint, curve=curve, level=level),
        labels=("predicted probability", f"observed frequency of {shorten(name, 20)}"), legend=1,
        size=(4.6, 4.6), title=f"Calibration of {shorten(name, 30)}",
        caption=f"Above the dotted line the finding is more frequent than predicted, below it less "
        f"frequent. The curve is {kind} in the log odds.",
        alt=f"Calibration curve with {100 * level:g}% band: {words}.",
    )  # fmt: skip


def _paint(axes: Axes, curve: CalibrationCurve, level: float) -> None:
    axes.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    axes.fill_between(curve.predicted, curve.low, curve.high, color=BLUE, alpha=0.16, lw=0)
    label = f"smooth curve with {100 * level:g}% band"
    axes.plot(curve.predicted, curve.observed, color=BLUE, label=label)
    points = [
        (confidence, accuracy)
        for confidence, accuracy in zip(curve.bins.confidence, curve.bins.accuracy, strict=True)
        if confidence is not None and accuracy is not None
    ]
    if points:
        x, y = zip(*points, strict=True)
        axes.plot(x, y, "o", ls="None", color=ORANGE, ms=4, label="in bins of equal width")
    axes.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
