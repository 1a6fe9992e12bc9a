"""Alignment and uniformity of methods, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.sphere import ALIGNMENT, UNIFORMITY
from medldr.metric import Metric
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import INK, MUTED, PAPER, add_tips, draw, looks, shorten
from medldr.reporting.table import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWER = {
    ALIGNMENT.name: "← lower: closer together",
    UNIFORMITY.name: "← lower: more evenly spread",
}


def latent_metrics(
    found: Mapping[str, tuple[Estimate, Estimate]],
    *,
    name: str = "latent_metrics",
    images: str = "",
    controls: Sequence[str] = (),
) -> Drawing | None:
    """A bar of alignment and one of uniformity for each run or method; None where none is known.

    Args:
        found: Alignment and uniformity by heading, that of the reference first; means over seeds
            have an `Estimate.n`.
        name: Unique within the page.
        images: Which images they are of, in words.
        controls: Methods that separate effects of the others.
    """
    known = {k: pair for k, pair in found.items() if any(one.mean is not None for one in pair)}
    if not known:
        return None
    styles = looks(found, next(iter(found)), controls)
    colours = {heading: styles[heading]["color"] for heading in known}
    sides = ((ALIGNMENT, 0), (UNIFORMITY, 1))
    columns = [(metric, {k: pair[i] for k, pair in known.items()}) for metric, i in sides]
    said = [
        f"{metric.title}: " + "; ".join(f"{k} {_text(metric, one)}" for k, one in column.items())
        for metric, column in columns
    ]
    return draw(
        name,
        partial(_paint, columns=columns, colours=colours),
        title=f"Alignment and uniformity{f', {images}' if images else ''}",
        caption="Alignment is how far apart images of the same class are, uniformity how evenly "
        "all images are spread; lower is better in both. Lines are 95% CIs"
        f"{_of_what(known)}.",
        alt=f"{'. '.join(said)}.",
        size=(7.2, 1.0 + 0.34 * len(known)),
    )


def over_seeds(found: Mapping[str, tuple[Estimate, Estimate]]) -> list[str]:
    """Those whose numbers are means over seeds, by heading; the others are of a single run."""
    return [heading for heading, pair in found.items() if any(one.n is not None for one in pair)]


def _of_what(found: Mapping[str, tuple[Estimate, Estimate]]) -> str:
    """Of what the intervals are, where some are of means over seeds."""
    means = over_seeds(found)
    single = [heading for heading in found if heading not in means]
    if not means:
        return ""
    if not single:
        return " of means over seeds"
    return f" of means over seeds ({', '.join(means)}) or of single runs ({', '.join(single)})"


def _text(metric: Metric, one: Estimate) -> str:
    if one.mean is None:
        return "n/a"
    ends = interval(one, metric)
    return f"{metric.show(one.mean)}{f' ({ends})' if ends else ''}"


def _paint(
    figure: Figure,
    columns: Sequence[tuple[Metric, Mapping[str, Estimate]]],
    colours: Mapping[str, str],
) -> None:
    panels: Any = figure.subplots(1, len(columns), sharey=True)
    for axes, (metric, column) in zip(panels, columns, strict=True):
        _bars(axes, metric, column, colours)
    panels[0].set_yticks(range(len(colours)), [shorten(heading, 30) for heading in colours])
    panels[0].set_ylim(len(colours) - 0.4, -0.6)


def _bars(
    axes: Axes, metric: Metric, column: Mapping[str, Estimate], colours: Mapping[str, str]
) -> None:
    reach, (away, towards) = 0.0, (1, "left") if metric.range[1] > 0 else (-1, "right")
    for place, (heading, one) in enumerate(column.items()):
        if one.mean is None:
            axes.annotate(
                "n/a", (0, place), (4 * away, 0), textcoords="offset points", color=MUTED,
                va="center", ha=towards, fontsize=8.5,
            )  # fmt: skip
            continue
        axes.barh(place, one.mean, height=0.62, color=PAPER)  # hides the grid behind the bar
        axes.barh(place, one.mean, height=0.62, color=colours[heading], alpha=0.55)
        ends = [one.mean if end is None else end for end in (one.low, one.high)]
        axes.plot(ends, [place, place], color=INK, lw=1.6)
        outer = max((one.mean, *ends), key=abs)
        reach = max(reach, abs(outer))
        axes.annotate(
            metric.show(one.mean), (outer, place), (4 * away, 0), textcoords="offset points",
            va="center", ha=towards, fontsize=8.5,
        )  # fmt: skip
    defined = {k: (i, one) for i, (k, one) in enumerate(column.items()) if one.mean is not None}
    add_tips(
        axes, [one.mean or 0.0 for _, one in defined.values()], [i for i, _ in defined.values()],
        [f"{k}: {_text(metric, one)}" for k, (_, one) in defined.items()],
    )  # fmt: skip
    room = 1.22 * (reach or 1.0)  # for the numbers beyond the bars
    axes.set_xlim((0, room) if away > 0 else (-room, 0))
    axes.set_title(metric.title)
    axes.set_xlabel(LOWER[metric.name])
    axes.locator_params(axis="x", nbins=4)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=MUTED, lw=0.8)
    for side in ("left", "right"):
        axes.spines[side].set_visible(False)
