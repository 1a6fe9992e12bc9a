"""The worst group of a sweep's methods, where its runs were scored by group."""

from __future__ import annotations

from medldr.metrics import MEASURES
from medldr.reporting.results.grid import grid_table, make_grid
from medldr.reporting.sections.sweep import Parts, Section

WORST = "worst_group"


def groups(parts: Parts) -> Section:
    """Grids of the worst group; empty where no run has one, or the main grids show it already."""
    section = Section("groups", "Behind the accuracy: the worst group", "Groups")
    section.texts.append(
        "A group is what images belong together, such as a slide or a patient. Each run has its "
        "own worst one, and the numbers are means over seeds."
    )
    if WORST not in parts.metrics:
        grids = [make_grid(parts.study, parts.columns, WORST, split) for split in parts.splits]
        there = [g for g in grids if any(c.runs for row in g.rows for c in row.cells)]
        tables = [(grid.split, grid.metric, grid_table(grid)) for grid in there]
        section.tables = parts.together("worst group", tables)
        section.small = MEASURES[WORST].meaning if section.tables else ""
    return section
