"""Figures of how good the predictions are: confusion, ROC, reliability, domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.report.figures import (
    BLUE,
    COLOURS,
    DASHES,
    FAINT,
    INK,
    MUTED,
    ORANGE,
    RED,
    Drawing,
    draw,
    legend_below,
    shorten,
)
from medldr.report.measures import is_defined, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NUMBERS = 15
"""Confusion matrices with more classes show colours only."""
MOST_CURVES = 8
"""ROC figures with more classes name the best and the worst three only."""


def confusion_figures(counts: Any, names: Sequence[str]) -> list[Drawing]:
    """The confusion matrix as counts and as shares of each true class.

    Args:
        counts: ``K x K``, rows are the truth.
        names: One per class.
    """
    table = np.asarray(counts, dtype=float)
    totals = table.sum(axis=1, keepdims=True)
    shares = np.divide(100 * table, totals, out=np.full_like(table, np.nan), where=totals > 0)
    right = ", ".join(
        f"{name} {table[i, i]:.0f} of {totals[i, 0]:.0f}" for i, name in enumerate(names)
    )
    size = float(np.clip(2.2 + 0.42 * len(names), 3.6, 7.5))

    def paint(values: Any, unit: str) -> Any:
        return lambda figure: _paint_confusion(figure, values, names, unit)

    return [
        draw(
            "confusion-counts", paint(table, ""), size=(size + 0.6, size),
            title="Counts",
            caption="Each row is what an image truly is, each column what the model said; "
            "right answers lie on the diagonal.",
            alt=f"Right answers per class: {right}.",
        ),
        draw(
            "confusion-shares", paint(shares, "%"), size=(size + 0.6, size),
            title="Per cent of each true class",
            caption="Each row adds up to 100 %, so that rare classes can be read as well as "
            "frequent ones; the diagonal is the recall.",
            alt="Share of right answers per class: "
            + ", ".join(
                f"{name} {'undefined' if np.isnan(shares[i, i]) else f'{shares[i, i]:.0f} %'}"
                for i, name in enumerate(names)
            )
            + ".",
        ),
    ]  # fmt: skip


def _paint_confusion(figure: Figure, values: Any, names: Sequence[str], unit: str) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    count = len(names)
    axes: Axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("white_blue", ["#ffffff", "#9ec9e6", "#0b4f86"])
    defined = values[~np.isnan(values)]
    top = 100.0 if unit else max(1.0, float(defined.max(initial=0)))
    edges = np.arange(count + 1) - 0.5
    if count <= MOST_NUMBERS:
        axes.pcolormesh(
            edges, edges, np.nan_to_num(values), cmap=colours, vmin=0, vmax=top,
            edgecolors="white", linewidth=0.8,
        )  # fmt: skip
        for i, j in np.ndindex(count, count):
            value = values[i, j]
            text = "–" if np.isnan(value) else f"{value:.0f}"
            ink = "white" if value > 0.55 * top else INK
            if value == 0:
                ink = MUTED
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)
    else:
        image = axes.imshow(values, cmap=colours, vmin=0, vmax=top, interpolation="none")
        figure.colorbar(image, ax=axes, label="per cent" if unit else "images", shrink=0.8)
    step = max(1, -(-count // 40))
    ticks = np.arange(0, count, step)
    labels = [shorten(names[int(i)], 18) for i in ticks]
    flat = count <= 4 and max(map(len, labels)) <= 12
    axes.set_xticks(ticks, labels, rotation=0 if flat else 50, ha="center" if flat else "right",
                    rotation_mode=None if flat else "anchor")  # fmt: skip
    axes.set_yticks(ticks, labels)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("the model said")
    axes.set_ylabel("truth")


def roc_curves(split: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The defined ROC curves of a split, by class."""
    return {
        name: points
        for name, points in (split.get("roc") or {}).items()
        if points and len(points.get("fpr") or ()) > 1
    }


def roc_figure(split: Mapping[str, Any]) -> Drawing | None:
    """One curve per class against all others; None where no curve is defined."""
    curves = roc_curves(split)
    if not curves:
        return None
    numbers = {name: _class_auc(split, name) for name in curves}
    texts = {name: _number_text("auc", numbers[name]) for name in curves}
    named = _named_curves(numbers)
    few = len(curves) > MOST_CURVES
    return draw(
        "roc", lambda figure: _paint_roc(figure, curves, texts, named),
        size=(4.6, 4.2 + 0.19 * len(named)),
        title="ROC curves" + (", best and worst classes named" if few else ""),
        caption="Each point is one possible threshold: how many of the cases are found (up) for "
        "how many false alarms (right); the closer to the upper left corner, the better.",
        alt="Area under the curve, with 95 % interval: "
        + "; ".join(f"{name} {texts[name]}" for name in curves) + ".",
    )  # fmt: skip


def _class_auc(split: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    entry = (split.get("classes") or {}).get(name) or {}
    number = entry.get("auc")
    if number is None and len(split.get("roc") or ()) == 1:
        number = (split.get("metrics") or {}).get("auc")  # binary: the one curve is the AUC
    return number if isinstance(number, Mapping) else None


def _named_curves(numbers: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    if len(numbers) <= MOST_CURVES:
        return list(numbers)
    ranked = sorted(
        numbers,
        key=lambda n: -(numbers[n] or {}).get("value", 0.0) if is_defined(numbers[n]) else 1,
    )
    return ranked[:3] + ranked[-3:]


def _paint_roc(
    figure: Figure,
    curves: Mapping[str, Mapping[str, Any]],
    texts: Mapping[str, str],
    named: Sequence[str],
) -> None:
    axes: Axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    for name in curves:
        if name not in named:
            axes.plot(curves[name]["fpr"], curves[name]["tpr"], color=FAINT, lw=1)
    for number, name in enumerate(named):
        axes.plot(
            curves[name]["fpr"], curves[name]["tpr"],
            color=COLOURS[number % len(COLOURS)],
            ls=DASHES[number % len(DASHES)],
            label=f"{shorten(name, 26)}: {texts[name]}",
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.01)
    axes.set_xlabel("false alarms (1 - specificity)")
    axes.set_ylabel("found (sensitivity)")
    legend_below(axes, columns=1)


def reliability_figure(split: Mapping[str, Any], calibration: Mapping[str, Any]) -> Drawing | None:
    """Stated confidence against observed accuracy; None where nothing was counted."""
    bins = split.get("reliability") or {}
    counts = [int(count or 0) for count in bins.get("count") or ()]
    if not sum(counts):
        return None
    points = _points(bins, counts)
    ece = _number_text("ece", (split.get("metrics") or {}).get("ece"))
    definition = calibration.get("definition", "top-label")
    labels = ("stated confidence", "share that is right")
    reading = (
        "When the model says 80 %, it should be right in 80 % of the cases: points on the dotted "
        "line. Below it the model is too sure of itself, above it too modest."
    )
    if definition != "top-label":
        labels = ("stated probability", "share that is present")
        reading = (
            "Of the labels that were given a certain probability, how many were truly present; on "
            "the dotted line, probabilities can be taken at their word."
        )
    words = "; ".join(f"{c:.2f} stated, {a:.2f} observed ({n})" for c, a, n in points)
    return draw(
        "reliability",
        lambda figure: _paint_reliability(figure, counts, points, f"ECE {ece}", labels),
        size=(4.6, 4.9),
        title="Reliability",
        caption=f"{reading} ECE in the {definition} definition with {len(counts)} bins of equal "
        "width; the lower bars count.",
        alt=f"ECE {ece}. Mean {labels[0]}, {labels[1]} (count): {words}.",
    )


def positive_reliability_figure(split: Mapping[str, Any], positive: str) -> Drawing | None:
    """Stated probability of the positive class against how often it was there (binary)."""
    bins = split.get("reliability_positive") or {}
    counts = [int(count or 0) for count in bins.get("count") or ()]
    if not sum(counts):
        return None
    points = _points(bins, counts)
    ece = _number_text("ece_positive", (split.get("metrics") or {}).get("ece_positive"))
    words = "; ".join(f"{c:.2f} stated, {a:.2f} observed ({n})" for c, a, n in points)
    return draw(
        "reliability-positive",
        lambda figure: _paint_reliability(
            figure, counts, points, f"ECE {ece}",
            ("stated probability", f"share that is {shorten(positive, 20)}"),
        ),
        size=(4.6, 4.9),
        title="Reliability of the positive class",
        caption=f"Of the images that were given a certain probability of {positive}, how many "
        "truly were; on the dotted line, probabilities can be taken at their word. ECE of the "
        f"positive class with {len(counts)} bins of equal width.",
        alt=f"ECE of the positive class {ece}. Mean probability, share observed (images): {words}.",
    )  # fmt: skip


def _points(bins: Mapping[str, Any], counts: Sequence[int]) -> list[tuple[float, float, int]]:
    return [
        (float(c), float(a), n)
        for c, a, n in zip(bins["confidence"], bins["accuracy"], counts, strict=True)
        if n and c is not None and a is not None
    ]


def _paint_reliability(
    figure: Figure,
    counts: list[int],
    points: list[tuple[float, float, int]],
    title: str,
    labels: tuple[str, str],
) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    upper.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=":")
    confidence = [c for c, _, _ in points]
    accuracy = [a for _, a, _ in points]
    upper.vlines(confidence, confidence, accuracy, color=ORANGE, lw=1.4, alpha=0.8)
    upper.plot(confidence, accuracy, "o-", color=BLUE, ms=5)
    upper.set_ylim(-0.02, 1.02)
    upper.set_ylabel(labels[1])
    upper.set_title(title, fontweight="normal", fontsize=9.5)
    edges = np.linspace(0, 1, len(counts) + 1)
    lower.bar(
        edges[:-1], counts, width=np.diff(edges), align="edge", color=BLUE, ec="white", lw=0.5
    )
    lower.set_xlim(0, 1)
    lower.set_xlabel(labels[0])
    lower.set_ylabel("count")


@dataclass(frozen=True)
class Whisker:
    """One row of a forest figure: a value with its interval.

    Attributes:
        label: Text at the left.
        value: The estimate.
        low: Lower end of the interval; None where there is none.
        high: Upper end of the interval.
        accent: Drawn in the second colour.
    """

    label: str
    value: float
    low: float | None
    high: float | None
    accent: bool = False


def forest_figure(
    name: str,
    rows: Sequence[Whisker],
    *,
    title: str,
    caption: str,
    xlabel: str,
    factor: float = 1.0,
    reference: float | None = None,
    colours: tuple[str, str] = (BLUE, ORANGE),
    legend: tuple[str, str] | None = None,
    label_limit: int = 30,
) -> Drawing | None:
    """Values with intervals, one below the other; None where there are none.

    Args:
        name: Unique within the page.
        rows: From top to bottom.
        title: Title of the figure.
        caption: How to read it.
        xlabel: What is measured, with its unit.
        factor: 100 where values are shown as per cent.
        reference: Where to draw a vertical line, for example 0 for differences.
        colours: Of plain and of accented rows.
        legend: Names of the two colours.
        label_limit: Longest label; longer ones are cut.
    """
    if not rows:
        return None
    spans = [
        f"{row.label} {factor * row.value:.3g}"
        + ("" if row.low is None or row.high is None
           else f" ({factor * row.low:.3g} to {factor * row.high:.3g})")
        for row in rows
    ]  # fmt: skip

    def paint(figure: Figure) -> None:
        axes: Axes = figure.add_subplot()
        for accent in (False, True):
            chosen = [(i, row) for i, row in enumerate(rows) if row.accent == accent]
            label = legend[accent] if legend and chosen else None
            colour = colours[accent]
            for i, row in chosen:
                if row.low is not None and row.high is not None:
                    axes.plot([factor * row.low, factor * row.high], [i, i], color=colour, lw=2.2)
            axes.plot(
                [factor * row.value for _, row in chosen], [i for i, _ in chosen],
                "s" if accent else "o", color=colour, ms=6.5, label=label,
            )  # fmt: skip
        if reference is not None:
            axes.axvline(reference, color=INK, lw=1)
        axes.set_yticks(range(len(rows)), [shorten(row.label, label_limit) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(xlabel)
        if legend:
            legend_below(axes)

    height = 1.15 + 0.3 * len(rows) + (0.25 if legend else 0)
    alt = f"{xlabel}: " + "; ".join(spans) + "."
    return draw(name, paint, title=title, caption=caption, alt=alt, size=(5.2, height))


def domain_figure(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> Drawing | None:
    """Accuracy in each domain with its interval, seen and unseen told apart.

    Args:
        entries: Name and numbers of each domain.
    """
    rows = []
    for name, entry in entries:
        number = (entry.get("metrics") or {}).get("accuracy") or {}
        if is_defined(number):
            rows.append(
                Whisker(
                    name, number["value"], number.get("low"), number.get("high"),
                    accent=not entry.get("seen", True),
                )
            )  # fmt: skip
    rows.sort(key=lambda row: -row.value)
    return forest_figure(
        "domains", rows, title="Accuracy by domain", factor=100.0,
        xlabel=measure("accuracy").heading, colours=(BLUE, RED),
        legend=("seen in training", "unseen"),
        caption="One row per domain with its 95 % interval; a domain far to the left of the "
        "others is one the model should not be trusted in.",
    )  # fmt: skip


def _number_text(key: str, number: Mapping[str, Any] | None) -> str:
    if number is None or number.get("value") is None:
        return "n/a"
    show = measure(key).show
    text = show(number["value"])
    if number.get("low") is None or number.get("high") is None:
        return text
    return f"{text} ({show(number['low'])} to {show(number['high'])})"
