"""How often intervals and p values over seeds are right, by simulation of methods that are equal.

    python benchmarks/coverage.py [--replicates 1000] [--seed 0] [--only TEXT]
    python benchmarks/coverage.py --quick    # 20 replicates: are the numbers those of today's way?

A run answers an item correctly if a normal latent value is positive: the accuracy of the run, minus
the difficulty of the item (SD 1.5, shared by all runs), plus what the method makes of the item (SD
0.3) and what the run makes of it (SD 0.7). Accuracies of runs spread over seeds as stated.

Every cell is measured twice in the same replicates: as it was done before (Satterthwaite's degrees
of freedom, a raw scale, test sets and seeds of several columns taken as unrelated, the seeds that
chose a setting reported) and as it is done now, by the functions that `compare` and reports call.
The table shows how often two equal methods differ with p below 0.05, or how often an interval
contains the truth. "none" is a number that has no p, or no interval, any more. The exit code is 1
if a cell of today misses its limits.

Where a cell needs no test images of its own, the bootstrap draws are replaced by a few numbers with
exactly the covariance that infinitely many draws have; the others use real ones. `--quick` compares
the widths of the two ways: its exit code is 1 if a row's are as they were before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from medldr.config import EvaluationConfig
from medldr.evaluation import evaluate, predictions_of
from medldr.evaluation.comparison.averages import AveragedSet, metric_scores
from medldr.evaluation.comparison.comparison import Comparison, Difference
from medldr.evaluation.comparison.runs import Run
from medldr.evaluation.intervals.bootstrap import group_weights
from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.evaluation.intervals.inference import (
    Scores,
    average,
    inferred,
    of_difference,
    of_gap,
    of_mean,
)
from medldr.evaluation.predictions.log_odds import log_odds
from medldr.evaluation.setting_choice import choose_setting
from medldr.evaluation.split_entry import SplitEntry
from medldr.evaluation.split_scores import SplitScores
from medldr.folders.evaluation_parts import OperatingPoint
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metric import Metric
from medldr.metrics import metric_facts

ACCURATE = metric_facts("accuracy")
RAW = Metric("raw", "Raw", "")
"""A metric from 0 to 1 whose interval is made on no other scale."""
DIFFICULTY, METHOD, RUN = 1.5, 0.3, 0.7
"""Standard deviations of the latent value: over items, methods x items, runs x items."""
LATENT = (DIFFICULTY**2 + METHOD**2 + RUN**2) ** 0.5
ACCURACY, UNSEEN = 0.75, 0.65
POSITIVES, COVERED = (0.0, 7.5), (90.0, 100.0)
"""Limits in %: of p below 0.05 where nothing differs, and of the truth inside the interval."""
DRAWS = 400
UNCHANGED = 0.02
"""Two ways whose intervals are as wide as this, relative to each other, are one way."""


class Told(NamedTuple):
    """What one replicate tells: whether it counts, and a size by which two ways are told apart.

    That is the width of the interval, or how much too high a mean is; NaN where there is neither.
    """

    hit: float
    width: float


NONE = Told(np.nan, np.nan)


@dataclass(frozen=True)
class Row:
    """One row: its name, what a replicate does, the numbers of seeds and the limits in %."""

    name: str
    tells: Callable[..., tuple[Told, Told]]
    args: tuple = ()
    seeds: tuple[int, ...] = (3, 5, 10)
    limits: tuple[float, float] = COVERED
    changed: bool = True
    slow: bool = False


def covers(found, truth):
    """Whether an interval contains the truth."""
    if found.low is None:
        return NONE
    return Told(found.low <= truth <= found.high, found.high - found.low)


def positive(found, p=...):
    """Whether equal methods differ."""
    p = found.p if p is ... else p
    return NONE if p is None else Told(p < 0.05, found.high - found.low)


def welch(one, other, items):
    """The variance of a difference as it was: seeds of each method with their own df."""
    now = of_difference(one, other, items)
    seeds = tuple(Source(s.values.var(ddof=1) / len(s.values), len(s.values) - 1)
                  for s in (one, other))  # fmt: skip
    return Variance(now.units, seeds, now.noise, 3)


def accuracies(generator, k, spread, mean=ACCURACY):
    """What the runs of a method get right in an infinite test set: ``(k,)``."""
    return np.clip(mean + spread * generator.standard_normal(k), 0.001, 0.999)


def answers(generator, items, methods, patients=0):
    """Right answers of the runs of some methods to the same items: ``(k, items)`` per method.

    With patients, half of the variance of the difficulty is theirs.
    """

    def normal(spread, *shape):
        return np.float32(spread) * generator.standard_normal(shape, dtype=np.float32)

    difficulty = normal(DIFFICULTY, items)
    if patients:
        shared = normal(DIFFICULTY, patients)[np.arange(items) % patients]
        difficulty = (difficulty + shared) / np.float32(2**0.5)
    found = []
    for right in methods:
        level = (LATENT * ndtri(right)).astype(np.float32)[:, None]
        latent = level + (normal(METHOD, items) - difficulty) + normal(RUN, len(right), items)
        found.append((latent > 0).astype(np.float64))
    return found


def scores(right, weights=None):
    """Accuracy of each run with its draws; exact ones in place of real ones without weights."""
    mean = right.mean(axis=1, keepdims=True)
    items = right.shape[1]
    draws = mean + (right - mean) / items**0.5 if weights is None else right @ weights / items
    return Scores(mean[:, 0], draws)


# One data set: two methods, a mean, seen minus unseen.


def two_methods(generator, k, items, spreads, draws=0):
    """Two equal methods."""
    truth = [accuracies(generator, k, spread) for spread in spreads]
    weights = np.hstack(list(group_weights(items, draws, generator))) if draws else None
    one, other = (scores(right, weights) for right in answers(generator, items, truth))
    gain, now = one.mean - other.mean, of_difference(one, other, items)
    return positive(inferred(gain, welch(one, other, items))), positive(inferred(gain, now))


def mean_of_seeds(generator, k, items, spread, truth=ACCURACY, patients=0):
    """A mean over seeds, of an accuracy or of another share."""
    level = ndtri(truth)  # the mean over seeds of an accuracy that spreads on the latent scale
    runs = norm.cdf(level * (1 + spread**2) ** 0.5 + spread * generator.standard_normal(k))
    (right,) = answers(generator, items, [runs], patients)
    if patients:
        right = right.reshape(k, -1, patients).mean(axis=1)
    one, units = scores(right), patients or items
    now = of_mean(one, units)
    before, after = (inferred(one.mean, now, metric) for metric in (RAW, ACCURATE))
    return covers(before, truth), covers(after, truth)


def gap(generator, k, items, spread):
    """Seen minus unseen; half of the variance over seeds is shared by the two splits."""
    own = spread / 2**0.5
    shared = own * generator.standard_normal(k)
    truth = [np.clip(accuracies(generator, k, own, m) + shared, 0.001, 0.999)
             for m in (ACCURACY, UNSEEN)]  # fmt: skip
    seen, unseen = (scores(answers(generator, items, [right])[0]) for right in truth)
    found = inferred(seen.mean - unseen.mean, of_gap(seen, unseen, (items, items)))
    told = covers(found, float(truth[0][0] - truth[1][0]) if k == 1 else ACCURACY - UNSEEN)
    return told, told


# Averages over columns and domains.


def run(right, seed, name, patients=0):
    """A run in memory whose test split has these right answers."""
    prob = np.where(right > 0, 0.2, 0.8)
    group = [f"p{n % patients}" for n in range(len(right))] if patients else None
    test = predictions_of("binary", [0] * len(right), np.stack([1 - prob, prob], 1), group=group)
    record = EvaluationRecord.model_validate(
        {
            "task": "binary",
            "class_names": ["0", "1"],
            "splits": {},
            "intervals": {"draws": DRAWS, "seed": 0},
        }
    )
    return Run(f"{name}-{seed}", name, name, seed, {"test": test}, record, None)


def same_images(generator, k, columns, items, patients, spread):
    """The mean of a method over columns that differ in how its networks were trained."""
    truth = [accuracies(generator, k, spread) for _ in range(columns)]
    rights = answers(generator, items, truth, patients)
    runs = [[run(of, seed, "m", patients) for seed, of in enumerate(each)] for each in rights]
    sets = [AveragedSet(of, "test", weight=1 / columns, data="d") for of in runs]
    alone = [metric_scores([each._replace(weight=1.0)], "accuracy") for each in sets]
    apart = [Estimate(s.mean, variance=of_mean(s, units)) for s, units in alone]
    joint, units = metric_scores(sets, "accuracy")
    now = inferred(joint.mean, of_mean(joint, units), ACCURATE)
    return covers(average(apart, ACCURATE), ACCURACY), covers(now, ACCURACY)


def lucky_seeds(generator, k, domains, shared, spreads=(0.04, 0.04)):
    """Two equal methods on held-out domains, between which a seed's luck carries over in part."""
    methods = []
    for spread in spreads:
        luck = shared**0.5 * generator.standard_normal((k, 1))
        own = (1 - shared) ** 0.5 * generator.standard_normal((k, domains))
        methods.append(ACCURACY + spread * (luck + own))
    unit = 0.02 * generator.standard_normal((2, domains))  # what the test images make of each
    values = [of + noise for of, noise in zip(methods, unit, strict=True)]
    variances = []
    for d in range(domains):
        each = [of[:, d].var(ddof=1) / k for of in values]
        seeds = tuple(Source(v, k - 1) for v in each)
        variances.append(Variance((Source(2 * 0.02**2, 499),), seeds, 0.0, k))
    means = [of.mean(axis=1) for of in values]
    gains = [
        Estimate(float(a - b), variance=variance)
        for a, b, variance in zip(*(of.mean(axis=0) for of in values), variances, strict=True)
    ]
    return positive(average(gains)), positive(average(gains, seeds=means))


# Choices among settings, and folds.


def searched(generator, k, settings, items, spread, against=False):
    """The best of equal settings by validation: the seeds that chose it, and fresh ones.

    A seed's luck is the same on validation and on the test images.

    Args:
        settings: How many there are.
        items: Of validation, and of the test set.
        spread: Of accuracies over seeds.
        against: Whether it is compared with a method that was not searched, in place of its mean.
    """
    level = accuracies(generator, (settings, k), spread)
    val = generator.binomial(items, level) / items
    best = choose_setting({n: dict(enumerate(of)) for n, of in enumerate(val.tolist())}).setting
    truth = [level[best], accuracies(generator, k, spread), accuracies(generator, k, spread)]
    own, fresh, reference = map(scores, answers(generator, items, truth))
    told = []
    for of in (own, fresh):
        gain, variance = of.mean - reference.mean, of_difference(of, reference, items)
        if against:
            hit = inferred(gain, variance).p < 0.05
        else:
            found = inferred(of.mean, of_mean(of, items), ACCURATE)
            hit, gain = covers(found, ACCURACY).hit, of.mean - ACCURACY
        told.append(Told(hit, gain))
    return tuple(told)


def folds(generator, k, items, count):
    """Two equal methods over pooled folds, whose networks share most of their training images.

    What a method learns of a training set is the same for all of its seeds; those of two folds
    share (count - 2) / (count - 1) of their images.
    """
    share = (count - 2) / (count - 1)
    rights = []
    for _ in range(2):
        common = share**0.5 * generator.standard_normal()
        own = (1 - share) ** 0.5 * generator.standard_normal(count)
        level = ACCURACY + 0.015 * (common + own) + 0.01 * generator.standard_normal((k, count))
        rights.append(np.clip(level, 0.001, 0.999))
    one, other = (
        scores(np.hstack(of)) for of in zip(
            *(answers(generator, items // count, [r[:, f] for r in rights]) for f in range(count)),
            strict=True,
        )
    )  # fmt: skip
    found = inferred(one.mean - other.mean, of_difference(one, other, items))
    compared = Difference("test", None, "accuracy", "b", "a", found, found.p, k)
    pooled = Comparison("binary", "a", (), {}, differences=(compared,)).without_tests("folds")
    (now,) = pooled.differences
    return positive(found), positive(now.estimate)


# Numbers of one run, by `evaluate`.


def scored(label, prob, group=None, metric="accuracy", specificity=0.9):
    """A metric of the test split of one run, as an estimate."""
    val = np.linspace(0.01, 0.99, 200)
    tables = {
        "val": predictions_of("binary", [0] * 200, np.stack([1 - val, val], 1), split="val"),
        "test": predictions_of("binary", label, np.stack([1 - prob, prob], 1), group=group),
    }
    config = EvaluationConfig(draws=DRAWS, specificity=specificity, splits=("val", "test"))
    found = evaluate(tables, config)["splits"]["test"]["metrics"][metric]
    return Estimate(found["value"], low=found["low"], high=found["high"])


def ratio(generator, _, metric, patients, at_zero=False):
    """A likelihood ratio at a threshold of 0.9: true rates .7 and .1."""
    label = np.repeat([0, 1], 150)
    level = np.where(label == 1, norm.ppf(0.7), norm.ppf(0.1))
    noise, group = generator.standard_normal(300), None
    if patients:
        number = np.arange(300) * patients // 300
        noise = (noise + generator.standard_normal(patients)[number]) / 2**0.5
        group = [f"p{n}" for n in number]
    called = level + noise > 0
    found = scored(label, np.where(called, 0.95, 0.5), group, metric, 0.9)
    truth = 7.0 if metric == "lr_positive" else 0.3 / 0.9
    if found.low is None:
        return NONE, NONE
    # As it was: t on the scale of the ratio itself.
    half = found.mean * np.log(found.high / found.low) / 2
    raw = Estimate(found.mean, low=max(0.0, found.mean - half), high=found.mean + half)
    told = starts_at_zero if at_zero else lambda of: covers(of, truth)
    return told(raw), told(found)


def of_patients(generator, _, patients, images, metric, true):
    """A metric per patient, whose images share half of the variance of their score.

    As it was, only images were scored: half of a patient's noise is their own, so their metric is
    another one.
    """
    label = np.repeat(np.arange(patients) % 2, images)
    number = np.repeat(np.arange(patients), images)
    noise = generator.standard_normal(patients)[number] + generator.standard_normal(len(label))
    prob = expit(2.0 * (label - 0.5) + noise / 2**0.5)
    table = predictions_of(
        "binary", label, np.stack([1 - prob, prob], 1), group=[f"p{n}" for n in number]
    )
    entry = evaluate({"test": table}, EvaluationConfig(draws=DRAWS, aggregate="mean"))
    entry = entry["splits"]["test"]
    found = [of["metrics"][metric] for of in (entry, entry["by_group"])]
    ends = [Estimate(of["value"], low=of["low"], high=of["high"]) for of in found]
    return tuple(covers(each, true)._replace(width=each.mean) for each in ends)


def true_of_patients(images, metric, patients=200_000):
    """The metric per patient of very many."""
    generator = np.random.default_rng(1)
    label = np.arange(patients) % 2
    shared = generator.standard_normal(len(label))[:, None]
    noise = shared + generator.standard_normal((len(label), images))
    prob = expit(2.0 * (label - 0.5)[:, None] + noise / 2**0.5).mean(axis=1)
    if metric == "accuracy":
        return float(((prob > 0.5) == label).mean())
    return float(roc_auc_score(label, prob))


def confident(generator, _):
    """Whether the AUC of networks whose probabilities are all 1 is below that of their logits."""
    gap = 38 + np.sort(generator.exponential(20, 10))
    label = np.arange(10) >= 4
    logits = np.stack([np.zeros(10), gap], 1)
    prob = np.exp(logits - np.logaddexp(0, gap)[:, None])
    table = predictions_of("binary", label.astype(int), prob)
    known = replace(table, log_odds=log_odds(logits, "binary"))
    config = EvaluationConfig(draws=100)
    areas = [evaluate({"test": of}, config)["splits"]["test"]["metrics"]["auc"]["value"]
             for of in (table, known)]  # fmt: skip
    return tuple(Told(area < 1, area) for area in areas)


def starts_at_zero(found):
    """Whether an interval says nothing at its lower end."""
    return Told(found.low <= 0, found.high - found.low)


def collapsed(generator, _):
    """Whether the balanced accuracy of a network that predicts one class has a CI of no width."""
    label = generator.integers(0, 3, 90)
    prob = generator.dirichlet(np.ones(3), 90) * 0.2 + np.array([0.8, 0, 0])
    group = [f"p{n % 30}" for n in range(90)]
    table = predictions_of("multi-class", label, prob, group=group)
    entry = SplitEntry(
        SplitScores(table, 15, 1, OperatingPoint()), "test", EvaluationConfig(draws=DRAWS)
    )
    half = 2 * float(entry.draws["balanced_accuracy"].std())
    now = entry.number("balanced_accuracy")
    width = np.nan if now["low"] is None else now["high"] - now["low"]
    # As it was: ends that are not exactly equal.
    return Told(0 < half < 1e-12, half), Told(width < 1e-12, width)


def calibration_error(generator, k):
    """Whether the ECE of a method has a CI in a table of held-out domains."""
    right, *_ = answers(generator, 123, [accuracies(generator, k, 0.015)])
    runs = [run(of, seed, "m") for seed, of in enumerate(right)]
    drawn = metric_scores([AveragedSet(runs, "test")], "ece")
    return Told(1.0, 1.0), NONE if drawn is None else Told(1.0, 1.0)


def plan():
    """The rows of the table."""
    cases = {
        "240 items, hardly any spread": (240, (0.002, 0.002)),
        "240 items, seeds spread by 1.5 points": (240, (0.015, 0.015)),
        "240 items, seeds spread by 5 points": (240, (0.05, 0.05)),
        "2,000 items, seeds spread by 1 point": (2000, (0.01, 0.01)),
        "2,000 items, seeds spread by 5 points": (2000, (0.05, 0.05)),
        "2,000 items, spread by 4 against 1 point": (2000, (0.04, 0.01)),
        "2,000 items, spread by 7 against 1 point": (2000, (0.07, 0.01)),
    }
    for title, case in cases.items():
        seeds = (2, 3, 5, 10)
        yield Row(f"false positives: {title}", two_methods, case, seeds, POSITIVES)
    title = "240 items, seeds spread by 5 points"
    yield Row(f"false positives, {DRAWS} draws: {title}", two_methods, (*cases[title], DRAWS), (3,),
              POSITIVES)  # fmt: skip
    for truth in (0.75, 0.95, 0.02, 0.985):
        title = f"mean covered: a share of {truth:.1%}, 200 items, seeds spread"
        yield Row(title, mean_of_seeds, (200, 0.15, truth), changed=truth != 0.75)
    yield Row("mean covered: a share of 95%, 40 patients", mean_of_seeds, (400, 0.15, 0.95, 40))
    for title, (items, spreads) in cases.items():
        if spreads[0] == spreads[1]:
            name = f"seen minus unseen covered: {title}"
            yield Row(name, gap, (items, spreads[0]), (1, 3), COVERED, changed=False)
    for columns, patients in ((2, 0), (4, 0), (4, 10)):
        where = f"{patients} slides" if patients else "123 images"
        name = f"average of {columns} columns covered: the same {where}"
        yield Row(name, same_images, (columns, 123 if not patients else 400, patients, 0.015), (3,),
                  (92.0, 100.0))  # fmt: skip
    for shared in (0.0, 0.3, 0.6, 1.0):
        name = f"false positives over 4 domains: {shared:.0%} of a seed's luck is shared"
        yield Row(name, lucky_seeds, (4, shared), (3, 5), POSITIVES, changed=shared > 0.5)
    for settings in (5, 20):
        name = f"best of {settings} equal settings covered: fresh seeds"
        yield Row(name, searched, (settings, 240, 0.05), (3,))
        name = f"false positives: best of {settings} equal settings against an unsearched method"
        yield Row(name, searched, (settings, 240, 0.05, True), (3,), POSITIVES)
    yield Row("false positives: 5 pooled folds", folds, (250, 5), (3,), (0.0, 0.0))
    for metric, name in (("lr_positive", "LR+"), ("lr_negative", "LR−")):
        for patients in (0, 30):
            where = f"300 images of {patients} patients" if patients else "300 images"
            yield Row(f"{name} covered: {where}", ratio, (metric, patients), (1,),
                      changed=bool(patients), slow=True)  # fmt: skip
        name = f"{name} has a CI from 0: 300 images of 8 patients"
        yield Row(name, ratio, (metric, 8, True), (1,), (0.0, 0.0), slow=True)
    for metric in ("accuracy", "auc"):
        true = true_of_patients(5, metric)
        name = f"{metric} per patient covered: 60 patients of 5 images"
        yield Row(name, of_patients, (60, 5, metric, true), (1,), slow=True)
    name = "AUC below that of the logits, whose gaps are above 38"
    yield Row(name, confident, (), (1,), (0.0, 0.0), slow=True)
    yield Row("balanced accuracy of one predicted class has a CI of no width", collapsed, (), (1,),
              (0.0, 0.0), slow=True)  # fmt: skip
    yield Row("ECE over held-out domains has a CI", calibration_error, (), (3,), (0.0, 0.0))


def measured(row, k, replicates, seed, number):
    """Rates in % with their standard errors, and mean widths, before and now."""
    generator = np.random.default_rng([seed, number, k])
    replicates = max(20, replicates // 4) if row.slow else replicates
    told = np.array([row.tells(generator, k, *row.args) for _ in range(replicates)], float)
    out = []
    for hits, widths in told.transpose(1, 2, 0):
        known = hits[~np.isnan(hits)]
        rate = float(known.mean()) if len(known) else np.nan
        error = (rate * (1 - rate) / len(known)) ** 0.5 if len(known) else np.nan
        width = np.nan if np.isnan(widths).all() else float(np.nanmean(widths))
        out.append((100 * rate, 100 * error, width))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="20 replicates, widths alone judged")
    parser.add_argument("--replicates", type=int, default=1000, help="per cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    args = parser.parse_args()
    replicates = 20 if args.quick else args.replicates
    rows = [row for row in plan() if args.only in row.name]
    cells = sum(len(row.seeds) for row in rows)
    print(f"{len(rows)} rows, {cells} cells of {replicates} replicates, seed {args.seed}")
    print(f"{'in % (standard error)':<76}{'seeds':>6}{'before':>14}{'now':>14}  limits")
    start, missed = time.perf_counter(), []
    for number, row in enumerate(rows):
        alike = []
        for k in row.seeds:
            before, now = measured(row, k, replicates, args.seed, number)
            shown = ["none" if np.isnan(r) else f"{r:.1f} ({e:.1f})" for r, e, _ in (before, now)]
            low, high = row.limits
            wrong = not (np.isnan(now[0]) or low <= now[0] <= high)
            alike.append(abs(now[2] - before[2]) < UNCHANGED * abs(before[2]))  # none is not alike
            if wrong and not args.quick:
                missed.append(f"{row.name}, k={k}: {shown[1]}, limits {low:g} to {high:g}")
            mark = "!" if wrong and not args.quick else ""
            print(f"{row.name:<76}{k:>6}{shown[0]:>14}{shown[1] + mark:>14}  {low:g} to {high:g}",
                  flush=True)  # fmt: skip
        if args.quick and row.changed and all(alike):
            missed.append(f"{row.name}: intervals are as they were before")
    print(f"{time.perf_counter() - start:.0f} s")
    print(f"{len(missed)} of {cells} cells miss their limits" + (":" if missed else ""))
    for cell in missed:
        print(f"  {cell}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
