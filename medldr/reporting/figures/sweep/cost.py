"""A metric against what a step of training costs, a point per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import INK, PAPER, add_tips, draw_axes, looks
from medldr.reporting.results.training_cost import SECONDS, Cost, MethodCost
from medldr.reporting.table import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEYOND, ROOM = 1.3, 0.08
"""How far the axes go beyond the points: a factor of the seconds, and at least so much score."""
MARKERS: Final = ("o", "s", "^", "v", "P", "X")


def cost_figure(cost: Cost, number: int = 1) -> Drawing | None:
    """Each method's metric against its seconds per step, both with 95% intervals.

    Args:
        cost: Of one data set.
        number: Of the figure on its page, from 1.

    Returns:
        None unless two methods have both numbers.
    """
    shown = [of for of in cost.methods if of.seconds.mean is not None and _score(of) is not None]
    if len(shown) < 2:
        return None
    known = metric_facts(cost.metric)
    controls = [of.row for of in cost.methods if of.control]
    styles = looks([of.row for of in cost.methods], cost.reference, controls)
    corner = "top" if known.better == "higher" else "bottom"
    return draw_axes(
        f"training_cost_{number}",
        partial(_paint, cost=cost, shown=shown, styles=styles),
        labels=("seconds per step of training", known.heading),
        legend=2,
        size=(5.2, 3.3 + 0.19 * -(-len(shown) // 2)),
        title=f"{cost.data}: {known.title} against the cost of training",
        caption=f"One point per method with 95% CIs, measured on {cost.machine.title}; the dotted "
        f"lines cross at {cost.reference}. What is at the {corner} left of them is both better and "
        "cheaper. CIs that are wider than the figure are cut.",
        alt=" ".join(f"{_words(cost, of)}." for of in shown),
    )


def _score(of: MethodCost) -> float | None:
    return None if of.score is None else of.score.mean


def _paint(
    axes: Axes,
    *,
    cost: Cost,
    shown: Sequence[MethodCost],
    styles: Mapping[str, Mapping[str, Any]],
) -> None:
    factor = 100.0 if metric_facts(cost.metric).percent else 1.0
    for place, of in enumerate(shown):
        x, y = of.seconds.mean or 0.0, factor * (_score(of) or 0.0)
        colour, reference = styles[of.row]["color"], of.row == cost.reference
        if reference:
            axes.axvline(x, color=INK, lw=0.9, ls=":")
            axes.axhline(y, color=INK, lw=0.9, ls=":")
        if of.seconds.low is not None and of.seconds.high is not None:
            axes.plot([of.seconds.low, of.seconds.high], [y, y], color=colour, lw=1.1)
        if of.score is not None and of.score.low is not None and of.score.high is not None:
            axes.plot([x, x], [factor * of.score.low, factor * of.score.high], color=colour, lw=1.1)
        marker = "D" if reference else MARKERS[place % len(MARKERS)]
        face = PAPER if reference else colour
        label = f"{of.row} (reference)" if reference else of.row
        axes.plot(
            [x], [y], marker, ms=7, color=colour, markerfacecolor=face, mew=1.6, label=label,
            zorder=3,
        )  # fmt: skip
        add_tips(axes, [x], [y], [_words(cost, of)])
    _show_points(axes, shown, factor)
    axes.locator_params(axis="x", nbins=5)  # more would run into each other


def _show_points(axes: Axes, shown: Sequence[MethodCost], factor: float) -> None:
    """Cut intervals of few runs, which may be many times as wide as all points together."""
    x = [of.seconds.mean or 0.0 for of in shown]
    y = [factor * (_score(of) or 0.0) for of in shown]
    axes.set_xlim(0.0, BEYOND * max(x))
    low, high = axes.get_ylim()
    room = max(max(y) - min(y), ROOM * factor)
    axes.set_ylim(max(low, min(y) - room), min(high, max(y) + room))


def _words(cost: Cost, of: MethodCost) -> str:
    known = metric_facts(cost.metric)
    score = "" if of.score is None else f"{known.with_unit(of.score.mean or 0.0)}"
    ends = "" if of.score is None else interval(of.score, known)
    seconds = SECONDS.show(of.seconds.mean or 0.0)
    return f"{of.row}: {score}{f' ({ends})' if ends else ''} at {seconds} s per step"
