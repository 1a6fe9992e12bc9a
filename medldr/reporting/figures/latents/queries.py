"""The paper's first figure: queries, degraded and restored, over the training images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from medldr.evaluation.representation.planes import ITERATIONS
from medldr.evaluation.representation.queries import Queries, Scene
from medldr.folders.latents_record import ORIGINAL
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
    shorten,
)
from medldr.reporting.figures.latents.scatter import (
    Look,
    Panel,
    colours_of,
    dot,
    name_colours,
    points_figure,
)
from medldr.reporting.figures.views import VIEW_LOOKS, VIEW_TITLES

BACKGROUND: Final = {
    "class": (ORANGE, SKY, PINK, OLIVE, INK, GREEN, BLUE),
    "domain": (INK, OLIVE, PINK, SKY, ORANGE, GREEN, BLUE),
}
"""Colours of the training images, in another order for domains, which are not classes; the last two
are those of restored and degraded latents, whose markers are others."""
SIZES: Final = {"*": 7.5, "x": 3.0, "v": 5.6}


def queries_figure(heading: str, found: Queries, number: int) -> Drawing | None:
    """Up to three panels of one run; None where it has no map.

    Args:
        heading: What the run is called.
        found: Its queries.
        number: Of the run on the page, from 1, which keeps names apart.
    """
    scenes = list(_scenes(found))
    if not scenes:
        return None
    moved = [name for name in VIEW_TITLES if name in scenes[0][2].moved]
    legend: list[tuple[Look, str]] = [(_look(ORIGINAL), "query")]
    legend += [(_look(name), VIEW_TITLES[name]) for name in moved]
    legend.append(({"marker": "o", "ms": 5, "color": MUTED, "mfc": "none"}, "training image"))
    panels = []
    for letter, (title, kind, scene) in zip("ABC", scenes, strict=False):
        colours = colours_of(scene.names, BACKGROUND[kind]) if kind else {"": MUTED}
        legend += name_colours(kind, colours) if kind else []
        panels.append(Panel(f"{letter}: {title}", _points(scene, colours)))
    both = " and ".join(VIEW_TITLES[name] for name in moved)
    return points_figure(
        f"queries_{number}", [panels], legend, side=3.0,
        title=f"{heading}: queries, degraded and restored", caption=_caption(found, both),
        alt=f"{heading}: t-SNE of training images with queries, their {both} latents.",
    )  # fmt: skip


def _scenes(found: Queries) -> Iterator[tuple[str, str, Scene]]:
    """Title of each panel, what the colours of its background are, and its points."""
    if found.batch is not None:
        yield f"a batch of {len(found.batch.query):,} queries", "", found.batch
    if found.inserted is not None:
        queries, batches = len(found.inserted.query), found.batches
        title = f"{queries:,} queries, each in {batches:,} batch{'es' * (batches != 1)}"
        yield title, "class" if found.inserted.names else "", found.inserted
    if found.one_class is not None:
        yield f"{shorten(found.class_name)} only", "domain", found.one_class


def _points(scene: Scene, colours: Mapping[str, str]) -> list[tuple[Any, Look]]:
    ground = [(scene.background[scene.kind == name] if name else scene.background,
               dot(colour, size=2.6)) for name, colour in colours.items()]  # fmt: skip
    # Often both lie together: crosses on top of open triangles leave both to be seen.
    moved = [(xy, _look(name)) for name, xy in reversed(list(scene.moved.items()))]
    return [*ground, *moved, (scene.query, _look(ORIGINAL))]


def _look(name: str) -> dict[str, Any]:
    """How a query or what was made of it is drawn."""
    look = VIEW_LOOKS[name]
    filled = look["color"] if name == ORIGINAL else "none"
    return {**look, "ms": SIZES[look["marker"]], "mfc": filled, "mew": 0.9}


def _caption(found: Queries, both: str) -> str:
    used = dict.fromkeys(f"{value:.3g}" for value in found.perplexity if value is not None)
    said = f"Stars are latents of training images, the marks beside them their {both} latents; all "
    said += "others are training images as they are. A batch is degraded and restored in one pass; "
    said += "a panel of one class has a map of its own. t-SNE of everything shown, together "
    said += f"(perplexity {' and '.join(used)}; {ITERATIONS} iterations): distances on it mean "
    said += "little, those in the table are of the latents."
    if found.left_out:
        said += f" {found.left_out:,} training images are left out, because their latents are not "
        said += "finite."
    return said
