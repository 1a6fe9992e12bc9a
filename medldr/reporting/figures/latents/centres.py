"""Distances between domains as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from medldr.evaluation.representation.centres import DISTANCE, PAIR
from medldr.evaluation.representation.frame import Line, where
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


def centres_figure(frame: Sequence[Line]) -> Drawing | None:
    """A matrix for each run, all on one scale; of more than six runs, the first six.

    Args:
        frame: Distances with a column for the run.

    Returns:
        None where there is none.
    """
    runs: dict[str, list[Line]] = {}
    for line in where(frame, of=PAIR):
        runs.setdefault(line["run"], []).append(line)
    left, runs = max(0, len(runs) - MOST), dict(list(runs.items())[:MOST])
    if not runs:
        return None
    top = max(1e-6, *(line["held"].mean or 0.0 for of in runs.values() for line in of))
    side = float(np.clip(0.9 + 0.5 * max(len(_domains(of)) for of in runs.values()), 1.9, 4.6))
    side += 0.55
    columns = min(ACROSS, len(runs))
    rows = -(-len(runs) // columns)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False).flat
        for place, each in enumerate(grid):
            if place >= len(runs):
                each.set_axis_off()
                continue
            run, of = list(runs.items())[place]
            _paint(each, run, of, top)
            each.set_title(shorten(run, 26) if len(runs) > 1 else "", fontsize=9.5)

    alt = "; ".join(f"{run}: {', '.join(map(_text, of))}" for run, of in runs.items())
    unseen = any(line["unseen"] for of in runs.values() for line in of)
    return draw(
        "centres", paint, title="Distances between domains",
        caption="Squared distance between the mean latents of a class in two domains, in units of "
        "the variance within a class and domain; darker is further apart."
        + " Unseen domains have a star." * unseen
        + (f" {left} more runs are in the table." if left else ""),
        alt=f"{alt}.", size=(side * columns + 0.35, (side + 0.1) * rows),
    )  # fmt: skip


def _domains(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line[end] for end in ("domain", "other_domain") for line in lines))


def _text(line: Line) -> str:
    held, names = line["held"], f"{line['domain']} and {line['other_domain']}"
    ends = interval(held, DISTANCE)
    number = "undefined" if held.mean is None else DISTANCE.show(held.mean)
    return f"{names} {number}{f' ({ends})' if ends else ''}"


def _paint(axes: Axes, run: str, lines: Sequence[Line], top: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    domains = _domains(lines)
    unseen = {name for line in lines for name in line["unseen"]}
    count = len(domains)
    values = np.full((count, count), np.nan)
    tips: dict[tuple[float, float], str] = {}
    for line in lines:
        i, j = domains.index(line["domain"]), domains.index(line["other_domain"])
        if line["held"].mean is not None:
            values[i, j] = values[j, i] = line["held"].mean
            tips[i, j] = tips[j, i] = f"{run}: {_text(line)}"
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
    add_tips(axes, [j for _, j in tips], [i for i, _ in tips], list(tips.values()))
    seen = count - len(unseen)
    if 0 < seen < count:  # what is right of and below the lines is unseen
        axes.axhline(seen - 0.5, color=INK, lw=1)
        axes.axvline(seen - 0.5, color=INK, lw=1)
    names = [f"{shorten(name, 13)}{' *' if name in unseen else ''}" for name in domains]
    ticks = np.arange(0, count, max(1, -(-count // 20)))
    labels = [names[int(tick)] for tick in ticks]
    axes.set_xticks(ticks, labels, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(ticks, labels, fontsize=8)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    axes.grid(visible=False)
    axes.tick_params(length=0, color=FAINT)
    axes.spines[:].set_visible(False)
