"""Maps of latents: of runs side by side, and with queries as in the paper’s first figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.representation.maps import Map, Maps
from medldr.evaluation.representation.planes import ITERATIONS
from medldr.evaluation.representation.queries import Queries, Scene
from medldr.folders.latents_record import ORIGINAL
from medldr.reporting.document import Drawing
from medldr.reporting.figures import drawing as palette
from medldr.reporting.figures.dots import VIEW_LOOKS, VIEW_TITLES
from medldr.reporting.figures.drawing import add_legend, draw, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_POINTS: Final = 4_000
"""Points of one figure; more would make it larger than 400 kB."""
SIDE: Final = 2.35
"""Width and height of a panel, in inches."""
CLASS_COLOURS: Final = palette.COLOURS[:-1]
DOMAIN_COLOURS: Final = (
    palette.SKY,
    palette.OLIVE,
    palette.RED,
    palette.PINK,
    palette.GREEN,
    palette.ORANGE,
    palette.BLUE,
    palette.INK,
)
"""Another order, so that the first domains do not look like the first classes."""
OTHERS: Final = "others"
"""What is left where there are more names than colours."""
LONGEST: Final = 26
"""Letters of a name in a legend."""

Look: TypeAlias = Mapping[str, Any]
Legend: TypeAlias = Sequence[tuple[Look, str]]
"""How each entry is drawn, and what it is."""


class Panel(NamedTuple):
    """One map.

    Attributes:
        title: Above it.
        points: Points ``(N, 2)`` and how they are drawn, one over the other.
        beside: What is said on its left.
        below: What is said below it.
    """

    title: str
    points: Sequence[tuple[NDArray[np.float64], Look]]
    beside: str = ""
    below: str = ""


def points_figure(
    name: str, lines: Sequence[Sequence[Panel]], legend: Legend, *, side: float = SIDE, **words: str
) -> Drawing:
    """Lines of panels, with a legend in as many columns as there is room for.

    Args:
        name: Unique within the page.
        lines: Panels next to each other, line by line.
        legend: What the points are.
        side: Width and height of a panel, in inches.
        words: Title, caption and alternative text.
    """
    width = side * max(map(len, lines))
    columns = max(1, int(width // (0.6 + 0.072 * max(len(text) for _, text in legend))))
    height = (side + 0.15) * len(lines) + palette.LEGEND_LINE * -(-len(legend) // columns)
    paint = partial(_paint, lines=lines, legend=legend, columns=columns)
    return draw(name, paint, size=(width, height), **words)


def _paint(
    figure: Figure, *, lines: Sequence[Sequence[Panel]], legend: Legend, columns: int
) -> None:
    from matplotlib.lines import Line2D

    across = max(map(len, lines))
    for row, panels in enumerate(lines):
        for column, panel in enumerate(panels):
            axes = figure.add_subplot(len(lines), across, row * across + column + 1)
            for xy, look in panel.points:
                if len(xy):
                    axes.plot(xy[:, 0], xy[:, 1], ls="none", **look)
            # Coordinates have no meaning of their own, but distances have.
            axes.set_aspect("equal", adjustable="datalim")
            axes.set(xticks=[], yticks=[], ylabel=panel.beside)
            axes.set_xlabel(panel.below, fontsize=8.5)
            axes.set_title(panel.title, fontsize=9.5)
            axes.margins(0.06)
    marks = [Line2D([], [], **{"ls": "none", **look}) for look, _ in legend]
    add_legend(figure, marks, [text for _, text in legend], columns)


def dot(colour: str, *, unseen: bool = False, size: float = 3.0) -> dict[str, Any]:
    """How an image is drawn: a filled square if its domain was unseen, else an open circle."""
    face, marker = (colour, "s") if unseen else ("none", "o")
    return {"marker": marker, "ms": size, "color": colour, "mfc": face, "mew": 0.7}


def colours_of(names: Sequence[str], colours: Sequence[str]) -> dict[str, str]:
    """The colour of each name; names without a colour of their own are grey.

    Example:
        >>> list(colours_of(["a", "b", "c"], ["#0072b2", "#d55e00"]).values())
        ['#0072b2', '#5c6773', '#5c6773']
    """
    own = len(colours) if len(names) <= len(colours) else len(colours) - 1
    return {name: colours[i] if i < own else palette.MUTED for i, name in enumerate(names)}


def name_colours(kind: str, colours: Mapping[str, str]) -> list[tuple[Look, str]]:
    """Entries of a legend: each colour once, the grey one for all that share it.

    Args:
        kind: ``class`` or ``domain``.
        colours: From `colours_of`.
    """
    texts = {
        colour: OTHERS if colour == palette.MUTED else name for name, colour in colours.items()
    }
    return [
        ({"marker": "o", "ms": 6, "color": c, "mfc": c}, f"{kind}: {shorten(text, LONGEST)}")
        for c, text in texts.items()
    ]


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
        legend += [(dot(palette.MUTED, unseen=new, size=5.0), text)
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


BACKGROUND: Final = {
    "class": (
        palette.ORANGE,
        palette.SKY,
        palette.PINK,
        palette.OLIVE,
        palette.INK,
        palette.GREEN,
        palette.BLUE,
    ),
    "domain": (
        palette.INK,
        palette.OLIVE,
        palette.PINK,
        palette.SKY,
        palette.ORANGE,
        palette.GREEN,
        palette.BLUE,
    ),
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
    legend.append(
        ({"marker": "o", "ms": 5, "color": palette.MUTED, "mfc": "none"}, "training image")
    )
    panels = []
    for letter, (title, kind, scene) in zip("ABC", scenes, strict=False):
        colours = colours_of(scene.names, BACKGROUND[kind]) if kind else {"": palette.MUTED}
        legend += name_colours(kind, colours) if kind else []
        panels.append(Panel(f"{letter}: {title}", _points(scene, colours)))
    both = " and ".join(VIEW_TITLES[name] for name in moved)
    return points_figure(
        f"queries_{number}", [panels], legend, side=3.0,
        title=f"{heading}: queries, degraded and restored", caption=_how_made(found, both),
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


def _how_made(found: Queries, both: str) -> str:
    used = dict.fromkeys(f"{value:.3g}" for value in found.perplexity if value is not None)
    said = f"Stars are latents of training images, the marks beside them their {both} latents; all "
    said += "others are training images as they are. A batch is degraded and restored in one pass; "
    said += "a panel of one class has a map of its own. t-SNE of everything shown, together "
    said += f"(perplexity {' and '.join(used)}; {ITERATIONS} iterations): distances on it mean "
    said += "little, those in queries.csv are of the latents."
    if found.left_out:
        said += f" {found.left_out:,} training images are left out, because their latents are not "
        said += "finite."
    return said
