"""A metric against what a step of training costs, a point per method."""

from __future__ import annotations

from typing import Final

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import INK, PAPER, looks
from medldr.reporting.figures.lines import Curve, Guide, lines_figure
from medldr.reporting.results.training_cost import SECONDS, Cost
from medldr.reporting.table import interval

BEYOND, ROOM = 1.3, 0.08
"""How far the axes go beyond the points: a factor of the seconds, and so much score."""
MARKERS: Final = ("o", "s", "^", "v", "P", "X")


def cost_figure(cost: Cost, number: int = 1) -> Drawing | None:
    """Each method's metric against its seconds per step, both with 95% intervals.

    Intervals of few runs, which may be many times as wide as all points together, are cut.

    Args:
        cost: Of one data set.
        number: Of the figure on its page, from 1.

    Returns:
        None unless two methods have both numbers.
    """
    known = metric_facts(cost.metric)
    factor = 100.0 if known.percent else 1.0
    shown = [
        (of.row, of.seconds, of.score)
        for of in cost.methods
        if of.seconds.mean is not None and of.score is not None and of.score.mean is not None
    ]
    if len(shown) < 2:
        return None
    styles = looks(
        [of.row for of in cost.methods],
        cost.reference,
        [of.row for of in cost.methods if of.control],
    )
    drawn, guides, texts = list[Curve](), list[Guide](), list[str]()
    for place, (row, seconds, score) in enumerate(shown):
        x, y = seconds.mean or 0.0, factor * (score.mean or 0.0)
        ink, reference = styles[row]["color"], row == cost.reference
        line = {"color": ink, "lw": 1.1, "marker": None}
        drawn += [Curve(ends, [y, y], style=line) for ends in _ends(seconds, 1.0)]
        drawn += [Curve([x, x], ends, style=line) for ends in _ends(score, factor)]
        ends = interval(score, known)
        number_text = f"{known.with_unit(score.mean or 0.0)}{f' ({ends})' if ends else ''}"
        texts.append(f"{row}: {number_text} at {SECONDS.show(x)} s per step")
        look = {
            "color": ink, "ls": "none", "ms": 7, "mew": 1.6, "zorder": 3,
            "marker": "D" if reference else MARKERS[place % len(MARKERS)],
            "markerfacecolor": PAPER if reference else ink,
        }  # fmt: skip
        label = f"{row} (reference)" if reference else row
        drawn.append(Curve([x], [y], label, look, tips=texts[-1:]))
        guide = {"color": INK, "lw": 0.9}
        guides += [Guide(x=x, style=guide), Guide(y=y, style=guide)] if reference else []
    scores = [factor * (score.mean or 0.0) for _, _, score in shown]
    furthest, room = max(seconds.mean or 0.0 for _, seconds, _ in shown), ROOM * factor
    corner = "top" if known.better == "higher" else "bottom"
    return lines_figure(
        f"training_cost_{number}", drawn, guides=guides,
        labels=("seconds per step of training", known.heading),
        limits={"xlim": (0.0, BEYOND * furthest),
                "ylim": (min(scores) - room, max(scores) + room)},
        size=(5.2, 3.3 + 0.19 * -(-len(shown) // 2)),
        title=f"{cost.data}: {known.title} against the cost of training",
        caption=f"One point per method with 95% CIs, measured on {cost.machine.title}; the dotted "
        f"lines cross at {cost.reference}. What is at the {corner} left of them is both better and "
        "cheaper. CIs that are wider than the figure are cut.",
        alt=" ".join(f"{text}." for text in texts),
    )  # fmt: skip


def _ends(held: Estimate, factor: float) -> list[list[float]]:
    """An interval to draw, if there is one."""
    if held.low is None or held.high is None:
        return []
    return [[factor * held.low, factor * held.high]]
