"""How often intervals and p values over seeds are right, by simulation of methods that are equal.

    python benchmarks/coverage.py [--replicates 2000] [--seed 0]
    python benchmarks/coverage.py --quick    # few replicates, without a verdict

A run answers an item correctly if a normal latent value is positive: the accuracy of the run, minus
the difficulty of the item (SD 1.5, shared by all runs), plus what the method makes of the item (SD
0.3) and what the run makes of it (SD 0.7). Accuracies of runs spread over seeds as stated.

One table shows how often two equal methods differ with p below 0.05, and how often the interval of
a mean over seeds, of seen minus unseen and of the average over four data sets contains the truth.
All go through `medldr.evaluation.intervals.inference`. The bootstrap draws are replaced by a few
numbers with exactly the covariance that infinitely many draws have, so a replicate is cheap; rows
with "400 draws" use real ones. The exit code is 1 if any cell misses its limits, which the table
repeats.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.special import ndtri

from medldr.evaluation.intervals.bootstrap import group_weights
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import (
    Scores,
    average,
    inferred,
    of_difference,
    of_gap,
    of_mean,
)
from medldr.metrics import metric_facts

ACCURATE = metric_facts("accuracy")
DIFFICULTY, METHOD, RUN = 1.5, 0.3, 0.7
"""Standard deviations of the latent value: over items, methods x items, runs x items."""
LATENT = (DIFFICULTY**2 + METHOD**2 + RUN**2) ** 0.5
ACCURACY, UNSEEN = 0.75, 0.65
FALSE_POSITIVES = (1.0, 7.5)
COVERAGE, COVERAGE_OF_TWO = 90.0, 88.0
"""At least, in %; the second for a mean over two seeds."""
SETS = 4
DRAWS = 400
SEEDS = (2, 3, 5, 10)
CASES = {
    "240 items, hardly any spread": (240, (0.002, 0.002)),
    "240 items, seeds spread by 1.5 points": (240, (0.015, 0.015)),
    "240 items, seeds spread by 5 points": (240, (0.05, 0.05)),
    "2,000 items, seeds spread by 1 point": (2000, (0.01, 0.01)),
    "2,000 items, seeds spread by 5 points": (2000, (0.05, 0.05)),
    "240 items, spread by 7 against 1 point": (240, (0.07, 0.01)),
    "2,000 items, spread by 7 against 1 point": (2000, (0.07, 0.01)),
}
"""Number of test items, and the spread over seeds of the two methods."""
WITH_DRAWS = ("240 items, seeds spread by 5 points", "2,000 items, seeds spread by 5 points")


def accuracies(generator, k, spread, mean=ACCURACY):
    """What the runs of a method get right in an infinite test set: ``(k,)``."""
    return np.clip(mean + spread * generator.standard_normal(k), 0.001, 0.999)


def answers(generator, items, methods):
    """Right answers of the runs of some methods to the same items: ``(k, items)`` per method."""

    def normal(spread, *shape):
        return np.float32(spread) * generator.standard_normal(shape, dtype=np.float32)

    difficulty = normal(DIFFICULTY, items)
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


def false_positive(generator, items, spreads, k, weights=None):
    """Whether two equal methods differ."""
    truth = [accuracies(generator, k, spread) for spread in spreads]
    one, other = (scores(right, weights) for right in answers(generator, items, truth))
    return inferred(one.mean - other.mean, of_difference(one, other, items)).p < 0.05


def covers(found, truth):
    """Whether an interval contains the truth."""
    return found.low is not None and found.low <= truth <= found.high


def mean_covered(generator, items, spreads, k):
    """Whether the interval of a mean over seeds contains the mean over all seeds."""
    (right,) = answers(generator, items, [accuracies(generator, k, spreads[0])])
    one = scores(right)
    return covers(inferred(one.mean, of_mean(one, items), ACCURATE), ACCURACY)


def gap_covered(generator, items, spreads, k):
    """Whether the interval of seen minus unseen contains the truth.

    Half of the variance over seeds is shared by the two splits. A single network is asked for its
    own gap, several for that of the method.
    """
    spread = spreads[0] / 2**0.5
    shared = spread * generator.standard_normal(k)
    truth = [
        np.clip(accuracies(generator, k, spread, mean) + shared, 0.001, 0.999)
        for mean in (ACCURACY, UNSEEN)
    ]
    seen, unseen = (scores(answers(generator, items, [right])[0]) for right in truth)
    found = inferred(seen.mean - unseen.mean, of_gap(seen, unseen, (items, items)))
    return covers(found, float(truth[0][0] - truth[1][0]) if k == 1 else ACCURACY - UNSEEN)


def average_covered(generator, items, spreads, k):
    """Whether the interval of an average over data sets contains the truth."""
    means = ACCURACY + np.linspace(-0.1, 0.1, SETS)
    sets = []
    for mean in means:
        (right,) = answers(generator, items, [accuracies(generator, k, spreads[0], mean)])
        sets.append(scores(right))
    each = [Estimate(one.mean, variance=of_mean(one, items)) for one in sets]
    return covers(average(each, ACCURATE), float(means.mean()))


def plan():
    """The rows of the table: kind, case, numbers of seeds, what a replicate tells, its limits."""
    equal = {title: case for title, case in CASES.items() if case[1][0] == case[1][1]}

    def positives(k):
        return FALSE_POSITIVES

    def coverage(k):
        return COVERAGE, 100.0

    def coverage_of_mean(k):
        return COVERAGE_OF_TWO if k == 2 else COVERAGE, 100.0

    for title, case in CASES.items():
        yield "false positives", title, SEEDS, false_positive, case, positives
    for title in WITH_DRAWS:
        kind = f"false positives, {DRAWS} draws"
        yield kind, title, (2, 3), false_positive, CASES[title], positives
    for title, case in equal.items():
        yield "mean covered", title, SEEDS, mean_covered, case, coverage_of_mean
    for title, case in equal.items():
        yield "seen minus unseen covered", title, (1, 3), gap_covered, case, coverage
    for title, case in equal.items():
        yield f"average of {SETS} covered", title, SEEDS, average_covered, case, coverage


def measure(replicates, seed, judge):
    """Print the table row by row; the cells that miss their limits, if they are to be judged."""
    missed = []
    ks = (1, *SEEDS)
    columns = "".join(f"{f'k={k}':>12}" for k in ks)
    print(f"{'in % (standard error)':<70}{columns}  limits")
    for row, (kind, title, seeds, tells, (items, spreads), limits) in enumerate(plan()):
        shown = {}
        for k in seeds:
            generator = np.random.default_rng([seed, row, k])
            more = {}
            if "draws" in kind:  # the same in each replicate, as for one test set in medldr
                more["weights"] = np.hstack(list(group_weights(items, DRAWS, generator)))
            hits = [tells(generator, items, spreads, k, **more) for _ in range(replicates)]
            rate = float(np.mean(hits))
            error = (rate * (1 - rate) / replicates) ** 0.5
            least, most = limits(k)
            cell = f"{100 * rate:.1f} ({100 * error:.1f})"
            if judge and not least <= 100 * rate <= most:
                missed.append(f"{kind}, {title}, k={k}: {cell}, limits {least:g} to {most:g}")
                cell += "!"
            shown[k] = cell
        cells = "".join(f"{shown.get(k, ''):>12}" for k in ks)
        wanted = sorted({"{:g} to {:g}".format(*limits(k)) for k in seeds})
        print(f"{f'{kind}: {title}':<70}{cells}  {' or '.join(wanted)}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few replicates, without a verdict")
    parser.add_argument("--replicates", type=int, default=2000, help="per cell")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.quick:
        args.replicates = 3
    rows = list(plan())
    cells = sum(len(row[2]) for row in rows)
    print(f"{len(rows)} rows, {cells} cells of {args.replicates} replicates, seed {args.seed}")
    start = time.perf_counter()
    missed = measure(args.replicates, args.seed, judge=not args.quick)
    print(f"{time.perf_counter() - start:.0f} s")
    if args.quick:
        return 0
    print(f"{len(missed)} of {cells} cells miss their limits" + (":" if missed else ""))
    for cell in missed:
        print(f"  {cell}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
