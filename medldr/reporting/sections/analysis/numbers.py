"""Numbers about latents in tables, lines of csv and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.latents_record import ORIGINAL
from medldr.metric import Metric
from medldr.reporting.figures.latents.operators import MOST_CLASSES
from medldr.reporting.figures.views import VIEW_TITLES
from medldr.reporting.table import DASH, Cell, Table, interval


def heading(run: str, view: str) -> str:
    """What a row of a table is about: latents of unmodified images go by the run alone.

    Example:
        >>> heading("LatentDR", "original"), heading("LatentDR", "degraded")
        ('LatentDR', 'LatentDR, degraded')
    """
    return run if view == ORIGINAL else f"{run}, {VIEW_TITLES[view]}"


def cell(table: Table, held: Estimate | None, metric: Metric, *, signed: bool = False) -> Cell:
    """A number in a table; why it is undefined, or has no interval, is a footnote.

    Args:
        table: The table.
        held: The number; None: a dash.
        metric: What it is.
        signed: Whether it is a difference.
    """
    if held is None:
        return Cell()
    mark = table.sign(held.reason) if held.reason else ""
    if held.mean is None:
        return Cell(DASH, mark=mark)
    return Cell(replace(held, reason=""), metric, signed, mark=mark)


def kept_rows(table: Table, names: Mapping[str, tuple[int, bool]]) -> list[str]:
    """The rows that there is room for, in their order; a note says what is left out.

    Args:
        table: Their table.
        names: The number of images of each, and whether it is kept whatever that number.
    """
    always = [name for name, (_, kept) in names.items() if kept]
    room = max(MOST_CLASSES - len(always), 0)
    others = sorted((n for n in names if n not in always), key=lambda name: -names[name][0])[:room]
    kept = [name for name in names if name in always[:MOST_CLASSES] or name in others]
    if len(kept) < len(names):
        left = len(names) - len(kept)
        table.notes.append(f"{left:,} more, with fewer images, are in the csv file alone.")
    return kept


def columns(held: Estimate) -> dict[str, object]:
    """A number in a line of csv.

    Example:
        >>> columns(Estimate(0.5, low=0.4, high=0.6))
        {'value': 0.5, 'low': 0.4, 'high': 0.6, 'reason': ''}
    """
    return {"value": held.mean, "low": held.low, "high": held.high, "reason": held.reason}


def difference(held: Estimate, metric: Metric, *, more: str = "more", less: str = "less") -> str:
    """A difference in words, with its interval, and whether it is clear.

    Args:
        held: The difference, which is defined.
        metric: What it is a difference of.
        more: Said where it is above 0.
        less: Said where it is below 0.

    Example:
        >>> share = Metric("share", "Share", "", percent=True)
        >>> difference(Estimate(0.05, low=0.01, high=0.09), share)
        'more (+5.0 percentage points, 95% CI +1.0 to +9.0)'
        >>> difference(Estimate(0.05, low=-0.01, high=0.11), share)
        'no clear difference (+5.0 percentage points, 95% CI −1.0 to +11.0)'
    """
    value = 0.0 if held.mean is None else held.mean
    unit = " percentage points" if metric.percent else ""
    ends = interval(held, metric, signed=True)
    shown = f"{metric.show_difference(value)}{unit}, {f'95% CI {ends}' if ends else 'without a CI'}"
    words = {"higher": more, "lower": less, "unclear": "no clear difference"}
    said = words[direction(held)]
    return f"{said} ({shown})"
