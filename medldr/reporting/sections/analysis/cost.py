"""What training costs beside what it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metric import Metric
from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.sweep.cost import cost_figure
from medldr.reporting.prose import section
from medldr.reporting.results.training_cost import SECONDS, TIMES, Cost
from medldr.reporting.sections.rows import count, method_row
from medldr.reporting.table import DASH, Cell, Table


def cost_section(found: Mapping[str, Sequence[Cost]]) -> Section | None:
    """A figure and a table for each data set.

    Args:
        found: Costs by the title of their sweep.
    """
    several = sum(map(bool, found.values())) > 1
    costs = [
        replace(cost, data=f"{title}, {cost.data}") if several else cost
        for title, of_sweep in found.items()
        for cost in of_sweep
    ]
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
            _number(table, of.seconds, SECONDS),
            Cell() if reference else _number(table, of.times, TIMES),
            table.number(cost.metric, of.score),
        ]
        row = method_row(of.row, cells, reference=reference, control=of.control)
        table.rows.append(row)
    table.notes += _notes(cost)
    return table


def _number(table: Table, estimate: Estimate, known: Metric) -> Cell:
    """A cell; a reason becomes a footnote. How many runs it is over has a column of its own."""
    if estimate.mean is None:
        mark = table.sign(estimate.reason) if estimate.reason else ""
        return Cell(DASH, mark=mark)
    return Cell(replace(estimate, n=None), known)


def _notes(cost: Cost) -> list[str]:
    notes = []
    if cost.others:
        each = "; ".join(f"{count(n, 'run')} on {m.title}" for m, n in cost.others.items())
        notes.append(f"Left out, because times of other machines cannot be compared: {each}.")
    if len(cost.intervals) > 1:
        steps = ", ".join(map(str, cost.intervals))
        notes.append(
            f"Runs were validated every {steps} steps: those that were validated more often carry "
            "more of its time."
        )
    return notes


def cost_lines(found: Mapping[str, Sequence[Cost]]) -> list[dict[str, object]]:
    """One line per method of each data set."""
    lines: list[dict[str, object]] = []
    for sweep, costs in found.items():
        for cost in costs:
            for of in cost.methods:
                score = of.score or Estimate()
                lines.append({
                    "sweep": sweep, "data": cost.data, "method": of.row,
                    "machine": cost.machine.title, "runs": of.seconds.n or 0,
                    "left_out": of.left_out, "seconds_per_step": of.seconds.mean,
                    "seconds_low": of.seconds.low, "seconds_high": of.seconds.high,
                    "times_reference": of.times.mean, "times_low": of.times.low,
                    "times_high": of.times.high, "split": cost.split, "metric": cost.metric,
                    "mean": score.mean, "low": score.low, "high": score.high,
                    "reason": of.seconds.reason or score.reason,
                })  # fmt: skip
    return lines
