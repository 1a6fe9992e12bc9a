"""Images and their nearest neighbours, as in the paper's figure."""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.evaluation.explain.mistakes import thumbnail
from medldr.evaluation.representation.pictures import TOP, PicturedNeighbours, Retrieved, Shown
from medldr.reporting.document import Drawing
from medldr.reporting.figures.dots import VIEW_TITLES
from medldr.reporting.figures.drawing import GREEN, INK, MUTED, RED, draw, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


logger = logging.getLogger("medldr.reporting")

ACROSS = 3
"""Queries next to each other."""
SIDE = 0.95
"""Width of an image, in inches."""
GAP = 0.25
"""Between the neighbours of a query and the next one, in widths of an image."""

Picture = Callable[[int], NDArray[Any]]


def neighbour_pictures(
    name: str, heading: str, found: PicturedNeighbours, picture: Picture
) -> Drawing | None:
    """Queries with the nearest neighbours of their degraded and of their restored latents.

    Args:
        name: Unique within the page.
        heading: Of the run.
        found: What is shown.
        picture: A row of the dataset's table to its image ``(C, H, W)`` or ``(C, X, Y, Z)``, uint8
            or from 0 to 1; of a volume, the middle axial slice is shown, as in heat maps.

    Returns:
        None where there is no query, or an image cannot be read, which the log says.
    """
    if not found.queries:
        return None
    views = list(found.queries[0].neighbours)
    columns = min(ACROSS, len(found.queries))
    rows = -(-len(found.queries) // columns)
    every = [
        shown
        for each in found.queries
        for shown in (each.query, *(near for row in each.neighbours.values() for near in row))
    ]
    try:
        images = {shown.row: _pixels(picture(shown.row)) for shown in every}
    except (OSError, InputError) as problem:  # its text may name a file, which a page never does
        logger.warning("the images of %s could not be read: %s", heading, problem)
        return None
    tall = (SIDE + 0.42) * len(views) * rows + 0.25 * rows
    size = ((SIDE * (TOP + 1) + 0.3) * columns + GAP * SIDE * (columns - 1), tall)

    def paint(figure: Figure) -> None:
        widths = ([1.0] * (TOP + 1) + [GAP]) * columns  # a gap behind the neighbours of a query
        grid = figure.add_gridspec(
            rows * len(views), len(widths) - 1, width_ratios=widths[:-1], hspace=0.05, wspace=0.05
        )
        for number, each in enumerate(found.queries):
            top, left = number // columns * len(views), number % columns * (TOP + 2)
            first = figure.add_subplot(grid[top : top + len(views), left])
            _show(first, each.query, images, each, "query")
            for line, view in enumerate(views):
                for place, near in enumerate(each.neighbours[view]):
                    axes = figure.add_subplot(grid[top + line, left + 1 + place])
                    _show(axes, near, images, each, "")
                    if place == 0:
                        axes.set_ylabel(VIEW_TITLES[view], fontsize=8, color=INK)

    return draw(name, paint, title=f"{heading}: nearest neighbours", size=size,
                caption=_caption(views), alt=_words(found))  # fmt: skip


def _caption(views: list[str]) -> str:
    rows = " and ".join(
        f"of its {VIEW_TITLES[view]} latents ({'top' if place == 0 else 'bottom'})"
        if len(views) > 1
        else "of its latents"
        for place, view in enumerate(views)
    )
    return (
        f"Training images drawn at random, each with the {TOP} nearest neighbours {rows}. Green "
        "frames: the class of the query; red frames and names in bold: another class. Dashed "
        "frames: another domain; a star marks domains that training has not seen."
    )


def _words(found: PicturedNeighbours) -> str:
    parts = []
    for each in found.queries:
        rows = [
            f"{VIEW_TITLES[view]}: " + ", ".join(_named(shown) for shown in near)
            for view, near in each.neighbours.items()
        ]
        parts.append(f"Query {_named(each.query)}; " + "; ".join(rows))
    return ". ".join(parts) + "."


def _named(shown: Shown) -> str:
    if not shown.domain:
        return shown.label
    return f"{shown.label} ({shown.domain}{', unseen' if shown.unseen else ''})"


def _show(
    axes: Axes, shown: Shown, images: Mapping[int, NDArray[Any]], each: Retrieved, title: str
) -> None:
    pixels = images[shown.row]
    grey = {"cmap": "gray", "vmin": 0, "vmax": 255} if pixels.ndim == 2 else {}
    axes.imshow(pixels, interpolation="none", **grey)  # type: ignore[arg-type]
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    right = shown.label == each.query.label
    colour = MUTED if title else GREEN if right else RED
    dash = "--" if shown.domain != each.query.domain else "-"
    axes.spines[:].set(visible=True, color=colour, linewidth=2.2, linestyle=dash)
    star = " *" if shown.unseen else ""
    domain = f"\n{shorten(shown.domain, 15)}{star}" if shown.domain else ""
    axes.set_xlabel(
        f"{shorten(shown.label, 15)}{domain}", fontsize=7.5, labelpad=2.5,
        fontweight="normal" if right else "bold", color=INK,
    )  # fmt: skip
    axes.set_title(title, fontsize=8, fontweight="normal", loc="center", pad=2.5)


def _pixels(image: NDArray[Any]) -> NDArray[np.uint8]:
    """A small picture ``(H, W)`` or ``(H, W, 3)``."""
    from PIL import Image

    if image.ndim == 4:  # the patient's right on the left, front up
        image = image[..., image.shape[3] // 2].swapaxes(1, 2)[:, ::-1, ::-1]
    with Image.open(io.BytesIO(base64.b64decode(thumbnail(image)))) as picture:
        return np.asarray(picture)
