"""Counts of two lists of names as a coloured square, such as a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import HEAT, INK, MUTED, PAPER, SKY, draw_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 15
"""Matrices with more rows show colours only."""


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
    count = len(names)
    size = float(np.clip(2.2 + 0.42 * count, 3.6, 7.5))

    def paint(axes: Axes) -> None:
        from matplotlib.colors import LinearSegmentedColormap, to_rgba

        # One colour, more or less transparent, suits light and dark pages; a picture has it fixed.
        shade = HEAT if count <= MOST_NUMBERS else SKY
        ends = [to_rgba(shade, 0.0), to_rgba(shade, 1.0)]
        style: dict[str, Any] = {
            "cmap": LinearSegmentedColormap.from_list("shades", ends),
            "vmin": 0,
            "vmax": 100,
        }
        if count <= MOST_NUMBERS:
            edges = np.arange(count + 1) - 0.5
            axes.pcolormesh(
                edges, edges, np.nan_to_num(percent), edgecolors=PAPER, linewidth=0.8, **style
            )
            for (i, j), value in np.ndenumerate(percent):
                ink = MUTED if value == 0 else INK
                text = "–" if np.isnan(value) else f"{value:.0f}\n({counts[i][j]:.0f})"
                axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)
        else:
            image = axes.imshow(percent, interpolation="none", **style)
            axes.figure.colorbar(image, ax=axes, label="%", shrink=0.8)
        ticks = np.arange(0, count, max(1, -(-count // 40)))
        labels = [shorten(names[int(i)], 18) for i in ticks]
        flat = count * max(map(len, labels)) <= 48
        turned: dict[str, Any] = (
            {} if flat else {"rotation": 50, "ha": "right", "rotation_mode": "anchor"}
        )
        axes.set_xticks(ticks, labels, **turned)
        axes.set_yticks(ticks, labels)
        axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
        axes.grid(visible=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)

    return draw_axes(name, paint, size=(size + 0.6, size), **words)
