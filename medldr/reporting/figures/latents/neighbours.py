"""What the nearest neighbours of latents share with their query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from medldr.evaluation.representation import neighbours as known
from medldr.evaluation.representation.neighbours import SHARES, Neighbours, Part
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    LEGEND_LINE,
    MUTED,
    ORANGE,
    PAPER,
    add_tips,
    draw,
    shorten,
)  # fmt: skip
from medldr.reporting.figures.latents.dots import AT_RANDOM, Panel, dots_figure
from medldr.reporting.figures.views import VIEW_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = {
    "training": "training images",
    "seen": "other images of seen domains",
    "unseen": "test images of unseen domains",
    "other": "other images",
}
"""The queries of each part, in words."""
SEGMENTS = {
    known.SAME_CLASS: GREEN, known.SAME_BOTH: BLUE, known.SAME_DOMAIN: ORANGE,
    known.SAME_NEITHER: MUTED, known.ALIKE: GREEN, known.UNLIKE: MUTED,
}  # fmt: skip
"""Segments of a bar, from left to right."""
CHANCE = "drawn at random"


def across_figure(found: Mapping[str, Neighbours]) -> Drawing | None:
    """Share of neighbours of the same class in another domain; without domains, of the same class.

    Args:
        found: By heading of the run.

    Returns:
        None where no share is defined.
    """
    domains = any(
        known.SAME_CLASS in p.chance for run in found.values() for p in run.parts.values()
    )
    share = known.SAME_CLASS if domains else known.ALIKE
    panels = [
        Panel(
            title[0].upper() + title[1:],
            {heading: {view: shares[share] for view, shares in part.views.items()}
             for heading, part in parts.items()},
            {heading: {AT_RANDOM: part.chance[share]} for heading, part in parts.items()},
        )
        for name, title in PARTS.items()
        if name != "seen" and (parts := _with_share(found, name, share))
    ]  # fmt: skip
    k = max((run.k for run in found.values()), default=0)
    return dots_figure(
        "neighbours_across", panels, SHARES[share],
        title=f"Neighbours of the {'same class in another domain' if domains else 'same class'}",
        caption=f"Share of the {k} nearest neighbours of an image, with its 95% CI: further right "
        "is better. Broken line: neighbours drawn at random.",
    )  # fmt: skip


def _with_share(found: Mapping[str, Neighbours], part: str, share: str) -> dict[str, Part]:
    """A part of each run that has it."""
    return {
        heading: run.parts[part]
        for heading, run in found.items()
        if part in run.parts and share in run.parts[part].chance
    }


def shares_figure(found: Mapping[str, Neighbours], part: str) -> Drawing | None:
    """Shares of all kinds of neighbours as bars, one for each run and kind of latents.

    Args:
        found: By heading of the run.
        part: Which queries, one of `PARTS`.

    Returns:
        None where no run has such queries.
    """
    bars: list[tuple[str, str, Mapping[str, float]]] = []
    for heading, run in found.items():
        if part in run.parts:
            for view, shares in run.parts[part].views.items():
                values = {name: e.mean or 0.0 for name, e in shares.items() if name in SEGMENTS}
                bars.append((heading, VIEW_TITLES[view], values))
    if not bars:
        return None
    chances = [run.parts[part].chance for run in found.values() if part in run.parts]
    if all(level == chances[0] for level in chances):
        bars.append(("", CHANCE, {n: v for n, v in chances[0].items() if n in SEGMENTS}))
    names = [name for name in SEGMENTS if any(name in values for _, _, values in bars)]
    lines = -(-len(names) // 2)
    size = (6.4, 0.75 + LEGEND_LINE * lines + 0.27 * len(bars))

    def paint(figure: Figure) -> None:
        top = LEGEND_LINE * lines / size[1]
        figure.set_layout_engine("constrained", rect=(0, top, 1, 1 - top))
        _paint_bars(figure.add_subplot(), bars, names)
        for place, name in enumerate(names):
            x, y = 0.3 + 3.0 * (place // lines), top - LEGEND_LINE * (place % lines + 0.5) / size[1]
            figure.text(x / size[0], y, "■", color=SEGMENTS[name], fontsize=10, va="center")
            figure.text((x + 0.2) / size[0], y, SHARES[name].title, fontsize=9, va="center")

    words = "; ".join(
        f"{f'{heading}, ' if heading else ''}{view}: "
        + ", ".join(f"{SHARES[n].title.lower()} {SHARES[n].with_unit(values[n])}" for n in values)
        for heading, view, values in bars
    )
    return draw(
        f"neighbours_{part}", paint, title=f"Neighbours of {PARTS[part]}", alt=f"{words}.",
        caption="Each bar adds up to 100% of the nearest neighbours. Green grows where latents of "
        + ("one class come together whatever the domain." if known.SAME_CLASS in names
           else "one class come together."),
        size=size,
    )  # fmt: skip


def _paint_bars(
    axes: Axes, bars: list[tuple[str, str, Mapping[str, float]]], names: list[str]
) -> None:
    for row, (heading, view, values) in enumerate(bars):
        left = 0.0
        for name in names:
            share = 100 * values.get(name, 0.0)
            axes.barh(
                row, share, left=left, height=0.72, color=SEGMENTS[name], edgecolor=PAPER,
                linewidth=0.8, alpha=0.55 if view == CHANCE else 1.0,
            )  # fmt: skip
            if share >= 6:
                axes.text(left + share / 2, row, f"{share:.0f}", ha="center", va="center",
                          color=PAPER if view != CHANCE else INK, fontsize=8.5)  # fmt: skip
            tip = f"{f'{heading}, ' if heading else ''}{view}: {SHARES[name].title.lower()}"
            add_tips(axes, [left + share / 2], [row], [f"{tip} {share:.1f}%"])
            left += share
    headings = [heading for heading, _, _ in bars]
    labels = [f"{shorten(heading, 24)}, {view}" if heading else view for heading, view, _ in bars]
    axes.set_yticks(range(len(bars)), labels)
    for row in range(1, len(bars)):
        if headings[row] != headings[row - 1]:
            axes.axhline(row - 0.5, color=FAINT, lw=0.9)
    axes.set(xlim=(0, 100), ylim=(len(bars) - 0.5, -0.5), xlabel="nearest neighbours (%)")
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
