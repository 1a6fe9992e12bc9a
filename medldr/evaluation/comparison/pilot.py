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
from typing import Literal, NamedTuple

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
        (0.0481, 0.2308, 0.0)
    """
    alone = [_known(of_mean(each, units)) for each in scores]
    counts = [len(each.values) for each in scores]
    own = [one.units[0].variance for one in alone]
    networks = [
        unit + (k - 1) * one.noise for unit, k, one in zip(own, counts, alone, strict=True)
    ]
    network = float(np.mean(networks))
    if network <= 0:
        raise InputError(f"every bootstrap draw gives the same number. {CURE}")
    within = between = seed_sd = None
    several = [m for m, one in enumerate(alone) if one.seeds]
    if several:
        shared = sum(own[m] - alone[m].noise for m in several)
        within = shared / sum(networks[m] for m in several)
        spread = sum(
            (counts[m] - 1) * counts[m] * (alone[m].seeds[0].variance - alone[m].noise)
            for m in several
        )
        seed_sd = max(0.0, spread / sum(counts[m] - 1 for m in several)) ** 0.5
    pairs = list(combinations(range(len(scores)), 2))
    if pairs:
        apart = [
            own[m] + own[n] - _known(of_difference(scores[m], scores[n], units)).units[0].variance
            for m, n in pairs
        ]
        between = float(np.mean(apart)) / 2 / network
    return Components(network, within, between, seed_sd)


def intraclass(errors: Array, units: NDArray[np.int64]) -> float:
    """How much errors on images of one patient resemble each other, from 0 to 1.

    Args:
        errors: ``(runs, N)`` of 0 and 1, at least one of each.
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
        metric: What it was read for.
        numbers: Each as `medldr plan` takes it, or None, and where it comes from or why it is not
            known: by the name of the option, and ``value`` for that of the metric.
        within: Correlation of two networks of one method, beside that of two methods.
    """

    metric: PlannedMetric
    numbers: dict[str, tuple[float | None, str]]
    within: float | None


def read_pilot(folders: Sequence[Path], metric: PlannedMetric | None) -> Pilot:
    """What finished runs of one data set tell of a study that is planned.

    Args:
        folders: Their folders.
        metric: The metric of the plan; None: accuracy.

    Raises:
        InputError: If a run has no result, they are not of one data set, or tell nothing.
    """
    runs = [_finished(folder) for folder in folders]
    names = {run.facts.data.name: run.name for run in runs}
    if len(names) > 1:
        (one, first), (other, second), *_ = names.items()
        raise InputError(
            f"--pilot: {first} is of the data set {one} and {second} of {other}. Give runs of one "
            "data set, that which resembles the planned study most"
        )
    metric = metric or "accuracy"
    try:
        same_task(runs)
        compared = methods(runs)
        if absent := [run.name for run in runs if SPLIT not in run.predictions]:
            raise InputError(f"{absent[0]} has no {SPLIT} split. Give runs that were tested")
        task = runs[0].evaluation.task
        if task == "multi-label" or (metric == "auc" and task != "binary"):
            raise InputError(
                f"{'an AUC' if metric == 'auc' else 'an accuracy'} is not planned from runs of a "
                f"{task} task. Give --accuracy, or plan one finding without --pilot"
            )
        found = SplitComparison(SPLIT, compared, compared[0], Settings.of(runs[0], runs[1:]))
        return _read(found, compared, metric)
    except InputError as error:
        raise InputError(f"--pilot: {error}") from error


def _known(variance: Variance | str) -> Variance:
    if isinstance(variance, str):
        raise InputError(f"{variance}. {CURE}")
    return variance


def _finished(folder: Path) -> Run:
    run = load_run(folder)
    if isinstance(run, str):
        raise InputError(f"--pilot: {folder} has no result ({run}). Leave it out, or finish it")
    return run


def _read(found: SplitComparison, compared: Sequence[MethodRuns], metric: PlannedMetric) -> Pilot:
    unclear = [(method.name, found.reasons.get((method.name, metric))) for method in compared]
    for name, reason in unclear:
        if reason:
            raise InputError(f"the {metric} of {name} is undefined: {reason}. {CURE}")
    scores = [found.scores[method.name, metric] for method in compared]
    of_metric = components(scores, found.units(metric))
    first, names = found.per_run[0], " and ".join(method.name for method in compared)
    several = [method for method in compared if len(method.runs) > 1]
    seeds = ", ".join(f"{len(method.runs)} seeds of {method.name}" for method in several)
    numbers: dict[str, tuple[float | None, str]] = {
        "value": (float(np.mean([each.mean for each in scores])), f"of {names}"),
        "seed_sd": (None, "no method of the pilot has two seeds"),
    }
    if of_metric.seed_sd is not None:
        numbers["seed_sd"] = 100 * of_metric.seed_sd, seeds
    within = of_metric.within
    if of_metric.between is not None:
        # Networks of one method agree at least as much: less is chance.
        between = max(0.0, of_metric.between)
        within = None if within is None else max(within, between)
        numbers["correlation"] = between, names
    elif within is not None:
        # What `planning` takes networks of one method to have in common beyond those of two.
        other = max(0.0, (within - SAME_METHOD) / (1 - SAME_METHOD))
        numbers["correlation"] = other, f"a little below {within:.2f}, that of seeds of {names}"
        within = None
    else:
        numbers["correlation"] = None, "the pilot is a single run"
    units, table = first.units, first.table
    images = len(table) / units.count
    why = "the pilot has no patient with several images"
    if units.grouped and images > 1:
        wrong = [decide(each.table.prob, table.task) != table.label for each in found.per_run]
        errors = np.array([each for each in wrong if each.any() and not each.all()], np.float64)
        who = f"{units.count} patients of the pilot"
        numbers["images"] = images, who
        if len(errors):
            numbers["icc"] = intraclass(errors, units.number), who
    else:
        numbers["images"] = 1.0, why
    numbers.setdefault("icc", (None, why))
    if table.task == "binary":
        share = float(first.shares[first.positive])
        numbers["prevalence"] = share, f"{len(table)} images of the pilot"
    return Pilot(metric, numbers, within)
