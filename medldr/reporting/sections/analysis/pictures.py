"""Nearest neighbours as pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from medldr.evaluation.representation.pictures import PicturedNeighbours
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.latents.pictures import neighbour_pictures
from medldr.reporting.prose import section

MOST = 4
"""Runs whose pictures are shown: a page with more would be too large to send."""


def pictures_section(
    found: Mapping[str, PicturedNeighbours], pictures: Mapping[str, Callable[[int], NDArray[Any]]]
) -> Section | None:
    """A figure for each run; None where no images are at hand.

    Args:
        found: By heading of the run, the reference first.
        pictures: By heading, what gives the image of a row of the dataset's table: ``(C, H, W)`` or
            ``(C, X, Y, Z)``, uint8 or from 0 to 1. Runs without it are left out.
    """
    there = {run: held for run, held in found.items() if run in pictures}
    # Runs that degrade and restore come first: the figure is about these.
    ranked = sorted(there, key=lambda run: -len(there[run].queries[0].neighbours))[:MOST]
    drawings = [
        neighbour_pictures(f"neighbour_pictures_{number}", run, there[run], pictures[run])
        for number, run in enumerate(ranked, 1)
    ]
    return section(
        "analysis", "pictures", Figures([drawing for drawing in drawings if drawing is not None]),
        shown=f"Shown are {MOST} of {len(there)} runs." if len(there) > MOST else "",
    )  # fmt: skip
