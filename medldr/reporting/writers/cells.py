"""Cells as text: the one place where an estimate is printed."""

from __future__ import annotations

from dataclasses import dataclass

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import Metric, metric_facts
from medldr.reporting.table import Cell, interval


@dataclass(frozen=True)
class Printed:
    """A cell as text.

    Attributes:
        text: The number or words.
        detail: The interval, or another small line.
        extra: The spread and the number of runs, or another small line.
        value: What a page sorts by; None: not sorted.
        reason: Why the number is undefined.
        spread: The standard deviation alone; it is part of `extra` too.
        count: The number of runs alone, likewise.
        style: Class of the style sheet.
    """

    text: str
    detail: str = ""
    extra: str = ""
    value: float | None = None
    reason: str = ""
    spread: str = ""
    count: str = ""
    style: str = ""


def printed(cell: Cell) -> Printed:
    """A cell as every writer prints it.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> number = Estimate(0.7349, sd=0.01, low=0.7, high=0.76, n=3)
        >>> found = printed(Cell(number, metric_facts("accuracy")))
        >>> found.text, found.detail, found.extra
        ('73.5', '70.0 to 76.0', 'SD 1.0, n 3')
    """
    held = cell.content
    if isinstance(held, int):
        return Printed(f"{held:,}", cell.detail, cell.extra, float(held), style=cell.style)
    if isinstance(held, str):
        return Printed(held, cell.detail, cell.extra, cell.order, style=cell.style)
    if held.mean is None:
        extra = cell.extra or held.count
        return Printed("n/a", cell.detail, extra, reason=held.reason, style=cell.style)
    known = metric_facts("") if cell.metric is None else cell.metric
    spread = "" if held.sd is None else known.show(held.sd)
    error = f"SE {known.show(held.se)}" if held.se is not None and held.low is not None else ""
    return Printed(
        text=known.show_difference(held.mean) if cell.signed else known.show(held.mean),
        detail=cell.detail or _below(held, known, signed=cell.signed),
        extra=cell.extra
        or ", ".join(filter(None, (f"SD {spread}" if spread else "", error, held.count))),
        value=held.mean,
        spread=spread,
        count=held.count,
        style=cell.style or "".join(held.marks),
    )


def _below(held: Estimate, known: Metric, *, signed: bool) -> str:
    if held.noise is not None:
        return noise(held.noise, known)
    if held.low is None and held.se is not None:
        return f"SE {known.show(held.se)}"
    return interval(held, known, signed=signed)


def noise(found: tuple[float, float], known: Metric) -> str:
    """What a calibration error would be without miscalibration: on average, and in 95% at most.

    The two are no range: of few images the mean may lie above what 95% of samples have.

    Example:
        >>> noise((0.031, 0.0622), metric_facts("ece"))
        'noise 0.031, 95% ≤ 0.062'
    """
    return f"noise {known.show(found[0])}, 95% ≤ {known.show(found[1])}"
