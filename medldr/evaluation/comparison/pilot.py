"""What finished runs tell of the numbers that a planned study has to assume.

The estimates are those of the analysis, solved for the numbers of the plan. With ``k`` seeds of
method ``m``, `inference.of_mean` finds ``I_m`` (test units), ``S_m`` (spread over seeds / k) and
``c_m`` (run x unit noise in both), and `inference.of_difference` the units ``I_mn`` of a
difference; means are over methods, or pairs of methods::

    network      u_m     = I_m + (k - 1) * c_m               mean over its runs, one network alone
    same method  w       = sum of (I_m - c_m) / sum of u_m   over methods with several seeds
    two methods  b       = mean of (I_m + I_n - I_mn) / 2    / mean of u_m
    seeds        seed_sd = sqrt( max(0, sum of (k - 1) * k * (S_m - c_m) / sum of (k - 1)) )
    patients     icc     = (D - 1) / (images - 1)            images: mean number per patient
                 D       = G / (G - 1) * (sum over patients of (sum of e)^2) / (sum of e^2)

``e`` are the errors of a run's images (0 and 1) minus their mean, and ``D`` sums over runs too: the
design effect of the `G` patients. For patients with equally many images, ``icc`` is that of an
analysis of variance; for others it is that of equal patients who would tell as much.

Source:
    Obuchowski and Rockette 1995 and Hillis 2014 (the covariances, of which that of two methods is
    at most that of one); Kish 1965 (design effect); Donner 1986 (``icc``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.evaluation.comparison.runs import MethodRuns, Run, load_run, methods, same_task
from medldr.evaluation.comparison.scoring import Settings
from medldr.evaluation.comparison.split_comparison import SplitComparison
from medldr.evaluation.intervals.estimate import Variance
from medldr.evaluation.intervals.inference import Scores, of_difference, of_mean
from medldr.evaluation.intervals.planning import SAME_METHOD, PlannedMetric
from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.primary import primary_of

SPLIT = "test"
CURE = "Leave --pilot out and give its numbers as options"


class Components(NamedTuple):
    """Variances and correlations of a pilot's metric.

    Attributes:
        network: The variance of one network over test sets.
        within: Correlation of two networks of one method; None without several seeds of any.
        between: Correlation of networks of two methods; None for a single method.
        seed_sd: Standard deviation of the true value between seeds; None without several seeds.
    """

    network: float
    within: float | None
    between: float | None
    seed_sd: float | None


def components(scores: Sequence[Scores], units: int) -> Components:
    """The variances behind a metric.

    Args:
        scores: One per method, in the same draws; all values defined.
        units: Test units that a draw samples.

    Raises:
        InputError: If the metric has no variance; says why.

    Example:
        >>> answers = np.array([[1, 1, 1, 0, 1, 0], [1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1.0]])
        >>> mean = answers.mean(axis=1, keepdims=True)
        >>> exact = Scores(mean[:, 0], mean + (answers - mean) / 6**0.5)  # as of infinite draws
        >>> found = components([exact], 6)
        >>> round(found.network, 4), round(found.within, 4), found.seed_sd
        (0.0463, 0.32, 0.0)
    """
    alone = [_known(of_mean(each, units)) for each in scores]
    k = np.array([len(each.values) for each in scores])
    own = np.array([one.units[0].variance for one in alone])
    noise = np.array([one.noise for one in alone])
    spread = np.array([sum(source.variance for source in one.seeds) for one in alone])
    networks, several = own + (k - 1) * noise, k > 1
    network = float(networks.mean())
    if network <= 0:
        raise InputError(f"every bootstrap draw gives the same number. {CURE}")
    within = between = seed_sd = None
    if several.any():
        within = float((own - noise)[several].sum() / networks[several].sum())
        true = float(((k - 1) * k * (spread - noise)).sum() / (k - 1).sum())
        seed_sd = max(0.0, true) ** 0.5
    if len(scores) > 1:
        shared = [
            one + other - _known(of_difference(*pair, units)).units[0].variance
            for (one, other), pair in zip(
                combinations(own, 2), combinations(scores, 2), strict=True
            )
        ]
        between = float(np.mean(shared)) / 2 / network
    return Components(network, within, between, seed_sd)


def intraclass(errors: Array, units: NDArray[np.int64]) -> float:
    """How much errors on images of one patient resemble each other, from 0 to 1.

    Args:
        errors: ``(runs, N)`` of 0 and 1; not all the same in every run.
        units: ``(N,)`` number of each image's patient, from 0; at least two, of whom one has
            several images.

    Example:
        >>> intraclass(np.array([[1.0, 1, 0, 0, 1, 1, 0, 0]]), np.array([0, 0, 1, 1, 2, 2, 3, 3]))
        1.0
        >>> intraclass(np.array([[1.0, 0, 0, 1, 1, 0, 0, 1]]), np.array([0, 0, 1, 1, 2, 2, 3, 3]))
        0.0
    """
    count = int(units.max()) + 1
    apart = errors - errors.mean(axis=1, keepdims=True)
    of_units = np.stack([np.bincount(units, each, count) for each in apart])
    effect = count / (count - 1) * float((of_units**2).sum() / (apart**2).sum())
    return min(1.0, max(0.0, (effect - 1) / (len(units) / count - 1)))


class Pilot(NamedTuple):
    """What a pilot tells.

    Attributes:
        numbers: By the option of `medldr plan` that takes it, or None, and where it comes from or
            why it is not known.
        within: Correlation of two networks of one method, beside that of two methods.
    """

    numbers: dict[str, tuple[float | None, str]]
    within: float | None


def read_pilot(folders: Sequence[str | Path], metric: PlannedMetric | None) -> Pilot:
    """What finished runs of one data set tell of a study that is planned.

    Args:
        folders: Their folders.
        metric: The metric of the plan; None: the AUC where all runs have it as
            ``evaluation.primary``, else accuracy.

    Raises:
        InputError: If a run has no result, they are not of one data set, or tell nothing.
    """
    try:
        runs = [_finished(folder) for folder in folders]
        names = {run.facts.data.name: run.name for run in runs}
        if len(names) > 1:
            listed = " and ".join(f"{run} is of {data}" for data, run in names.items())
            raise InputError(f"{listed}. Give runs of one data set, that of the planned study")
        same_task(runs)
        compared, task = methods(runs), runs[0].evaluation.task
        primary = primary_of(run.evaluation for run in runs)
        metric = metric or ("auc" if primary == "auc" else "accuracy")
        if task == "multi-label" or (metric == "auc" and task != "binary"):
            cure = (
                CURE if task == "multi-label" else f"Give --accuracy beside it. {CURE}, for --auc"
            )
            raise InputError(f"runs of a {task} task do not tell a planned {metric}. {cure}")
        if absent := [run.name for run in runs if SPLIT not in run.predictions]:
            raise InputError(f"{absent[0]} has no {SPLIT} split. Give runs that were tested")
        found = SplitComparison(SPLIT, compared, compared[0], Settings.of(runs[0], runs[1:]))
        return _read(found, compared, metric)
    except InputError as error:
        raise InputError(f"--pilot: {error}") from error


def _known(variance: Variance | str) -> Variance:
    if isinstance(variance, str):
        raise InputError(f"{variance}. {CURE}")
    return variance


def _finished(folder: str | Path) -> Run:
    run = load_run(folder)
    if isinstance(run, str):
        raise InputError(f"{folder} has no result ({run}). Leave it out, or finish it")
    return run


def _read(found: SplitComparison, compared: Sequence[MethodRuns], metric: PlannedMetric) -> Pilot:
    for method in compared:
        if reason := found.reasons.get((method.name, metric)):
            raise InputError(f"the {metric} of {method.name} is undefined: {reason}. {CURE}")
    scores = [found.scores[method.name, metric] for method in compared]
    _, within, between, seed_sd = components(scores, found.units(metric))
    names = " and ".join(method.name for method in compared)
    first, why = found.per_run[0], "the pilot has no patient with several images"
    table, units, value = first.table, first.units, float(np.mean([each.mean for each in scores]))
    numbers: dict[str, tuple[float | None, str]] = {
        f"--{metric}": (value if metric == "auc" else 100 * value, f"of {names}"),
        "--seed-sd": (None, "no method of the pilot has two seeds"),
        "--correlation": (None, "the pilot is a single run"),
        "--images": (1.0, why),
        "--icc": (None, why),
    }
    if seed_sd is not None:
        seeds = (f"{len(m.runs)} seeds of {m.name}" for m in compared if len(m.runs) > 1)
        chance = "" if seed_sd else ", which differ no more than by chance on these images"
        numbers["--seed-sd"] = 100 * seed_sd, ", ".join(seeds) + chance
    if between is not None:
        # Networks of one method agree at least as much: less is chance.
        between = max(0.0, between)
        within = None if within is None else max(within, between)
        numbers["--correlation"] = between, names
    elif within is not None:
        # What `planning` takes networks of one method to have in common beyond those of two.
        other = max(0.0, (within - SAME_METHOD) / (1 - SAME_METHOD))
        numbers["--correlation"] = other, f"a little below {within:.2f}, that of seeds of {names}"
        within = None
    if units.grouped and len(table) > units.count:
        wrong = [decide(each.table.prob, table.task) != table.label for each in found.per_run]
        who = f"{units.count} patients of the pilot"
        numbers["--images"] = len(table) / units.count, who
        numbers["--icc"] = intraclass(np.array(wrong, np.float64), units.number), who
    if table.task == "binary":
        numbers["--prevalence"] = float(first.shares[first.positive]), f"{len(table)} images"
    return Pilot(numbers, within)
