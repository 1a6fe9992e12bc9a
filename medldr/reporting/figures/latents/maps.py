"""Maps of latents, runs side by side: coloured by class and by domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.representation.maps import Map, Maps
from medldr.evaluation.representation.planes import ITERATIONS
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import MUTED, shorten
from medldr.reporting.figures.latents.scatter import (
    CLASS_COLOURS,
    DOMAIN_COLOURS,
    MOST_POINTS,
    Panel,
    colours_of,
    dot,
    name_colours,
    points_figure,
)

WIDEST: Final = 4
"""Panels next to each other."""
NO_DOMAIN: Final = "none"
TITLES: Final = {
    ("pca", "all"): "All images, by PCA",
    ("t-sne", "all"): "All images, by t-SNE",
    ("t-sne", "unseen"): "Test images of unseen domains, by t-SNE",
    ("t-sne", "test"): "Test images, by t-SNE",
    ("t-sne", "validation"): "Validation images, by t-SNE",
}


def map_figures(found: Mapping[str, Maps], data: Mapping[str, str]) -> list[Drawing]:
    """One figure for each kind of map that any run has, and for each data set.

    Args:
        found: Maps of runs by their heading.
        data: The data set of each.
    """
    sets: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for heading, maps in found.items():
        sets.setdefault((data[heading], maps.class_names), []).append(heading)
    drawings = []
    for key in TITLES:
        for place, ((of, names), headings) in enumerate(sets.items()):
            held = {
                heading: made
                for heading in headings
                for made in found[heading].maps
                if (made.method, made.part) == key and len(made)
            }
            if held:
                more = (f"_{place + 1}" if place else "", f", {of}" if len(sets) > 1 else "")
                drawings.append(_figure(held, names, *more))
    return drawings


def _figure(held: Mapping[str, Map], class_names: Sequence[str], number: str, data: str) -> Drawing:
    first = next(iter(held.values()))
    # Seen domains, then unseen ones.
    pairs = {(bool(u), str(d)) for made in held.values()
             for u, d in zip(made.unseen, _domains(made), strict=True)}  # fmt: skip
    domains = [name for _, name in sorted(pairs)]
    colours = {"class": colours_of(class_names, CLASS_COLOURS)} if class_names else {}
    if len(domains) > 1 or not class_names:
        colours["domain"] = colours_of(domains, DOMAIN_COLOURS)
    legend = [entry for side in colours for entry in name_colours(side, colours[side])]
    mixed = len({unseen for unseen, _ in pairs}) > 1
    if mixed:
        legend += [(dot(MUTED, unseen=new, size=5.0), text)
                   for new, text in ((False, "seen in training"), (True, "unseen"))]  # fmt: skip
    most = max(1, MOST_POINTS // (len(held) * len(colours)))

    def panel(heading: str, side: str, place: int) -> Panel:
        made = held[heading]
        names = np.array(class_names, dtype=np.str_)
        kind = (_domains(made) if side == "domain" else names[made.label])[:most]
        points = [
            (made.xy[:most][(kind == name) & (made.unseen[:most] == new)],
             dot(colour, unseen=new and mixed))
            for name, colour in colours[side].items()
            for new in (False, True)
        ]  # fmt: skip
        below = "" if made.share is None else f"{100 * made.share:.0f}% of the variance"
        beside = f"by {side}" if place == 0 or len(held) == 1 else ""
        return Panel(shorten(heading, 24), points, beside, below)

    runs = list(held)
    lines = [[panel(run, side, place) for place, run in enumerate(runs[start : start + WIDEST])]
             for side in colours for start in range(0, len(runs), WIDEST)]  # fmt: skip
    lines = lines if len(runs) > 1 else [[one for line in lines for one in line]]
    title = TITLES[first.method, first.part] + data
    return points_figure(
        f"maps_{first.method.replace('-', '')}_{first.part}{number}", lines, legend,
        title=title, caption=_caption(held, most),
        alt=f"{title}: {', '.join(held)}, coloured by {' and by '.join(colours)}.",
    )  # fmt: skip


def _domains(made: Map) -> NDArray[np.str_]:
    return np.where(made.domain == "", NO_DOMAIN, made.domain)


def _caption(held: Mapping[str, Map], most: int) -> str:
    (name, first), *others = held.items()
    if first.method == "pca":
        said = "The plane on which the latents vary most (PCA), with its share of their variance."
    else:
        used = sorted({made.perplexity or 0.0 for made in held.values()})
        shown = " to ".join(f"{value:.3g}" for value in dict.fromkeys((used[0], used[-1])))
        said = "t-SNE puts images with similar latents near each other; sizes of clusters and "
        said += f"distances between them mean little (perplexity {shown}, {ITERATIONS} iterations)."
    points = min(most, max(map(len, held.values())))
    images = max(made.images - made.left_out for made in held.values())
    if points < images:
        said += f" Shown are {points:,} of {images:,} images, as far as possible equally many of "
        said += "each domain and split."
    for run, made in held.items():
        if made.left_out:
            said += f" {run}: {made.left_out:,} of {made.images:,} images are left out, because "
            said += "their latents are not finite."
    fitted = [run for run, made in others if made.fitted]
    apart = [run for run, made in others if not made.fitted]
    if fitted:
        said += f" {', '.join(fitted)}: the images of {name} that the run has as well, turned to "
        said += f"fit the map of {name}."
    return said + (f" Not turned to fit the map of {name}: {', '.join(apart)}." if apart else "")
