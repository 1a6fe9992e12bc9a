"""The confusion matrix as a figure: counts, and shares of each true class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import HEAT, INK, MUTED, PAPER, SKY, draw_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERS = 15
"""Matrices with more classes show colours only."""


def confusion_figures(counts: Any, names: Sequence[str]) -> list[Drawing]:
    """The confusion matrix as counts and as shares of each true class.

    Args:
        counts: ``K x K``, rows are the truth.
        names: One per class.
    """
    table = np.asarray(counts, dtype=float)
    totals = table.sum(axis=1, keepdims=True)
    shares = np.divide(100 * table, totals, out=np.full_like(table, np.nan), where=totals > 0)
    right = [f"{table[i, i]:.0f} of {total:.0f}" for i, total in enumerate(totals[:, 0])]
    recalls = ["undefined" if np.isnan(share) else f"{share:.0f}%" for share in np.diag(shares)]
    size = float(np.clip(2.2 + 0.42 * len(names), 3.6, 7.5))
    figures = (
        (
            "counts", table, "", "Counts",
            f"Correct predictions per class: {_listed(names, right)}.",
            "Rows are true classes, columns predicted classes; correct predictions are on the "
            "diagonal.",
        ),
        (
            "shares", shares, "%", "Percentage of each true class",
            f"Recall per class: {_listed(names, recalls)}.",
            "Each row adds up to 100%, which makes rare classes as readable as frequent ones; "
            "the diagonal is the recall.",
        ),
    )  # fmt: skip
    return [
        draw_axes(
            f"confusion-{name}", partial(_paint, values=values, names=names, unit=unit),
            labels=("predicted class", "true class"), size=(size + 0.6, size),
            title=title, caption=caption, alt=alt,
        )
        for name, values, unit, title, alt, caption in figures
    ]  # fmt: skip


def _listed(names: Sequence[str], texts: Sequence[str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in zip(names, texts, strict=True))


def _paint(axes: Axes, values: Any, names: Sequence[str], unit: str) -> None:
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    count = len(names)
    # One colour, more or less transparent, suits light and dark pages; that of a picture is fixed.
    shade = HEAT if count <= MOST_NUMBERS else SKY
    ends = [to_rgba(shade, 0.0), to_rgba(shade, 1.0)]
    colours = LinearSegmentedColormap.from_list("shades", ends)
    top = 100.0 if unit else max(1.0, float(values.max(initial=0)))
    if count <= MOST_NUMBERS:
        edges = np.arange(count + 1) - 0.5
        axes.pcolormesh(
            edges, edges, np.nan_to_num(values), cmap=colours, vmin=0, vmax=top,
            edgecolors=PAPER, linewidth=0.8,
        )  # fmt: skip
        for (i, j), value in np.ndenumerate(values):
            text, ink = "–" if np.isnan(value) else f"{value:.0f}", MUTED if value == 0 else INK
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)
    else:
        image = axes.imshow(values, cmap=colours, vmin=0, vmax=top, interpolation="none")
        axes.figure.colorbar(image, ax=axes, label=unit or "images", shrink=0.8)
    ticks = np.arange(0, count, max(1, -(-count // 40)))
    labels = [shorten(names[int(i)], 18) for i in ticks]
    if count <= 4 and max(map(len, labels)) <= 12:
        axes.set_xticks(ticks, labels)
    else:
        axes.set_xticks(ticks, labels, rotation=50, ha="right", rotation_mode="anchor")
    axes.set_yticks(ticks, labels)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
