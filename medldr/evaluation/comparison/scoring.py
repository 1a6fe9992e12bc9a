"""How runs of a comparison are scored: with the settings of the first, each by its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from medldr.errors import InputError
from medldr.evaluation.aggregate import grouped_splits
from medldr.evaluation.comparison.runs import Run
from medldr.evaluation.frequency import common_shots
from medldr.evaluation.metrics.items import Shots
from medldr.evaluation.split_scores import SplitScores, positive_class, thresholds_of
from medldr.types import Predictions

DEFAULT_SPECIFICITY = 0.9
"""Used where the task has no operating point; no number depends on it."""


@dataclass(frozen=True)
class Settings:
    """The evaluation settings of all runs, which are those of the first one.

    Attributes:
        draws: Bootstrap draws.
        seed: Their seed.
        bins: Bins of the calibration error.
        positive_class: Of a binary task.
        specificity: At which sensitivity is reported.
        shots: Training images of each class, where frequent and rare ones are scored apart.
        aggregate: How groups are scored in place of images; empty where not all runs did so.
    """

    draws: int
    seed: int
    bins: int
    positive_class: str | None
    specificity: float
    shots: Shots | None = None
    aggregate: str = ""

    @classmethod
    def of(cls, run: Run, others: Sequence[Run] = ()) -> Settings:
        """The settings of a run; of frequent and rare classes, what it shares with the others.

        Raises:
            InputError: If its `evaluation.json` does not record how its intervals were made.
        """
        scored = run.evaluation
        if scored.intervals is None:
            raise InputError(
                f"{run.name}: its evaluation.json does not record how its intervals were made. Run "
                "`medldr evaluate` on the run to score it again"
            )
        wanted = scored.specificity
        how = set(aggregates([run, *others]))
        return cls(
            scored.intervals.draws,
            scored.intervals.seed,
            scored.calibration.bins,
            scored.positive_class,
            DEFAULT_SPECIFICITY if wanted is None else wanted,
            common_shots([scored, *(other.evaluation for other in others)]),
            how.pop() if len(how) == 1 else "",
        )


def aggregates(runs: Sequence[Run]) -> list[str]:
    """How each run scored its groups in place of images; empty where it did not."""
    made = (run.evaluation.by_group for run in runs)
    return ["" if how is None else how.aggregate for how in made]


def of_groups(runs: Sequence[Run], settings: Settings) -> tuple[Run, ...]:
    """The runs with groups in place of images: each row of their tables is a group.

    Each run counts images above its own threshold, where the share of these is asked for.
    """
    found = []
    for run in runs:
        tables = run.predictions
        positive = positive_class(next(iter(tables.values())), settings.positive_class)
        point = thresholds_of(tables, positive, settings.specificity).point
        rows = grouped_splits(tables, settings.aggregate, positive, point)
        found.append(replace(run, predictions=rows, thresholds={}))
    return tuple(found)


def scores_of(run: Run, table: Predictions, settings: Settings, per_group: bool) -> SplitScores:
    """Score a run with the settings of the first one and its own threshold."""
    positive = positive_class(table, settings.positive_class)
    made, how = (settings, positive), (settings.specificity, None, settings.draws, settings.seed)
    if made not in run.thresholds:  # a run is scored on several splits
        run.thresholds[made] = thresholds_of(run.predictions, positive, *how)
    own = {"per_group": per_group, "shots": settings.shots, **run.thresholds[made]._asdict()}
    return SplitScores(table, settings.bins, positive, **own)


def recorded_noise(
    runs: Sequence[Run], split: str, domain: str | None, metric: str
) -> tuple[float, float] | None:
    """What a calibration error would be without miscalibration, on average over runs.

    Args:
        runs: The runs of a method.
        split: The split.
        domain: One of its domains; None for the whole split.
        metric: The metric; one that is no calibration error has no noise.

    Returns:
        Mean and 95% point, as in `evaluation.json`; None where any run does not record them.
    """
    rows = [run.evaluation.scores.row(split, metric, domain=domain or "") for run in runs]
    noises = [row.noise for row in rows if row is not None and row.noise is not None]
    if len(noises) < len(runs):
        return None
    mean, most = np.mean(noises, axis=0).tolist()
    return mean, most
