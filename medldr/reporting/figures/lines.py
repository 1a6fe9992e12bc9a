"""Curves and points on one pair of axes: the kind of figure that most sections feed with data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from medldr.folders.evaluation_record import Number
from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures import drawing as palette
from medldr.reporting.figures.drawing import add_tips, draw_axes, look, shorten, time_ticks
from medldr.reporting.table import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CURVES = 8
"""Of more curves, those with the three highest and the three lowest numbers are labelled."""
FEW_POINTS = 4
"""A curve of fewer points has a marker at each."""


@dataclass(frozen=True)
class Curve:
    """One curve, or some points.

    Attributes:
        x: Horizontal positions.
        y: Vertical ones.
        label: In the legend; empty: not in it.
        style: How matplotlib draws it.
        band: Lower and upper ends of a band around it.
        tips: What each point says under the pointer.
        ends: The interval of each point, drawn as a vertical line; empty where it has none.
    """

    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    style: dict[str, Any] = field(default_factory=dict)
    band: tuple[Sequence[float], Sequence[float]] | None = None
    tips: Sequence[str] = ()
    ends: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class Guide:
    """A straight line to compare with, at one `x` or one `y`; without either, the diagonal."""

    x: float | None = None
    y: float | None = None
    label: str = ""
    style: dict[str, Any] = field(default_factory=dict)


def lines_figure(
    name: str,
    curves: Sequence[Curve],
    *,
    guides: Sequence[Guide] = (),
    unit: bool = False,
    time: bool = False,
    limits: Mapping[str, Any] | None = None,
    log: str = "",
    **words: Any,
) -> Drawing | None:
    """Curves, straight lines to compare them with, and a legend; None without a curve.

    Args:
        name: Unique within the page.
        curves: In the order of the legend.
        guides: Straight lines, drawn dotted unless they say otherwise.
        unit: Whether both axes go from 0 to 1, equally long.
        time: Whether the horizontal axis counts epochs or steps.
        limits: Arguments of `Axes.set`, such as ``xlim``.
        log: Axes with a logarithmic scale: ``x`` or ``y``, if their values are positive.
        words: Further arguments of `draw_axes`.
    """
    if not curves:
        return None

    def paint(axes: Axes) -> None:
        for guide in guides:
            style = {"color": palette.MUTED, "lw": 1, "ls": ":", **guide.style}
            if guide.x is not None:
                axes.axvline(guide.x, label=guide.label or None, **style)
            elif guide.y is not None:
                axes.axhline(guide.y, label=guide.label or None, **style)
            else:
                axes.plot([0, 1], [0, 1], label=guide.label or None, **style)
        for curve in curves:
            marker = "o" if len(curve.x) < FEW_POINTS else None
            style = {"marker": marker, "ms": 4, **curve.style}
            if curve.band is not None:
                axes.fill_between(curve.x, *curve.band, color=style["color"], alpha=0.16, lw=0)
            for at, ends in zip(curve.x, curve.ends, strict=False):
                axes.plot([at] * len(ends), ends, color=style["color"], lw=1.2)
            axes.plot(curve.x, curve.y, label=curve.label or None, **style)
            if curve.tips:
                add_tips(axes, curve.x, curve.y, curve.tips)
        for axis in log:
            values = [v for curve in curves for v in getattr(curve, axis)]
            if min(values) > 0:
                axes.set(
                    **{f"{axis}scale": "log", f"{axis}lim": (min(values) / 2, max(values) * 2)}
                )
                of_axis = getattr(axes, f"{axis}axis")
                of_axis.set_major_formatter(lambda value, _: f"{value:,g}")
                of_axis.set_minor_formatter("")
        if unit:
            axes.set(aspect="equal", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        if time:
            time_ticks(axes)
        axes.set(**(limits or {}))

    return draw_axes(name, paint, **words)


def labelled(
    name: str,
    curves: Mapping[str, Curve],
    key: str,
    numbers: Mapping[str, Number | None],
    **words: Any,
) -> Drawing | None:
    """Curves of classes or domains on the unit square, each with its number in the legend.

    Args:
        name: Unique within the page.
        curves: By class or domain, without label and colour.
        key: The metric of their numbers.
        numbers: What each is ranked by.
        words: Further arguments of `lines_figure`.
    """
    texts = {n: number_text(number, metric_facts(key))
             for n, number in numbers.items()}  # fmt: skip
    named = list(curves)
    if len(curves) > MOST_CURVES:
        areas = {n: number.value or 0.0 for n, number in numbers.items() if number is not None}
        ranked = sorted(named, key=lambda n: -areas.get(n, 0.0))
        named = ranked[:3] + ranked[-3:]
        words["title"] += f", {len(named)} of {len(curves)} labelled"
    faint = {"color": palette.FAINT, "lw": 1}
    drawn = [
        replace(c, style=faint | c.style, tips=()) for n, c in curves.items() if n not in named
    ]
    for place, n in enumerate(named):
        label, style = f"{shorten(n, 26)}: {texts[n]}", look(place) | curves[n].style
        drawn.append(replace(curves[n], label=label, style=style))
    return lines_figure(
        name, drawn, unit=True, legend=1, size=(4.6, 4.2 + 0.19 * len(named)), **words,
        alt=f"Area under the curve with 95% CI: {'; '.join(f'{n} {t}' for n, t in texts.items())}.",
    )  # fmt: skip
