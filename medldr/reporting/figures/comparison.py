"""Figures of a comparison: differences with intervals, and learning curves laid over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from medldr.metrics import SPLIT_TITLES, is_defined, measure
from medldr.reporting.figures.drawing import COLOURS, DASHES, Drawing, draw, legend_below
from medldr.reporting.figures.forest import Whisker, forest_figure
from medldr.reporting.read.run import Row, series, time_axis
from medldr.reporting.sections.comparison_tables import cell_of, rows_of, split_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[list[Row]]]
"""Records of `metrics.jsonl` of each run, by method."""

MOST_LINES = 12
"""More curves in one figure cannot be told apart."""

OVERLAYS = (
    ("val/auc", "Validation AUC", "higher is better"),
    ("val/accuracy", "Validation accuracy", "higher is better"),
    ("val/loss", "Validation loss", "lower is better"),
    ("train/loss", "Training loss", "methods add terms of their own, so levels may differ"),
)


def difference_figure(
    result: Mapping[str, Any], metric: str = "accuracy", column: str = "", number: int = 0
) -> Drawing | None:
    """Every method minus the reference on every split and domain; None for a single method.

    Args:
        result: What `medldr.evaluation.compare` returns.
        metric: The measure.
        column: Title of the column of a sweep that this comparison is; its figures leave out
            single domains, and say of a split only whether it was seen.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    others = [m["method"] for m in result["methods"] if m["method"] != result["reference"]]
    rows = []
    for split, about in result["splits"].items():
        places: list[tuple[str | None, str]] = [(None, split_title(result, split))]
        if len(about.get("domains") or {}) > 1 and not column:
            places += [(domain, f"  {domain}") for domain in about["domains"]]
        for domain, title in places:
            found = {
                row["method"]: row
                for row in rows_of(result, split, domain)
                if row["metric"] == metric
            }
            for method in others:
                row = found.get(method)
                paired = None if row is None else row["difference"]
                if row is None or paired is None or not is_defined(paired):
                    continue
                label = title if len(others) == 1 else f"{method}, {title.strip()}"
                if column:
                    several = len(result["splits"]) > 1
                    label = f"{method}, {SPLIT_TITLES.get(split, split)}" if several else method
                unseen = row["seen"] is False if domain else "unseen" in title
                rows.append(
                    Whisker(label, paired["value"], paired["low"], paired["high"], accent=unseen)
                )
    known = measure(metric)
    head = f"{column}, {known.title}" if column else known.title
    unit = "points of per cent" if known.percent else ""
    better = {"higher": "right of the line is better", "lower": "left of the line is better"}
    side = better.get(known.better, "the line is no difference")
    return forest_figure(
        f"difference-{metric.replace('_', '-')}{f'-{number}' if number else ''}",
        rows,
        title=f"{head}: difference to {result['reference']}",
        caption=f"Each row is one paired difference with its 95 % interval; {side}, and an "
        "interval that crosses it is compatible with no difference.",
        xlabel=f"difference{f', {unit}' if unit else ''}",
        factor=100.0 if known.percent else 1.0,
        reference=0.0,
        legend=("seen in training", "unseen") if any(row.accent for row in rows) else None,
        label_limit=44,
    )


def overlay_figures(curves: Curves, column: str = "", number: int = 0) -> list[Drawing]:
    """Learning curves of all methods in one figure per quantity.

    There is one line per run, or one per method, the mean of its runs, where they would be too
    many to tell apart.

    Args:
        curves: Records of each run, by method.
        column: Title of the column of a sweep that these runs belong to.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    drawings = []
    for key, title, hint in OVERLAYS:
        found = {
            method: [points for points in (_points(rows, key) for rows in runs) if points[0]]
            for method, runs in curves.items()
        }
        found = {method: lines for method, lines in found.items() if lines}
        if not found:
            continue
        ends = "; ".join(
            f"{method} ends at " + ", ".join(f"{y[-1]:.3f}" for _, y in lines)
            for method, lines in found.items()
        )
        axis = _axis(curves)
        one = "One line per run, one colour per method"
        if sum(map(len, found.values())) > MOST_LINES:
            found = {method: [_mean(lines)] for method, lines in found.items()}
            one = "One line per method, the mean of its runs as far as all of them went"
        drawings.append(
            draw(
                f"overlay-{key.replace('/', '-')}{f'-{number}' if number else ''}",
                _painter(found, axis, title),
                title=f"{column}: {title}" if column else title,
                caption=f"{one}; {hint}.",
                alt=f"{title} over training: {ends}.",
                size=(4.6, 3.1 + 0.17 * len(found)),
            )
        )
    return drawings


def _axis(curves: Curves) -> str:
    axes = {time_axis(rows) for runs in curves.values() for rows in runs if rows}
    return axes.pop() if len(axes) == 1 else "step"


def _points(rows: list[Row], key: str) -> tuple[list[float], list[float]]:
    return series(rows, key, time_axis(rows)) if rows else ([], [])


def _mean(lines: Sequence[tuple[list[float], list[float]]]) -> tuple[list[float], list[float]]:
    """Mean of curves where all of them have a point.

    Example:
        >>> _mean([([1, 2, 3], [0.0, 1.0, 2.0]), ([1, 2], [1.0, 2.0])])
        ([1, 2], [0.5, 1.5])
    """
    values = [dict(zip(x, y, strict=True)) for x, y in lines]
    shared = [x for x in lines[0][0] if all(x in found for found in values)]
    return shared, [fmean(found[x] for found in values) for x in shared]


def _painter(
    found: Mapping[str, list[tuple[list[float], list[float]]]], axis: str, title: str
) -> Any:
    def paint(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        axes: Axes = figure.add_subplot()
        for place, (method, lines) in enumerate(found.items()):
            for i, (x, y) in enumerate(lines):
                # After the last colour the dashes shift, so that no two methods look the same.
                dash = DASHES[(place + place // len(COLOURS)) % len(DASHES)]
                axes.plot(
                    x, y, dash,
                    color=COLOURS[place % len(COLOURS)],
                    marker="o" if len(x) < 4 else None, ms=4,
                    lw=1.8 if len(lines) == 1 else 1.1,
                    label=method if i == 0 else None,
                )  # fmt: skip
        axes.set_xlabel(axis)
        axes.set_ylabel(title.lower().replace("auc", "AUC"))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.margins(x=0.03)
        legend_below(axes, columns=1)

    return paint


def has_difference(result: Mapping[str, Any], metric: str) -> bool:
    """Whether any split has a defined difference of this metric."""
    return any(
        is_defined((cell_of(result, split, metric, m["method"]) or {}).get("difference"))
        for split in result["splits"]
        for m in result["methods"]
    )
