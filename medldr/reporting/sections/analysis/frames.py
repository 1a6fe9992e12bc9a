"""Frames of topics as lines of csv, panels of a figure and tables; differences in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from medldr.evaluation.comparison.findings import Direction, direction
from medldr.evaluation.intervals.estimate import TESTED, Estimate
from medldr.evaluation.representation.frame import Line, where
from medldr.evaluation.representation.measured import Measured
from medldr.evaluation.representation.probes import LABELS
from medldr.folders.latents_record import ORIGINAL, VIEWS
from medldr.metric import Metric
from medldr.reporting.figures.latents.dots import ALONE, Panel
from medldr.reporting.figures.views import VIEW_TITLES
from medldr.reporting.sections.rows import grouped
from medldr.reporting.table import CHANCE, DASH, Cell, Row, Table, interval

Runs = Mapping[str, Measured]
"""What was measured of each run, by its heading; the reference first."""
TWO_KINDS = "a mean over seeds is not compared with a single run"


def of_runs(runs: Runs, topic: str) -> list[Line]:
    """The frame of a topic with a column for the run."""
    return [{"run": run, **line} for run, held in runs.items() for line in held.frames[topic]]


def csv_lines(frame: Iterable[Line], *, seeds: bool = False) -> list[Line]:
    """A frame as lines of csv, with the number and its interval in columns of their own.

    Args:
        frame: Lines with a number in ``held``.
        seeds: Whether numbers may be means over seeds.

    Example:
        >>> csv_lines([{"run": "ERM", "held": Estimate(0.5, low=0.4, high=0.6), "n": 9}])
        [{'run': 'ERM', 'value': 0.5, 'low': 0.4, 'high': 0.6, 'reason': '', 'n': 9}]
    """
    lines = []
    for line in frame:
        shown: Line = {}
        for column, value in line.items():
            if isinstance(value, Estimate):
                shown |= {"value": value.mean, "low": value.low, "high": value.high}
                shown |= {"sd": value.sd, "seeds": value.n} if seeds else {}
                shown["reason"] = value.reason
            else:
                shown[column] = " ".join(value) if isinstance(value, tuple) else value
        lines.append(shown)
    return lines


def panels(
    frame: Sequence[Line], by: str, titles: Mapping[str, str],
    metrics: Metric | Mapping[str, Metric], level: str = "", called: str = "",
) -> list[Panel]:  # fmt: skip
    """A panel of a figure, and column of a table, for each value of a column of a frame.

    Args:
        frame: With ``run`` and ``latents``; a line of `LABELS` is a level to compare with.
        by: The column.
        titles: Its values, in order, and what they are called; those without a line are left out.
        metrics: Of all panels, or of each.
        level: A column of the frame that holds a level to compare with.
        called: What that level is.
    """
    found = []
    for value, title in titles.items():
        rows: dict[str, dict[str, Estimate]] = {}
        levels: dict[str, dict[str, Estimate]] = {}
        for line in where(frame, **{by: value}):
            run, view = line["run"], line["latents"]
            if view in VIEW_TITLES:
                rows.setdefault(run, {})[view] = line["held"]
            elif view == LABELS:
                levels.setdefault(run, {})[ALONE] = line["held"]
            if level and isinstance(line[level], float):
                levels.setdefault(run, {})[called] = Estimate(line[level])
        metric = metrics if isinstance(metrics, Metric) else metrics[value]
        if rows:
            found.append(Panel(title, metric, rows, levels))
    return found


def views_table(caption: str, shown: Sequence[Panel]) -> Table | None:
    """A row for each kind of latents of each run, and what they are compared with below.

    Args:
        caption: Of the table.
        shown: Its columns.
    """
    runs = list(dict.fromkeys(run for panel in shown for run in panel.rows))
    table = Table(caption, ["Latents", *(panel.title for panel in shown)])
    for run in runs:
        for view in VIEWS:
            held = [panel.rows.get(run, {}).get(view) for panel in shown]
            if any(each is not None for each in held):
                name = run if view == ORIGINAL else f"{run}, {VIEW_TITLES[view]}"
                table.rows.append(Row(name, _cells(table, shown, held)))
    for name in dict.fromkeys(n for p in shown for levels in p.levels.values() for n in levels):
        levels = ((tuple(p.levels.get(run, {}).get(name) for p in shown), run) for run in runs)
        for level, of in grouped(levels).items():
            whose = "" if len(of) == len(runs) else f" ({', '.join(of)})"
            cells = _cells(table, shown, level)
            if any(not cell.empty for cell in cells):
                table.rows.append(
                    Row(f"{name.capitalize()}{whose}", cells, style=CHANCE, apart=True)
                )
    return table if table.rows else None


def _cells(table: Table, shown: Sequence[Panel], held: Sequence[Estimate | None]) -> list[Cell]:
    pairs = zip(shown, held, strict=True)
    return [number_cell(table, each, panel.metric) for panel, each in pairs]


def number_cell(table: Table, held: Estimate | None, metric: Metric, extra: str = "") -> Cell:
    """A number in a table; why it is undefined, or has no interval, is a footnote.

    Args:
        table: The table.
        held: The number; None: a dash.
        metric: What it is.
        extra: A small line below it.
    """
    if held is None:
        return Cell()
    mark = table.sign(held.reason) if held.reason else ""
    if held.mean is None:
        return Cell(DASH, mark=mark)
    return Cell(replace(held, reason=""), metric, mark=mark, extra=extra)


def shown_number(held: Estimate, metric: Metric, *, signed: bool = False) -> str:
    """A number with its interval, as a sentence has it.

    Example:
        >>> share = Metric("share", "Share", "", percent=True)
        >>> shown_number(Estimate(0.05, low=-0.01, high=0.11), share, signed=True)
        '+5.0 percentage points, 95% CI −1.0 to +11.0'
        >>> shown_number(Estimate(0.5), share)
        '50.0%, no CI'
    """
    if held.mean is None:
        return f"undefined: {held.reason}"
    ends = interval(held, metric, signed=signed)
    text = metric.show_difference(held.mean) if signed else metric.with_unit(held.mean)
    unit = " percentage points" if signed and metric.percent else ""
    return f"{text}{unit}, {f'95% CI {ends}' if ends else 'no CI'}"


def called(difference: Estimate, metric: Metric, *, higher: str, lower: str) -> str:
    """A difference in words, with its interval; which way it goes is said where that is clear.

    Example:
        >>> share = Metric("share", "Share", "", percent=True)
        >>> called(Estimate(0.05, low=0.01, high=0.09), share, higher="more", lower="less")
        'more (+5.0 percentage points, 95% CI +1.0 to +9.0)'
        >>> called(Estimate(0.05, low=-0.01, high=0.11), share, higher="more", lower="less")
        'no clear difference (+5.0 percentage points, 95% CI −1.0 to +11.0)'
        >>> called(Estimate(reason="one group"), share, higher="more", lower="less")
        'not compared (one group)'
    """
    if difference.mean is None:
        return f"not compared ({difference.reason})"
    words = {"higher": higher, "lower": lower, "unclear": "no clear difference"}
    return f"{words[way(difference)]} ({shown_number(difference, metric, signed=True)})"


def way(difference: Estimate) -> Direction:
    """Which way a difference goes where it is clear: fewer than three seeds are not enough."""
    few = difference.n is not None and difference.n < TESTED
    return "unclear" if few else direction(difference)


def apart(one: Estimate, other: Estimate) -> Estimate:
    """One number minus another of a different run, both with an interval, as if independent.

    A mean over seeds minus the number of a single run has no interval. The same images are easy or
    hard for both, so the interval is rather too wide.

    Args:
        one: A number that is defined.
        other: Another one.

    Returns:
        The difference; its `n` is the smaller number of seeds, None for two single runs.

    Source:
        Zou and Donner 2008 (the method of variance estimates recovery).

    Example:
        >>> found = apart(Estimate(5.0, low=2.0, high=8.0), Estimate(1.0, low=-3.0, high=5.0))
        >>> found.mean, found.low, found.high
        (4.0, -1.0, 9.0)
    """
    if one.mean is None or other.mean is None:
        return Estimate(reason=one.reason or other.reason)
    if (one.n is None) != (other.n is None):
        return Estimate(reason=TWO_KINDS)
    mean, n = one.mean - other.mean, None if one.n is None else min(one.n, other.n or 0)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(mean, n=n)
    low = ((one.mean - one.low) ** 2 + (other.high - other.mean) ** 2) ** 0.5
    high = ((one.high - one.mean) ** 2 + (other.mean - other.low) ** 2) ** 0.5
    return Estimate(mean, low=mean - low, high=mean + high, n=n)


def minus(one: Estimate) -> Estimate:
    """The difference the other way round."""
    low, high, mean = one.low, one.high, one.mean
    return replace(
        one, mean=None if mean is None else -mean, low=None if high is None else -high,
        high=None if low is None else -low,
    )  # fmt: skip
