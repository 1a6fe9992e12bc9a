"""Distances between domains as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from medldr.evaluation.representation.centres import DISTANCE, Centres
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import FAINT, HEAT, INK, MUTED, PAPER, add_tips, draw, shorten
from medldr.reporting.table import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 6
"""Runs of one figure."""
ACROSS = 3
MOST_DOMAINS = 10
"""With more domains, only some are named and no number is printed."""


def centres_figure(found: Mapping[str, Centres]) -> Drawing | None:
    """A matrix for each run, all on one scale; of more than six runs, the first six.

    Args:
        found: By heading of the run.

    Returns:
        None where there is none.
    """
    shown = dict(list(found.items())[:MOST])
    if not shown:
        return None
    values = [e.mean for run in shown.values() for e in run.pairs.values() if e.mean is not None]
    top = max([*values, 1e-6])
    count = max(len(run.domains) for run in shown.values())
    side = float(np.clip(0.9 + 0.5 * count, 1.9, 4.6)) + 0.55
    columns = min(ACROSS, len(shown))
    rows = -(-len(shown) // columns)

    def paint(figure: Figure) -> None:
        axes = figure.subplots(rows, columns, squeeze=False)
        for place, each in enumerate(axes.flat):
            if place >= len(shown):
                each.set_axis_off()
                continue
            heading, run = list(shown.items())[place]
            _paint(each, heading, run, top)
            each.set_title(shorten(heading, 26) if len(shown) > 1 else "", fontsize=9.5)

    unseen = any(run.unseen for run in shown.values())
    alt = "; ".join(
        f"{heading}: "
        + ", ".join(f"{a} and {b} {_shown(e.mean)}" for (a, b), e in run.pairs.items())
        for heading, run in shown.items()
    )
    return draw(
        "centres", paint, title="Distances between domains",
        caption="Squared distance between the mean latents of a class in two domains, in units of "
        "the variance within a class and domain; darker is further apart."
        + (" Unseen domains have a star." if unseen else ""),
        alt=f"{alt}.", size=(side * columns + 0.35, (side + 0.1) * rows),
    )  # fmt: skip


def _shown(value: float | None) -> str:
    return "undefined" if value is None else DISTANCE.show(value)


def _paint(axes: Axes, heading: str, run: Centres, top: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    count = len(run.domains)
    values = np.full((count, count), np.nan)
    places, tips = [], []
    for (a, b), held in run.pairs.items():
        i, j = run.domains.index(a), run.domains.index(b)
        if held.mean is None:
            continue
        values[i, j] = values[j, i] = held.mean
        ends = interval(held, DISTANCE)
        text = f"{heading}: {a} and {b}, {_shown(held.mean)}{f' ({ends})' if ends else ''}"
        places += [(i, j), (j, i)]
        tips += [text, text]
    colours = LinearSegmentedColormap.from_list("shades", [to_rgba(HEAT, 0.0), to_rgba(HEAT, 1.0)])
    edges = np.arange(count + 1) - 0.5
    axes.pcolormesh(
        edges, edges, np.clip(np.nan_to_num(values), 0, None), cmap=colours, vmin=0, vmax=top,
        edgecolors=PAPER, linewidth=0.8,
    )  # fmt: skip
    if count <= MOST_DOMAINS:
        for (i, j), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{value:.2f}".replace("-", "−")
            axes.text(j, i, text, ha="center", va="center", fontsize=8,
                      color=MUTED if np.isnan(value) else INK)  # fmt: skip
    add_tips(axes, [float(j) for _, j in places], [float(i) for i, _ in places], tips)
    seen = count - len(run.unseen)
    if 0 < seen < count:  # what is right of and below the lines is unseen
        axes.axhline(seen - 0.5, color=INK, lw=1)
        axes.axvline(seen - 0.5, color=INK, lw=1)
    names = [f"{shorten(name, 13)}{' *' if name in run.unseen else ''}" for name in run.domains]
    ticks = np.arange(0, count, max(1, -(-count // 20)))
    labels = [names[int(tick)] for tick in ticks]
    axes.set_xticks(ticks, labels, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(ticks, labels, fontsize=8)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    axes.grid(visible=False)
    axes.tick_params(length=0, color=FAINT)
    axes.spines[:].set_visible(False)
