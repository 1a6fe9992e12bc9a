"""How a method's results depend on the size of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.sweep.batch import batch_figure
from medldr.reporting.prose import section
from medldr.reporting.results.batch_sizes import BatchCurve, BatchPoint
from medldr.reporting.sections.rows import method_row
from medldr.reporting.table import Cell, Table
from medldr.reporting.wording import split_name


def batch_section(found: Mapping[str, Sequence[BatchCurve]]) -> Section | None:
    """A figure and a table for each data set with runs at three sizes or more.

    Args:
        found: Curves by the title of their sweep.
    """
    several = sum(map(bool, found.values())) > 1
    curves = [
        replace(curve, data=f"{title}, {curve.data}") if several else curve
        for title, of_sweep in found.items()
        for curve in of_sweep
    ]
    drawings = [batch_figure(curve, number) for number, curve in enumerate(curves, 1)]
    tables = [batch_table(curve) for curve in curves]
    shared = "" if all(curve.same_steps for curve in curves) else (
        "Runs with smaller batches made more steps or fewer than those with larger ones, which may "
        "explain a difference between sizes as well."
    )  # fmt: skip
    return section("analysis", "batch", Figures(drawings), *tables, remark=shared)


def batch_table(curve: BatchCurve) -> Table:
    """Methods down, sizes across."""
    known = metric_facts(curve.metric)
    every = {point.images: point for line in curve.lines for point in line.points}
    sizes = sorted(every.items())
    where = split_name(curve.split).lower()
    caption = f"{curve.data}: {known.heading} by images in a step, {where}"
    table = Table(caption, ["Method", *(_heading(point) for _, point in sizes)])
    for line in curve.lines:
        points = {point.images: point for point in line.points}
        cells = [
            table.number(curve.metric, points[size].estimate) if size in points else Cell()
            for size, _ in sizes
        ]
        row = method_row(line.name, cells, reference=line.reference, control=line.control)
        table.rows.append(row)
    if curve.domains > 1:
        table.notes.append(
            f"Means over {curve.domains} domains that were held out one at a time, each with its "
            "whole test set."
        )
    for name, lost in curve.incomplete.items():
        many = ", ".join(map(str, lost))
        table.notes.append(f"{name} has no mean at {many}: some held-out domains lack a result.")
    for name, several in curve.repeated.items():
        many = ", ".join(map(str, several))
        table.notes.append(
            f"{name} has several results at {many}: shown is the one that comes first in the "
            "tables of the sweep."
        )
    return table


def _heading(point: BatchPoint) -> str:
    each = "" if point.per_domain is None else f" ({point.per_domain} of each domain)"
    return f"{point.images}{each}"


def batch_lines(found: Mapping[str, Sequence[BatchCurve]]) -> list[dict[str, object]]:
    """One line per method and size."""
    return [
        line for sweep, curves in found.items() for curve in curves for line in _lines(sweep, curve)
    ]


def _lines(sweep: str, curve: BatchCurve) -> Iterator[dict[str, object]]:
    for line in curve.lines:
        for point in line.points:
            held = point.estimate
            yield {
                "sweep": sweep, "data": curve.data, "split": curve.split, "metric": curve.metric,
                "method": line.name, "images": point.images, "per_domain": point.per_domain,
                "steps": point.steps, "runs": held.n, "planned": held.planned, "mean": held.mean,
                "low": held.low, "high": held.high, "reason": held.reason,
            }  # fmt: skip
