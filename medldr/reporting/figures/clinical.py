"""Net benefit, and the error that remains when unsure images are referred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, INK, MUTED, draw_axes, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def decision_figure(split: SplitRecord) -> Drawing | None:
    """The decision curve of a binary task; None where there is none."""
    curve = split.decision_curve
    if curve is None or not curve.threshold:
        return None

    def paint(axes: Axes) -> None:
        percent = [100 * t for t in curve.threshold]
        axes.plot(percent, curve.model, color=BLUE, label="act on the predictions")
        axes.plot(percent, curve.treat_all, color=INK, ls="--", lw=1.3, label="act on all images")
        axes.axhline(0, color=MUTED, ls=":", lw=1.3, label="act on none")
        top = max(*curve.model, *curve.treat_all, 0.01)
        axes.set(xlim=(0, 100), ylim=(-0.3 * top, 1.08 * top))

    shown = [curve.threshold.index(t) for t in (0.1, 0.25, 0.5, 0.75) if t in curve.threshold]
    words = "; ".join(
        f"{100 * curve.threshold[i]:g}%: {curve.model[i]:.3f}, on all {curve.treat_all[i]:.3f}"
        for i in shown
    )
    return draw_axes(
        "decision", paint, labels=("threshold probability (%)", "net benefit"), legend=1,
        size=(4.6, 3.9), title="Decision curve",
        caption="At the lowest probability at which you would act, the highest line is the best "
        "policy. Net benefit is true positives per image, less false positives weighted by the "
        "odds of that probability.",
        alt=f"Net benefit of acting on the predictions by threshold probability: {words}.",
    )  # fmt: skip


def coverage_figure(split: SplitRecord) -> Drawing | None:
    """Error against the share of images that are kept; None where there is no curve."""
    curve = split.risk_coverage
    if curve is None or not curve.coverage:
        return None

    def paint(axes: Axes) -> None:
        kept, error = ([100 * v for v in values] for values in (curve.coverage, curve.error))
        axes.plot(kept, error, color=BLUE, marker="o" if len(kept) < 3 else None)
        axes.set(xlim=(0, 101), ylim=(0, max(*error, error[-1], 1.0) * 1.08))

    words = "; ".join(
        f"{percent}% {100 * number.value:.1f}%"
        for percent, number in split.error_at_coverage.items()
        if number.value is not None
    )
    area = number_text("aurc", split.metrics.get("aurc"))
    return draw_axes(
        "coverage", paint, labels=("images kept, most confident first (%)", "error (%)"),
        size=(4.6, 3.5), title="Risk-coverage curve",
        caption="The error among the images that are kept when the least confident ones are left "
        "to a reader; a line that rises to the right means that confidence tells errors apart.",
        alt=f"AURC {area}. Error by images kept: {words}.",
    )  # fmt: skip
