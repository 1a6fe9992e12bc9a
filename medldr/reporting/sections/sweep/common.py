"""What the sections of a sweep are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import make_grid
from medldr.reporting.results.held_out import HeldOut
from medldr.reporting.sections.sweep.grid import grid_table
from medldr.reporting.table import Table, side_by_side


@dataclass(frozen=True)
class Results:
    """A sweep with what was computed of it.

    Attributes:
        study: The sweep as it was read.
        columns: Its columns as they were compared.
        metrics: Metrics that have a grid, the foremost first.
        splits: Splits that were judged, the test split first.
        held_out: Data sets of which domains were held out one at a time.
    """

    study: Study
    columns: Sequence[Column]
    metrics: Sequence[str]
    splits: Sequence[str]
    held_out: Sequence[HeldOut]

    @property
    def averaged(self) -> bool:
        """Whether a mean over the columns says anything.

        That over the domains of several sets would not be the mean over sets that papers print.
        """
        return len(self.held_out) < 2

    def each(self, what: str, make: Callable[[str, str], Table | None]) -> list[Table]:
        """A table for each split and metric; side by side where the sweep has a single column.

        Args:
            what: What the tables show, for the caption of the one table.
            make: Makes a table of a metric and a split; None where there is nothing to show.
        """
        places = [(split, metric) for split in self.splits for metric in self.metrics]
        return self.together(what, [(s, m, make(m, s)) for s, m in places])

    def together(self, what: str, parts: Iterable[tuple[str, str, Table | None]]) -> list[Table]:
        """Tables by split and metric; side by side where the sweep has a single column."""
        found = [(split, metric, table) for split, metric, table in parts if table is not None]
        if len(self.columns) > 1 or len(found) < 2:
            return [table for _, _, table in found]
        headed = [
            (
                measure(metric).heading
                + (f", {SPLIT_TITLES.get(split, split).lower()}" if len(self.splits) > 1 else ""),
                table,
            )
            for split, metric, table in found
        ]
        return [side_by_side(f"{self.columns[0].name}: {what}", headed)]

    def grids(self, what: str, metrics: Sequence[str], *, needed: bool = False) -> list[Table]:
        """The grids of some metrics.

        Args:
            what: What they show, for the caption of the one table.
            metrics: The metrics.
            needed: Whether a grid without any result is left out.
        """
        parts: list[tuple[str, str, Table | None]] = []
        for split in self.splits:
            for metric in metrics:
                grid = make_grid(self.study, self.columns, metric, split, averaged=self.averaged)
                there = any(found is not None for row in grid.cells.values() for found in row)
                table = grid_table(self.study, grid, target=bool(self.held_out))
                parts.append((split, metric, table if there or not needed else None))
        return self.together(what, parts)
