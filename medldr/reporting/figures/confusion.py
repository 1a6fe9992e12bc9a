"""The confusion matrix as a figure: counts, and shares of each true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import INK, MUTED, draw, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    right = ", ".join(
        f"{name} {table[i, i]:.0f} of {totals[i, 0]:.0f}" for i, name in enumerate(names)
    )
    size = float(np.clip(2.2 + 0.42 * len(names), 3.6, 7.5))

    def paint(values: Any, unit: str) -> Any:
        return lambda figure: _paint_confusion(figure, values, names, unit)

    return [
        draw(
            "confusion-counts", paint(table, ""), size=(size + 0.6, size),
            title="Counts",
            caption="Each row is what an image truly is, each column what the model said; "
            "right answers lie on the diagonal.",
            alt=f"Right answers per class: {right}.",
        ),
        draw(
            "confusion-shares", paint(shares, "%"), size=(size + 0.6, size),
            title="Per cent of each true class",
            caption="Each row adds up to 100 %, so that rare classes can be read as well as "
            "frequent ones; the diagonal is the recall.",
            alt="Share of right answers per class: "
            + ", ".join(
                f"{name} {'undefined' if np.isnan(shares[i, i]) else f'{shares[i, i]:.0f} %'}"
                for i, name in enumerate(names)
            )
            + ".",
        ),
    ]  # fmt: skip


def _paint_confusion(figure: Figure, values: Any, names: Sequence[str], unit: str) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    count = len(names)
    axes: Axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("white_blue", ["#ffffff", "#9ec9e6", "#0b4f86"])
    defined = values[~np.isnan(values)]
    top = 100.0 if unit else max(1.0, float(defined.max(initial=0)))
    edges = np.arange(count + 1) - 0.5
    if count <= MOST_NUMBERS:
        axes.pcolormesh(
            edges, edges, np.nan_to_num(values), cmap=colours, vmin=0, vmax=top,
            edgecolors="white", linewidth=0.8,
        )  # fmt: skip
        for i, j in np.ndindex(count, count):
            value = values[i, j]
            text = "–" if np.isnan(value) else f"{value:.0f}"
            ink = "white" if value > 0.55 * top else INK
            if value == 0:
                ink = MUTED
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)
    else:
        image = axes.imshow(values, cmap=colours, vmin=0, vmax=top, interpolation="none")
        figure.colorbar(image, ax=axes, label="per cent" if unit else "images", shrink=0.8)
    step = max(1, -(-count // 40))
    ticks = np.arange(0, count, step)
    labels = [shorten(names[int(i)], 18) for i in ticks]
    flat = count <= 4 and max(map(len, labels)) <= 12
    axes.set_xticks(ticks, labels, rotation=0 if flat else 50, ha="center" if flat else "right",
                    rotation_mode=None if flat else "anchor")  # fmt: skip
    axes.set_yticks(ticks, labels)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("the model said")
    axes.set_ylabel("truth")
