"""The row of chance level, set apart from the methods of a table."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.results.class_mix import Chance
from medldr.reporting.table import ANY, CHANCE, Cell, Row

LABELS = "Always the likelier answer"


def chance_row(found: Sequence[tuple[str, Chance | None]]) -> Row | None:
    """A row of numbers without intervals or marks; None where chance level says nothing.

    Args:
        found: For each cell its metric, and the chance level of its column.
    """
    there = [(known, level) for known, level in found if level and known in level.values]
    if not there:
        return None
    names = {level.name for _, level in there}
    alike = len(names) == 1
    heading = chance_heading(there[0][1]) if alike else ANY
    cells = [_cell(metric, level, named=not alike) for metric, level in found]
    return Row(heading, cells, style=CHANCE, apart=True)


def chance_heading(level: Chance) -> str:
    """What is always answered.

    Example:
        >>> chance_heading(Chance("normal", {})), chance_heading(Chance("", {}))
        ('Always “normal” (most frequent)', 'Always the most frequent class')
    """
    if level.name:
        return f"Always “{level.name}” (most frequent)"
    return LABELS if level.labels else ANY


def _cell(metric: str, level: Chance | None, *, named: bool) -> Cell:
    if level is None or metric not in level.values:
        return Cell()
    detail = f"“{level.name}”" if named and level.name else ""
    return Cell(Estimate(level.values[metric]), metric_facts(metric), detail=detail)
