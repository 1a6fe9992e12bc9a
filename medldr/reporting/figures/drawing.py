"""Figures as inline SVG, drawn with no display, no global state, and no way to end a run.

matplotlib is used through its objects only: no `pyplot`, so no backend is chosen and `DISPLAY` is
never looked at; what must be rasterised goes through Agg. The user's style settings do not apply.
A figure that cannot be drawn is replaced by a sentence that says why.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medldr.errors import did_you_mean
from medldr.foreign_text import visible
from medldr.reporting.document import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


logger = logging.getLogger("medldr.reporting")

# Okabe and Ito's palette without yellow: distinct with any colour vision, and dark on white.
BLUE, ORANGE, GREEN, RED, PINK, SKY, OLIVE = (
    "#0072b2", "#d55e00", "#009e73", "#a3242a", "#b0568c", "#3f9bd1", "#8a6d00",
)  # fmt: skip
INK, MUTED, FAINT, HEAT, PAPER = "#1d2733", "#5c6773", "#d9dee4", "#5fa3d6", "#ffffff"
VARIABLES = {
    BLUE: "blue", ORANGE: "orange", GREEN: "green", RED: "red", PINK: "pink", SKY: "sky",
    OLIVE: "olive", INK: "ink", MUTED: "muted", FAINT: "line", HEAT: "heat", PAPER: "paper",
    "#000000": "ink",
}  # fmt: skip
"""The variable of the style sheet behind each colour; it has another value on a dark page."""
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, OLIVE, RED, MUTED)
METHOD_COLOURS = (BLUE, ORANGE, GREEN, PINK, OLIVE, RED, SKY)
LEGEND_LINE = 0.19
"""Height of a line of a legend, in inches."""
DASHES = ("-", "--", "-.", ":")
MOST_TIPS = 24
"""Points of one curve that show their numbers; more would double the size of a page."""

_MARKERS = r'(<g clip-path="[^"]*")>(<use [^>]*?( style="[^"]*")/>(?:<use [^>]*?\3/>){20,})</g>'
"""Many markers of one look; to say it once for all of them halves the size of a map."""

LEAST = 10.5
"""Size of the smallest text of a page, in points: on a phone it is still drawn at 10 pixels."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and is small
    "svg.hashsalt": "medldr",  # the same numbers give the same file
    "text.parse_math": False,  # a class may be called "a$b$"
    "text.usetex": False,
    "font.size": LEAST,
    "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.linewidth": 0.8, "axes.axisbelow": True, "axes.grid": True,
    "axes.spines.top": False, "axes.spines.right": False,
    "grid.color": FAINT, "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
}  # fmt: skip


def draw(
    name: str,
    paint: Callable[[Figure], None],
    *,
    title: str,
    caption: str,
    alt: str,
    size: tuple[float, float] = (4.6, 3.3),
) -> Drawing:
    """Draw one figure; whatever goes wrong is reported in its place and in the log.

    Args:
        name: Lower-case name, unique within the page.
        paint: Draws into an empty figure.
        title: Title above the figure.
        caption: How to read it.
        alt: The figure in words.
        size: Width and height in inches.

    Returns:
        The drawing, with either `svg` or `error` set.
    """
    svg, error = "", ""
    try:
        svg = _render(name, paint, size)
    except Exception as problem:  # a page without a figure is better than a run without a page
        error = f"{type(problem).__name__}: {problem}".strip().rstrip(":")
        logger.warning("the figure %r could not be drawn: %s", name, error)
    return Drawing(name, title, caption, alt, svg, error, round(96 * size[0]), paint, size)


def _render(name: str, paint: Callable[[Figure], None], size: tuple[float, float]) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.text import Text

    with styled(STYLE):
        figure = new_figure(size)
        canvas = FigureCanvasSVG(figure)
        paint(figure)
        for text in figure.findobj(Text):
            text.set_fontsize(max(LEAST, text.get_fontsize()))
            text.set_text(visible(text.get_text()))
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        canvas.print_svg(buffer, metadata=nothing)  # type: ignore[no-untyped-call]
    return clean_svg(visible(buffer.getvalue()), name)


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of a width and a height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


@contextlib.contextmanager
def styled(style: dict[str, Any]) -> Iterator[None]:
    """Our style alone, whatever the user's is, until the figure is drawn."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # A glyph that matplotlib's own font lacks is drawn by the browser, whose fonts have it.
        warnings.simplefilter("ignore")
        mpl.rcdefaults()
        mpl.rcParams.update(style)  # type: ignore[arg-type]  # its keys are literals
        yield


def clean_svg(svg: str, name: str) -> str:
    """Prepare a matplotlib SVG for a page that has others, on light and on dark paper.

    The XML head, fixed width and height and the fonts go (the page sets both), ids get the
    figure's name in front, coordinates are cut to a hundredth of a point, each colour becomes its
    variable of the style sheet, and many markers of one look share it.

    Raises:
        ValueError: If a colour has no variable.

    Example:
        >>> clean_svg('<?xml?><svg height="1pt" viewBox="0 0 2 1"><g id="a"/></svg>', "f")
        '<svg viewBox="0 0 2 1" aria-hidden="true" focusable="false"><g id="f-a"/></svg>'
    """
    head = r"^.*?<svg\b[^>]*?(viewBox=\"[^\"]*\")[^>]*>"
    svg = re.sub(head, r'<svg \1 aria-hidden="true" focusable="false">', svg, count=1, flags=re.S)
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    numbers = r'(?<= d=")[^"]*|(?<= [xy]=")[^"]*'
    svg = re.sub(numbers, lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), svg)
    svg = re.sub(r'(?<= style=")[^"]*', lambda found: _restyled(found[0]), svg)
    svg = re.sub(r">\s+<", "><", svg).replace(" \n", "\n").strip()
    return re.sub(_MARKERS, lambda m: f"{m[1]}{m[3]}>{m[2].replace(m[3], '')}</g>", svg)


def _restyled(style: str) -> str:
    """A style whose colours are variables, without fonts.

    Example:
        >>> _restyled("fill: #1d2733; font-family: 'DejaVu Sans', serif; stroke: none")
        'fill: var(--ink); stroke: none'
    """
    style = re.sub(r"font-family: [^;]*;? ?", "", style)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--{_variable(found[0])})", style)


def _variable(colour: str) -> str:
    if colour not in VARIABLES:
        known = ", ".join(sorted(VARIABLES))
        raise ValueError(f"{colour} would not suit a dark page; use one of {known}")
    return VARIABLES[colour]


def draw_axes(
    name: str,
    paint: Callable[[Axes], None],
    *,
    labels: tuple[str, str],
    legend: int = 2,
    **words: Any,
) -> Drawing:
    """Draw a figure of one pair of axes, with its legend below, where no curve can run into it.

    Args:
        name: Lower-case name, unique within the page.
        paint: Draws into empty axes.
        labels: Of the horizontal and of the vertical axis.
        legend: Columns of the legend.
        words: Further arguments of `draw`.
    """

    def on_figure(figure: Figure) -> None:
        axes = figure.add_subplot()
        paint(axes)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        add_legend(figure, *axes.get_legend_handles_labels(), legend)

    return draw(name, on_figure, **words)


def add_legend(figure: Figure, lines: list[Any], texts: list[str], columns: int) -> None:
    """Lines and names at the bottom; matplotlib's own legend takes as long as all the rest.

    Args:
        figure: Whose room for axes ends above the legend.
        lines: How each entry is drawn.
        texts: What each is.
        columns: Of the legend.
    """
    from matplotlib import rcParams
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    rows = -(-len(texts) // columns)
    top = LEGEND_LINE * rows / height
    figure.set_layout_engine("constrained", rect=(0, top, 1, 1 - top))
    column = 0.6 + 0.0078 * rcParams["font.size"] * max(map(len, texts), default=0)
    for place, (line, text) in enumerate(zip(lines, texts, strict=True)):
        x, y = column * (place // rows) / width, top - LEGEND_LINE * (place % rows + 0.5) / height
        ends = [x, x + 0.3 / width] if line.get_linestyle() != "None" else [x + 0.15 / width]
        if len(ends) > 1 and line.get_marker() not in (None, "None", ""):
            ends = [end + 0.05 / width for end in ends]  # a marker has a width of its own
        keys = ("color", "linestyle", "linewidth", "marker", "markersize", "markerfacecolor")
        style = {key: getattr(line, f"get_{key}")() for key in keys}
        figure.add_artist(Line2D(ends, [y] * len(ends), transform=figure.transFigure, **style))
        figure.text(x + 0.4 / width, y, text, va="center")


def look(place: int) -> dict[str, Any]:
    """Colour and dashes of a curve by its place; after the last colour the dashes shift."""
    dash = DASHES[(place + place // len(COLOURS)) % len(DASHES)]
    return {"color": COLOURS[place % len(COLOURS)], "ls": dash}


def looks(
    methods: Iterable[str], reference: str, controls: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """Colour and dashes of every method, the same in all figures of a page.

    The reference is a solid line in the colour of text and controls are broken grey ones, which
    leaves the colours to the methods that are studied.

    Args:
        methods: All methods of the page, in its order.
        reference: The method that the others are compared with.
        controls: Methods that separate effects of the others.

    Example:
        >>> found = looks(["ERM", "ERM, half rate", "LatentDR"], "ERM", ["ERM, half rate"])
        >>> [(line["color"], line["ls"]) for line in found.values()]
        [('#1d2733', '-'), ('#5c6773', '--'), ('#0072b2', '-')]
    """
    found: dict[str, dict[str, Any]] = {}
    studied = broken = 0
    for method in methods:
        if method == reference:
            found[method] = {"color": INK, "ls": "-"}
        elif method in controls:
            broken += 1
            found[method] = {"color": MUTED, "ls": DASHES[1 + (broken - 1) % (len(DASHES) - 1)]}
        else:
            turn, place = divmod(studied, len(METHOD_COLOURS))
            found[method] = {"color": METHOD_COLOURS[place], "ls": DASHES[turn % len(DASHES)]}
            studied += 1
    return found


def add_tips(axes: Axes, x: Sequence[float], y: Sequence[float], texts: Sequence[str]) -> None:
    """Let points show their numbers under the pointer; a long curve lets some of them.

    Args:
        axes: Axes that the points are drawn in.
        x: Horizontal positions, in units of the axes.
        y: Vertical positions.
        texts: One per point.
    """
    from medldr.reporting.figures.tips import Tips

    points = list(zip(x, y, texts, strict=True))
    step = max(1, -(-len(points) // MOST_TIPS))
    # Counted from the end, so that the last point is always among them.
    axes.add_artist(Tips(axes, points[::-1][::step][::-1]))


def time_ticks(axes: Axes) -> None:
    """Whole epochs or steps along the horizontal axis."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.margins(x=0.03)


def shorten(text: str, limit: int = 22) -> str:
    """A label that fits an axis.

    Example:
        >>> shorten("actinic keratoses and intraepithelial carcinoma")
        'actinic keratoses and…'
    """
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


@cache
def figures_file() -> Mapping[str, Any]:
    """The file, as it is: ``words`` by figure, and lists of charts."""
    path = Path(__file__).parents[1] / "templates" / "figures.json"
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def figure_words(name: str, /, **given: object) -> dict[str, Any]:
    """Title, caption and labels of the axes, as `draw_axes` takes them.

    Args:
        name: The figure.
        given: Values of its title and caption.

    Raises:
        LookupError: If the file lacks it.

    Example:
        >>> figure_words("reliability", ece="0.1", reading="", definition="", bins=15)["title"]
        'Reliability, ECE 0.1'
    """
    known = figures_file()["words"]
    if name not in known:
        raise LookupError(f"figures.json has no words.{name}.{did_you_mean(name, known)}")
    said = known[name]
    filled = {key: said[key].format(**given) for key in ("title", "caption")}
    return {**filled, "labels": (said["x"], said["y"])}
