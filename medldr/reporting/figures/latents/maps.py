"""Maps of latents, runs side by side: coloured by class and by domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.representation.maps import Map, Maps
from medldr.evaluation.representation.planes import ITERATIONS, PERPLEXITY
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import MUTED, draw, shorten
from medldr.reporting.figures.latents.scatter import (
    CLASS_COLOURS,
    DOMAIN_COLOURS,
    MOST_POINTS,
    Legend,
    bare,
    colours_of,
    dot,
    legend_height,
    name_colours,
    put_legend,
    put_points,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Side = Literal["class", "domain"]
PANEL: Final = 2.35
"""Width and height of a panel, in inches."""
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
HOW: Final = {
    "pca": "The plane on which the latents vary most (PCA); the share of their variance that it "
    "shows is below each map.",
    "t-sne": "t-SNE puts images with similar latents near each other; sizes of clusters and "
    "distances between them mean little.",
}


def map_figures(found: Mapping[str, Maps], data: Mapping[str, str] | None = None) -> list[Drawing]:
    """One figure for each kind of map that any run has, and for each data set.

    Args:
        found: Maps of runs by their heading.
        data: The data set of each; unset: runs with the same classes share one.
    """
    sets: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for heading, maps in found.items():
        sets.setdefault(((data or {}).get(heading, ""), maps.class_names), []).append(heading)
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
                more = (f"_{place + 1}" if place else "", f", {of}" if of and len(sets) > 1 else "")
                drawings.append(_figure(held, names, *more))
    return drawings


def _figure(held: Mapping[str, Map], class_names: Sequence[str], number: str, data: str) -> Drawing:
    first = next(iter(held.values()))
    domains = _domains(held.values())
    colours: dict[Side, dict[str, str]] = {}
    if class_names:
        colours["class"] = colours_of(class_names, CLASS_COLOURS)
    if len(domains) > 1 or not class_names:
        colours["domain"] = colours_of(domains, DOMAIN_COLOURS)
    panels = _panels(list(held), list(colours))
    legend = [entry for side in colours for entry in name_colours(side, colours[side])]
    unseen = np.concatenate([made.unseen for made in held.values()])
    mixed = bool(unseen.any() and not unseen.all())
    if mixed:
        legend += [(_key(unseen=False), "seen in training"), (_key(unseen=True), "unseen")]
    most = max(1, MOST_POINTS // (len(held) * len(colours)))
    width = PANEL * max(map(len, panels))
    size = (width, (PANEL + 0.15) * len(panels) + legend_height(legend, width))
    title = TITLES[first.method, first.part] + data
    return draw(
        f"maps_{first.method.replace('-', '')}_{first.part}{number}",
        partial(_paint, held=held, names=class_names, colours=colours, panels=panels,
                legend=legend, most=most, mixed=mixed),
        title=title, caption=_caption(held, most), size=size,
        alt=f"{title}: {', '.join(held)}, coloured by {' and by '.join(colours)}.",
    )  # fmt: skip


def _domains(maps: Iterable[Map]) -> list[str]:
    """Domains of all maps: seen ones, then unseen ones."""
    names = {(bool(u), str(d)) for made in maps
             for u, d in zip(made.unseen, _named(made), strict=True)}  # fmt: skip
    return [name for _, name in sorted(names)]


def _key(*, unseen: bool) -> dict[str, Any]:
    return dot(MUTED, unseen=unseen, size=5.0)


def _panels(headings: Sequence[str], sides: Sequence[Side]) -> list[list[tuple[str, Side]]]:
    """Lines of panels: the sides of a single run in one, else one side of up to four runs.

    Example:
        >>> _panels(["a"], ["class", "domain"])
        [[('a', 'class'), ('a', 'domain')]]
        >>> [len(line) for line in _panels(list("abcde"), ["class", "domain"])]
        [4, 1, 4, 1]
    """
    if len(headings) == 1:
        return [[(headings[0], side) for side in sides]]
    return [
        [(heading, side) for heading in headings[start : start + WIDEST]]
        for side in sides
        for start in range(0, len(headings), WIDEST)
    ]


def _caption(held: Mapping[str, Map], most: int) -> str:
    first, count = next(iter(held.values())), len(held)
    parts = [HOW[first.method]]
    lowered = {name: m.perplexity for name, m in held.items()
               if m.perplexity is not None and m.perplexity < PERPLEXITY}  # fmt: skip
    if first.method == "t-sne":
        usual = "" if len(lowered) == count else f"perplexity {PERPLEXITY:g}, "
        parts[0] = parts[0][:-1] + f" ({usual}{ITERATIONS} iterations)."
    for name, value in lowered.items():
        of = f" ({name})" if count > 1 else ""
        parts.append(
            f"Perplexity lowered from {PERPLEXITY:g} to {value:.3g}, because there are only "
            f"{len(held[name])} images{of}."
        )
    shown = min(most, max(map(len, held.values())))
    images = max(made.images - made.left_out for made in held.values())
    if shown < images:
        parts.append(
            f"Shown are {shown:,} of {images:,} images, as far as possible equally many of each "
            "domain and split."
        )
    for name, made in held.items():
        if made.left_out:
            of = f" ({name})" if count > 1 else ""
            parts.append(f"{made.left_out:,} of {made.images:,} images are left out, because their "
                         f"latents are not finite{of}.")  # fmt: skip
    if count > 1:
        parts.append(_together(held))
    return " ".join(parts)


def _together(held: Mapping[str, Map]) -> str:
    """How the maps of several runs belong together."""
    first, *others = held
    apart = [name for name in others if not held[name].fitted]
    if apart:
        return f"Not turned to fit the map of {first}: {', '.join(apart)}."
    rows = {name: set(held[name].row.tolist()) for name in held}
    said = "All maps show the same images"
    if any(rows[name] != rows[first] for name in others):
        shared = ", ".join(f"{name}: {len(rows[name]):,}" for name in others)
        said = f"The other maps show those of the {len(rows[first]):,} images of {first} that "
        said += f"their runs have as well ({shared})"
    if held[first].method == "pca":
        return f"{said}, and are turned to fit the map of {first}."
    return f"{said}; they start from the map of {first} and are turned to fit it."


def _paint(
    figure: Figure, held: Mapping[str, Map], names: Sequence[str],
    colours: Mapping[Side, Mapping[str, str]], panels: Sequence[Sequence[tuple[str, Side]]],
    legend: Legend, most: int, mixed: bool,
) -> None:  # fmt: skip
    columns = max(map(len, panels))
    for line, row in enumerate(panels):
        for column, (heading, side) in enumerate(row):
            axes = figure.add_subplot(len(panels), columns, line * columns + column + 1)
            made = held[heading]
            kind = (_named(made) if side == "domain" else _classes(made, names))[:most]
            for name, colour in colours[side].items():
                for unseen in (False, True):
                    rows = (kind == name) & (made.unseen[:most] == unseen)
                    put_points(axes, made.xy[:most][rows], colour, unseen=unseen and mixed)
            bare(axes, shorten(heading, 24), f"by {side}" if column == 0 or len(held) == 1 else "")
            if made.share is not None:
                axes.set_xlabel(f"{100 * made.share:.0f}% of the variance", fontsize=8.5)
    put_legend(figure, legend)


def _classes(made: Map, names: Sequence[str]) -> NDArray[np.str_]:
    return np.array([names[k] for k in made.label.tolist()], dtype=np.str_)


def _named(made: Map) -> NDArray[np.str_]:
    return np.where(made.domain == "", NO_DOMAIN, made.domain)
