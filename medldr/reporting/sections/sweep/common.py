"""A sweep with its computed results, and its tables by split and metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from medldr.data.metadata_columns import FEWEST
from medldr.errors import did_you_mean
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.primary import DEFAULT
from medldr.metrics import ALIASES, BY_GROUP, metric_facts, other_half
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column, columns, splits
from medldr.reporting.results.grid import make_grid
from medldr.reporting.results.held_out import HeldOut, held_out_sets
from medldr.reporting.sections.sweep.grid import grid_table
from medldr.reporting.table import Table, side_by_side
from medldr.reporting.wording import split_name

DEFAULT_METRICS = ("accuracy", "auc")
WORST = "worst_group"


@dataclass(frozen=True, eq=False)  # compared by identity: differences are kept by results
class Results:
    """A sweep with its computed results.

    Attributes:
        study: The sweep as it was read.
        columns: Its columns as they were compared.
        metrics: Metrics that have a grid, the foremost first.
        splits: Splits that were scored, the test split first.
        held_out: Data sets with domains held out one at a time.
    """

    study: Study
    columns: Sequence[Column]
    metrics: Sequence[str]
    splits: Sequence[str]
    held_out: Sequence[HeldOut]

    def averages(self, metric: str) -> bool:
        """Whether a mean of a metric over the columns says anything.

        That over the domains of several sets would not be the mean over sets that papers print, and
        errors of probabilities over few classes are on another scale than those over many.
        """
        there = [column.comparison for column in self.columns if column.comparison is not None]
        classes = {len({score.class_ for score in found.classes}) for found in there}
        alike = len(classes) < 2 or not metric_facts(metric).calibration
        return len(there) > 1 and len(self.held_out) < 2 and alike

    def tables(
        self, what: str, metrics: Sequence[str], make: Callable[[str, str], Table | None]
    ) -> list[Table]:
        """A table for each split and metric; side by side where the sweep has a single column.

        Args:
            what: What the tables show, for the caption of the one table.
            metrics: The metrics.
            make: Makes a table of a metric and a split; None where there is nothing to show.
        """
        found: list[tuple[str, Table]] = []
        for split in self.splits:
            where = f", {split_name(split).lower()}" if len(self.splits) > 1 else ""
            made = [(f"{metric_facts(m).heading}{where}", make(m, split)) for m in metrics]
            found += [(heading, table) for heading, table in made if table is not None]
        if len(self.columns) > 1 or len(found) < 2:
            return [table for _, table in found]
        return [side_by_side(f"{self.columns[0].name}: {what}", found)]

    def grids(self, what: str, metrics: Sequence[str]) -> list[Table]:
        """The grids of some metrics.

        Args:
            what: What they show, for the caption of the one table.
            metrics: The metrics.
        """

        def make(metric: str, split: str) -> Table:
            grid = make_grid(
                self.study, self.columns, metric, split, averaged=self.averages(metric)
            )
            return grid_table(self.study, grid, target=bool(self.held_out))

        return self.tables(what, metrics, make)


def for_pages(results: Results) -> Results:
    """Results as pages show them; files keep what is left out.

    A group of a few images is right or wrong by chance, so a column in which the worst group of any
    run has fewer than subgroups need has no worst group.
    """
    return replace(results, columns=[_large(results.study, column) for column in results.columns])


def _large(study: Study, column: Column) -> Column:
    runs = [entry.run for entry in study.of(column=column.name) if entry.run is not None]
    scored = [split.worst_group for run in runs for split in run.evaluation.splits.values()]
    least = min((worst.n or 0 for worst in scored if worst is not None), default=FEWEST)
    if (found := column.comparison) is None or least >= FEWEST:
        return column
    few = Estimate(reason=f"fewer than {FEWEST} images")
    scores = (s._replace(estimate=few) if s.metric == WORST else s for s in found.scores)
    differences = tuple(d for d in found.differences if d.metric != WORST)
    shown = replace(found, scores=tuple(scores), differences=differences)
    return replace(column, comparison=shown)


def results_of(study: Study) -> tuple[Results, list[str]]:
    """Compare the columns of a sweep.

    Returns:
        The results, and a note on every metric that was asked for and is not there.
    """
    found = columns(study)
    metrics, notes = _metrics(study, found)
    return Results(study, found, metrics, splits(found), held_out_sets(study)), notes


def _metrics(study: Study, found: Sequence[Column]) -> tuple[list[str], list[str]]:
    """The metrics asked for that were computed, of groups too; and a note on every other one."""
    there = {m for column in found if column.comparison for m in column.comparison.metrics()}
    keys = [metric.rsplit("/", 1)[-1] for metric in study.layout.metrics]
    asked = list(dict.fromkeys(ALIASES.get(key, key) for key in keys)) or list(DEFAULT_METRICS)
    stated = {column.comparison.primary for column in found if column.comparison}
    if len(stated) == 1 and stated != {DEFAULT}:  # a sweep that states none keeps its own order
        asked = list(dict.fromkeys([*stated, *asked]))
    known = [m for metric in asked for m in (metric, f"{BY_GROUP}{metric}") if m in there]
    # The second half of a pair is in the cells of the first.
    known = [m for n, m in enumerate(known) if other_half(m) not in known[:n]]
    notes = [
        f"The sweep asks for an unknown metric {metric!r}.{did_you_mean(metric, there)}"
        for metric in asked
        if there and metric not in there
    ]
    return known or list(DEFAULT_METRICS), notes
