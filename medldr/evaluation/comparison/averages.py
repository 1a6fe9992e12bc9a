"""Averages over test sets, which may share their images: one draw of units for all of them.

Columns of a sweep that differ in how networks were trained (augmentation, the size of a batch) are
tested on the same images, and what runs with other domains held out have seen overlaps. Averaged as
if they were apart, the same images would count several times. A draw therefore samples the units
(groups, else images) of all test sets together, and a unit counts as often in every set that has
it. The luck of a seed carries over likewise, as its networks start from the same weights: the
spread over seeds is that of each seed's own average.

Source:
    Our choice, by simulation: as in Obuchowski and Rockette's analysis units are cases, of which
    the union is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.evaluation.comparison.runs import Run, aligned
from medldr.evaluation.comparison.scoring import Settings, of_groups, scores_of
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.inference import Scores
from medldr.evaluation.metrics.sums import Array, Sums
from medldr.metrics import BY_GROUP, metric_facts


class AveragedSet(NamedTuple):
    """One test set of an average: a split of the data that the runs of a method were tested on.

    Attributes:
        runs: The runs, one per seed, in the order of the seeds.
        split: The split.
        part: The part of the split (``target_in``); empty for all of it.
        weight: What it counts in the average; negative for what is taken off.
        data: The data set: only within one do two items of the same id mean the same image.
        first: The run by whose settings it is scored, as in `compare`; None: the first of `runs`.
    """

    runs: Sequence[Run]
    split: str
    part: str = ""
    weight: float = 1.0
    data: str = ""
    first: Run | None = None

    @property
    def settings(self) -> Settings:
        """How its runs are scored."""
        return Settings.of(self.first or self.runs[0], self.runs)


class _Scored(NamedTuple):
    values: Array
    sums: Sequence[Sums]
    units: NDArray[np.str_]


def metric_scores(sets: Sequence[AveragedSet], metric: str) -> tuple[Scores, int] | None:
    """One metric of the runs of a method, averaged over test sets, with its draws.

    A draw in which a test set has no unit is undefined. For a single test set the draws are those
    of `compare`.

    Args:
        sets: The test sets, each with runs of the same seeds.
        metric: A metric of a whole split, of its images or its groups (``by_group/auc``).

    Returns:
        The scores and the number of test units of all sets together; None where the runs of a set
        cannot be compared, which `compare` explains, where the metric is undefined in any of them,
        or where a finite sample inflates it, so that it has no interval.
    """
    try:
        settings = sets[0].settings
    except InputError:
        return None
    scored = [_scored(each, metric, settings) for each in sets]
    known = [each for each in scored if each is not None]
    if not known or len(known) < len(scored):
        return None
    units, place = np.unique(np.concatenate([each.units for each in known]), return_inverse=True)
    places = np.split(place, np.cumsum([len(each.units) for each in known])[:-1])
    name = metric.removeprefix(BY_GROUP)
    names = (f"{each.split}/{each.part}" if each.part else each.split for each in sets)
    stream = bootstrap.stream(settings.seed, *dict.fromkeys(names))
    largest = max(sums.per_item.shape[0] for each in known for sums in each.sums)
    draws = np.empty((len(sets[0].runs), settings.draws))
    start = 0
    for weights in bootstrap.group_weights(len(units), settings.draws, stream, largest):
        end = start + weights.shape[1]
        total: Array | float = 0.0
        for of, each, own in zip(sets, known, places, strict=True):
            drawn = weights[own]
            of_runs = np.stack([sums.draw(drawn, start)[name] for sums in each.sums])
            total = total + of.weight * np.where(drawn.any(axis=0), of_runs, np.nan)
        draws[:, start:end] = total
        start = end
    values = np.sum([s.weight * each.values for s, each in zip(sets, known, strict=True)], axis=0)
    return Scores(values, draws), len(units)


def share_units(sets: Sequence[AveragedSet]) -> bool:
    """Whether any unit is in two of the test sets."""
    names = [_units(each) for each in sets]
    return len(np.unique(np.concatenate(names))) < sum(map(len, names)) if names else False


def _units(of: AveragedSet) -> NDArray[np.str_]:
    table = of.runs[0].predictions.get(of.split)
    if table is None:
        return np.empty(0, np.str_)
    names = bootstrap.units(table.select(table.part == of.part) if of.part else table).names
    return np.char.add(f"{of.data}/", names)


def _scored(of: AveragedSet, metric: str, drawn: Settings) -> _Scored | None:
    if metric_facts(metric).biased or not all(of.split in run.predictions for run in of.runs):
        return None
    name, runs = metric.removeprefix(BY_GROUP), of.runs
    try:
        settings = replace(of.settings, draws=drawn.draws, seed=drawn.seed)
        if name != metric:
            if of.part or not settings.aggregate:  # groups are those of whole splits
                return None
            runs = of_groups(runs, settings)
        tables = aligned(runs, of.split)
    except InputError:
        return None
    if any(not np.array_equal(table.part, tables[0].part) for table in tables):
        return None
    if of.part:
        tables = [table.select(table.part == of.part) for table in tables]
    scores = [
        scores_of(run, table, settings, per_group=False)
        for run, table in zip(runs, tables, strict=True)
    ]
    sums = [each for of_run in scores for each in of_run.whole(name)]
    values = np.array([each.value().get(name, np.nan) for each in sums])
    if len(sums) < len(runs) or np.isnan(values).any():
        return None
    return _Scored(values, sums, np.char.add(f"{of.data}/", scores[0].units.names))
