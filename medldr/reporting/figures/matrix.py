"""Coloured squares of two lists of names: a confusion matrix, distances between domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.evaluation.representation.centres import DISTANCE, PAIR
from medldr.evaluation.representation.frame import Line, where
from medldr.reporting.document import Drawing
from medldr.reporting.figures import drawing as palette
from medldr.reporting.figures.drawing import add_tips, draw, draw_axes, shorten
from medldr.reporting.table import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NUMBERS = 15
"""Matrices with more rows show colours only."""
MOST_NAMES = 40
MOST = 6
"""Runs of one figure."""
ACROSS = 3


def matrix_figure(
    name: str, percent: Any, names: Sequence[str], *, counts: Any, **words: Any
) -> Drawing:
    """A square of percentages, coloured by their size, with the counts behind them.

    Args:
        name: Unique within the page.
        percent: ``K x K``; NaN where there is none.
        names: Of the rows and of the columns.
        counts: ``K x K``, printed in parentheses.
        words: Further arguments of `draw_axes`.
    """
    size = float(np.clip(2.2 + 0.42 * len(names), 3.6, 7.5))

    def text(i: int, j: int) -> str:
        share = percent[i, j]
        return "–" if np.isnan(share) else f"{share:.0f}\n({counts[i][j]:.0f})"

    def paint(axes: Axes) -> None:
        texts = [[text(i, j) for j in range(len(names))] for i in range(len(names))]
        _square(axes, percent, [shorten(name, 18) for name in names], texts, 100, "%", letters=48)

    return draw_axes(name, paint, size=(size + 0.6, size), **words)


def _square(
    axes: Axes, values: Any, names: Sequence[str], texts: Any, top: float, unit: str = "", *,
    letters: int = 0,
) -> None:  # fmt: skip
    """Values as shades of one colour, with a text in each cell where there is room.

    One colour, more or less transparent, suits light and dark pages; a picture has it fixed.

    Args:
        axes: Empty ones.
        values: ``K x K``; NaN where there is none.
        names: Of the rows and of the columns, as they are printed.
        texts: ``K x K``.
        top: The value of the darkest shade.
        unit: Of the values.
        letters: How many fit below it; names that are longer together are slanted.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    count = len(names)
    shade = palette.HEAT if count <= MOST_NUMBERS else palette.SKY
    cmap = LinearSegmentedColormap.from_list("", [to_rgba(shade, 0.0), to_rgba(shade, 1.0)])
    style: dict[str, Any] = {"cmap": cmap, "vmin": 0, "vmax": top}
    if count <= MOST_NUMBERS:
        edges, shown = np.arange(count + 1) - 0.5, np.clip(np.nan_to_num(values), 0, None)
        axes.pcolormesh(edges, edges, shown, edgecolors=palette.PAPER, linewidth=0.8, **style)
        for (i, j), value in np.ndenumerate(values):
            ink = palette.INK if value > 0 else palette.MUTED
            axes.text(j, i, texts[i][j], ha="center", va="center", color=ink, fontsize=9)
    else:
        image = axes.imshow(values, interpolation="none", **style)
        axes.figure.colorbar(image, ax=axes, label=unit, shrink=0.8)
    ticks = np.arange(0, count, max(1, -(-count // MOST_NAMES)))
    labels = [names[int(tick)] for tick in ticks]
    flat = count * max(map(len, labels)) <= letters
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(ticks, labels, **({} if flat else slanted))
    axes.set_yticks(ticks, labels)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def centres_figure(frame: Sequence[Line]) -> Drawing | None:
    """Distances between domains: a matrix for each run, all on one scale; of the first six runs.

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
    side = float(np.clip(1.45 + 0.5 * max(len(_domains(of)) for of in runs.values()), 2.45, 5.15))
    columns = min(ACROSS, len(runs))
    rows = -(-len(runs) // columns)

    def paint(figure: Figure) -> None:
        for place, (run, of) in enumerate(runs.items()):
            axes = figure.add_subplot(rows, columns, place + 1)
            _distances(axes, run, of, top)
            axes.set_title(shorten(run, 26) if len(runs) > 1 else "", fontsize=9.5)

    alt = "; ".join(f"{run}: {', '.join(map(_text, of))}" for run, of in runs.items())
    unseen = any(line["unseen"] for of in runs.values() for line in of)
    return draw(
        "centres", paint, title="Distances between domains",
        caption="Squared distance between the mean latents of a class in two domains, in units of "
        "the variance within a class and domain; darker is further apart."
        + " Unseen domains have a star." * unseen
        + (f" {left} more runs are in centres.csv." if left else ""),
        alt=f"{alt}.", size=(side * columns + 0.35, (side + 0.1) * rows),
    )  # fmt: skip


def _domains(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line[end] for end in ("domain", "other_domain") for line in lines))


def _text(line: Line) -> str:
    return f"{line['domain']} and {line['other_domain']} {number_text(line['held'], DISTANCE)}"


def _distances(axes: Axes, run: str, lines: Sequence[Line], top: float) -> None:
    domains = _domains(lines)
    unseen = {name for line in lines for name in line["unseen"]}
    count = len(domains)
    values = np.full((count, count), np.nan)
    tips: dict[tuple[int, int], str] = {}
    for line in lines:
        i, j = domains.index(line["domain"]), domains.index(line["other_domain"])
        if line["held"].mean is not None:
            values[i, j] = values[j, i] = line["held"].mean
            tips[i, j] = tips[j, i] = f"{run}: {_text(line)}"
    texts = [["–" if v != v else f"{v:.2f}".replace("-", "−") for v in row] for row in values]
    names = [f"{shorten(name, 13)}{' *' if name in unseen else ''}" for name in domains]
    _square(axes, values, names, texts, top)
    axes.set_aspect("equal")
    add_tips(axes, [j for _, j in tips], [i for i, _ in tips], list(tips.values()))
    seen = count - len(unseen)
    if 0 < seen < count:  # what is right of and below the lines is unseen
        axes.axhline(seen - 0.5, color=palette.INK, lw=1)
        axes.axvline(seen - 0.5, color=palette.INK, lw=1)
