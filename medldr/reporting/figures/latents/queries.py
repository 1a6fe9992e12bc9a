"""The paper's first figure: queries, degraded and restored, over the training images."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from medldr.evaluation.representation.planes import ITERATIONS, PERPLEXITY
from medldr.evaluation.representation.queries import Queries, Scene
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    OLIVE,
    ORANGE,
    PINK,
    SKY,
    draw,
    shorten,
)
from medldr.reporting.figures.latents.scatter import (
    Legend,
    bare,
    colours_of,
    legend_height,
    name_colours,
    put_legend,
    put_points,
)
from medldr.reporting.figures.views import VIEW_LOOKS, VIEW_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.0, 2.6
"""Of a panel, in inches."""
BACKGROUND: Final = (ORANGE, SKY, PINK, OLIVE, INK, GREEN, BLUE)
"""Colours of the training images; the last two are those of restored and degraded latents, whose
markers are others."""
DOMAINS: Final = (INK, OLIVE, PINK, SKY, ORANGE, GREEN, BLUE)
"""Another order, so that the first domains do not look like the first classes."""
SIZES: Final = {"*": 7.5, "x": 3.0, "v": 5.6}
MADE: Final = {
    DEGRADED: ("crosses", "what degradation makes of them"),
    RESTORED: ("triangles", "restored latents"),
}

Panel = tuple[str, Scene, dict[str, str]]


def queries_figure(heading: str, found: Queries, number: int) -> Drawing | None:
    """Up to three panels of one run; None where it has no map.

    Args:
        heading: What the run is called.
        found: Its queries.
        number: Of the run on the page, from 1, which keeps names apart.
    """
    panels = _panels(found)
    if not panels:
        return None
    shown = [name for name in VIEW_TITLES if name == ORIGINAL or name in panels[0][1].moved]
    legend: list[tuple[Mapping[str, Any], str]] = [
        (_look(name), "query" if name == ORIGINAL else VIEW_TITLES[name]) for name in shown
    ]
    legend.append(({"marker": "o", "ms": 5, "color": MUTED, "mfc": "none"}, "training image"))
    for _, scene, colours in panels:
        kind = "class" if scene is found.inserted else "domain"
        legend += name_colours(kind, colours)
    width = WIDTH * len(panels)
    return draw(
        f"queries_{number}", partial(_paint, panels=panels, legend=legend),
        title=f"{heading}: queries, degraded and restored", caption=_caption(found, shown[1:]),
        size=(width, HEIGHT + 0.35 + legend_height(legend, width)),
        alt=f"{heading}: t-SNE of training images with queries, their "
        f"{' and '.join(VIEW_TITLES[name] for name in shown[1:])} latents.",
    )  # fmt: skip


def _panels(found: Queries) -> list[Panel]:
    """Title, points and colours of each panel."""
    panels: list[Panel] = []
    if found.batch is not None:
        queries = _times(len(found.batch.query), "query", "queries")
        panels.append((f"a batch of {queries}", found.batch, {}))
    if found.inserted is not None:
        title = f"{_times(len(found.inserted.query), 'query', 'queries')}, each in " + _times(
            found.batches, "batch", "batches"
        )
        panels.append((title, found.inserted, colours_of(found.inserted.names, BACKGROUND)))
    if found.one_class is not None:
        title = f"{shorten(found.class_name)} only"
        panels.append((title, found.one_class, colours_of(found.one_class.names, DOMAINS)))
    return [
        (f"{letter}: {title}", scene, colours)
        for letter, (title, scene, colours) in zip("ABC", panels, strict=False)
    ]


def _times(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _look(name: str) -> dict[str, Any]:
    """How a query or what was made of it is drawn."""
    look = VIEW_LOOKS[name]
    filled = look["color"] if name == ORIGINAL else "none"
    return {**look, "ms": SIZES[look["marker"]], "mfc": filled, "mew": 0.9}


def _caption(found: Queries, names: Collection[str]) -> str:
    made = [f"{signs} {text}" for name, (signs, text) in MADE.items() if name in names]
    parts = [
        f"Stars are latents of training images, {', '.join(made)}; all others are training images "
        "as they are."
    ]
    said = []
    if found.batch is not None:
        both = " and ".join(VIEW_TITLES[name] for name in names)
        said.append(f"a random batch of training images, {both} in one forward pass")
    if found.inserted is not None:
        said.append("images that were each put into several random batches")
    if found.one_class is not None:
        said.append("images of a single class, by domain, on a map of their own")
    parts += [f"{letter}: {text}." for letter, text in zip("ABC", said, strict=False)]
    pair = [value for value in found.perplexity if value is not None]
    used = " and ".join(f"{value:.3g}" for value in dict.fromkeys(pair))
    lowered = f", lowered from {PERPLEXITY:g} for few images" if min(pair) < PERPLEXITY else ""
    parts.append(
        f"t-SNE of everything shown, together (perplexity {used}{lowered}; {ITERATIONS} "
        "iterations): distances on it mean little, those in the table are of the latents."
    )
    if found.left_out:
        parts.append(f"{found.left_out:,} training images are left out, because their latents are "
                     "not finite.")  # fmt: skip
    return " ".join(parts)


def _paint(figure: Figure, panels: Sequence[Panel], legend: Legend) -> None:
    for place, (title, scene, colours) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        _background(axes, scene, colours)
        # Often both lie together: crosses on top of open triangles leave both to be seen.
        for name, xy in reversed(list(scene.moved.items())):
            axes.plot(xy[:, 0], xy[:, 1], ls="none", **_look(name))
        axes.plot(scene.query[:, 0], scene.query[:, 1], ls="none", **_look(ORIGINAL))
        bare(axes, title)
    put_legend(figure, legend)


def _background(axes: Axes, scene: Scene, colours: Mapping[str, str]) -> None:
    if not colours:
        put_points(axes, scene.background, MUTED, size=2.6)
    for name, colour in colours.items():
        put_points(axes, scene.background[scene.kind == name], colour, size=2.6)
