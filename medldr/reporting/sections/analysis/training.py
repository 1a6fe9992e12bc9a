"""What training takes: a metric against the size of a batch, and against seconds per step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.sweep.batch import batch_figure
from medldr.reporting.figures.sweep.cost import cost_figure
from medldr.reporting.prose import section
from medldr.reporting.results.batch_sizes import BatchCurve
from medldr.reporting.results.training_cost import SECONDS, TIMES, Cost
from medldr.reporting.sections.analysis.frames import number_cell
from medldr.reporting.sections.rows import count, method_row
from medldr.reporting.table import Cell, Table
from medldr.reporting.wording import split_name

T = TypeVar("T", BatchCurve, Cost)


def _named(found: Mapping[str, Sequence[T]]) -> list[T]:
    """Those of all sweeps, with the title of the sweep where several have some."""
    several = sum(map(bool, found.values())) > 1
    return [
        replace(one, data=f"{title}, {one.data}") if several else one
        for title, of_sweep in found.items()
        for one in of_sweep
    ]


def batch_section(found: Mapping[str, Sequence[BatchCurve]]) -> Section | None:
    """A figure and a table for each data set with runs at three sizes or more.

    Args:
        found: Curves by the title of their sweep.
    """
    curves = _named(found)
    drawn = (batch_figure(curve, number) for number, curve in enumerate(curves, 1))
    tables = [batch_table(curve) for curve in curves]
    shared = "" if all(curve.same_steps for curve in curves) else (
        "Runs with smaller batches made more steps or fewer than those with larger ones, which may "
        "explain a difference between sizes as well."
    )  # fmt: skip
    return section("analysis", "batch", Figures([d for d in drawn if d]), *tables, remark=shared)


def batch_table(curve: BatchCurve) -> Table:
    """Methods down, sizes across."""
    known = metric_facts(curve.metric)
    every = {point.images: point.per_domain for line in curve.lines for point in line.points}
    sizes = sorted(every)
    where = split_name(curve.split).lower()
    caption = f"{curve.data}: {known.heading} by images in a step, {where}"
    each = {size: f"{size} ({every[size]} of each domain)" if every[size] else str(size)
            for size in sizes}  # fmt: skip
    table = Table(caption, ["Method", *each.values()])
    for line in curve.lines:
        points = {point.images: point for point in line.points}
        cells = [
            table.number(curve.metric, points[size].estimate) if size in points else Cell()
            for size in sizes
        ]
        row = method_row(line.name, cells, reference=line.reference, control=line.control)
        table.rows.append(row)
    domains = max(line.domains for line in curve.lines)
    if domains > 1:
        table.notes.append(
            f"Means over {domains} domains that were held out one at a time, each with its "
            "whole test set."
        )
    for line in curve.lines:
        said = {
            "has no mean at {}: some held-out domains lack a result.": line.incomplete,
            "has several results at {}: shown is the one that comes first in the tables of the "
            "sweep.": line.repeated,
        }
        for text, at in said.items():
            many = ", ".join(map(str, at))
            table.notes += [f"{line.name} {text.format(many)}"] if at else []
    return table


def batch_lines(found: Mapping[str, Sequence[BatchCurve]]) -> list[dict[str, object]]:
    """One line per method and size."""
    return [
        {"sweep": sweep, "data": curve.data, "split": curve.split, "metric": curve.metric,
         "method": line.name, "images": point.images, "per_domain": point.per_domain,
         "steps": point.steps, "runs": held.n, "planned": held.planned, "mean": held.mean,
         "low": held.low, "high": held.high, "reason": held.reason}
        for sweep, curves in found.items()
        for curve in curves
        for line in curve.lines
        for point in line.points
        for held in [point.estimate]
    ]  # fmt: skip


def cost_section(found: Mapping[str, Sequence[Cost]]) -> Section | None:
    """A figure and a table for each data set.

    Args:
        found: Costs by the title of their sweep.
    """
    costs = _named(found)
    drawings = [cost_figure(cost, number) for number, cost in enumerate(costs, 1)]
    shown = Figures([drawing for drawing in drawings if drawing is not None])
    return section("analysis", "cost", shown, *map(cost_table, costs))


def cost_table(cost: Cost) -> Table:
    """Seconds per step of each method, how many times the reference's, and its metric."""
    known = metric_facts(cost.metric)
    table = Table(
        f"{cost.data}: cost of a step of training on {cost.machine.title}",
        ["Method", "Runs timed", SECONDS.heading, f"Times {cost.reference}", known.heading],
    )
    for of in cost.methods:
        reference = of.row == cost.reference
        cells = [
            Cell(of.seconds.n or 0),
            number_cell(table, replace(of.seconds, n=None), SECONDS),
            Cell() if reference else number_cell(table, of.times, TIMES),
            table.number(cost.metric, of.score),
        ]
        row = method_row(of.row, cells, reference=reference, control=of.control)
        table.rows.append(row)
    if cost.others:
        each = "; ".join(f"{count(n, 'run')} on {m.title}" for m, n in cost.others.items())
        table.notes.append(f"Left out, because times of other machines do not compare: {each}.")
    if len(cost.intervals) > 1:
        steps = ", ".join(map(str, cost.intervals))
        table.notes.append(
            f"Runs were validated every {steps} steps: those that were validated more often carry "
            "more of its time."
        )
    return table


def cost_lines(found: Mapping[str, Sequence[Cost]]) -> list[dict[str, object]]:
    """One line per method of each data set."""
    return [
        {"sweep": sweep, "data": cost.data, "method": of.row, "machine": cost.machine.title,
         "runs": of.seconds.n or 0, "left_out": of.left_out, "seconds_per_step": of.seconds.mean,
         "seconds_low": of.seconds.low, "seconds_high": of.seconds.high,
         "times_reference": of.times.mean, "times_low": of.times.low, "times_high": of.times.high,
         "split": cost.split, "metric": cost.metric, "mean": score.mean, "low": score.low,
         "high": score.high, "reason": of.seconds.reason or score.reason}
        for sweep, costs in found.items()
        for cost in costs
        for of in cost.methods
        for score in [of.score or Estimate()]
    ]  # fmt: skip
