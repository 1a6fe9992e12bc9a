"""A metric of pooled folds beside its mean over the folds, each scored by itself."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.reporting.read.study import Entry, Study


class FoldMeans(NamedTuple):
    """One metric of one method on the test items of all folds.

    Attributes:
        pooled: Of the pooled predictions, mean over seeds; None where no seed has all folds.
        of_folds: Mean over the folds of each seed, then over seeds; None where a fold has no
            number.
        lowest: The lowest number of any fold; None likewise.
        highest: The highest.
    """

    pooled: Estimate | None
    of_folds: Estimate | None
    lowest: float | None
    highest: float | None


def fold_means(study: Study, row: str, column: str, metric: str) -> FoldMeans:
    """The numbers of a cell whose runs are pooled folds."""
    done = [entry for entry in study.of(row, column) if entry.folds and entry.files is not None]
    pooled = [value for entry in done if (value := _value(entry, metric)) is not None]
    each = [[_value(fold, metric) for fold in entry.folds.values()] for entry in done]
    known = [value for values in each for value in values if value is not None]
    whole = bool(known) and all(value is not None for values in each for value in values)
    means = [
        statistics.fmean(value for value in values if value is not None) for values in each if whole
    ]
    return FoldMeans(
        spread(pooled) if pooled else None,
        spread(means) if means else None,
        min(known) if whole else None,
        max(known) if whole else None,
    )


def fold_names(study: Study, column: str) -> list[str]:
    """Names of the folds of a column, in the order of the sweep; empty where none are pooled."""
    return list(dict.fromkeys(name for entry in study.of(column=column) for name in entry.folds))


def _value(entry: Entry, metric: str) -> float | None:
    scored = None if entry.files is None else entry.files.evaluation
    return None if scored is None else scored.scores.value("test", metric)
