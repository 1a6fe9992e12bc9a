"""How often the intervals of one run contain the truth, by simulation through `evaluate`.

    python benchmarks/single_run_coverage.py [--replicates 1000] [--seed 0]
    python benchmarks/single_run_coverage.py --quick    # few replicates, without a verdict

A score of an image is a normal number plus a distance if it shows the finding; its probability is
the calibrated one unless said otherwise. The truth is known from the distributions. Images of a
patient share half of their variance. Each row is a quantity that percentiles of the bootstrap get
wrong, or that they get right and that stays as it is. The exit code is 1 if any row covers the
truth in fewer than 90% of replicates.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import f1_score

from medldr.config import EvaluationConfig
from medldr.evaluation import predictions_of
from medldr.evaluation.intervals.bootstrap import percentiles
from medldr.evaluation.split_entry import SplitEntry
from medldr.evaluation.split_scores import SplitScores, thresholds_of

LEAST = 90.0
DRAWS = 400
CONFIG = EvaluationConfig(draws=DRAWS)


def table(generator, negatives, positives, distance, patients=0, split="test"):
    """Predictions of images with and without a finding, whose scores are `distance` apart.

    With patients, each has as many images, all with or all without the finding.
    """
    label = np.repeat([0, 1], [negatives, positives])
    noise, group = generator.standard_normal(len(label)), None
    if patients:
        number = np.arange(len(label)) * patients // len(label)
        shared = generator.standard_normal(patients)[number]
        noise, group = (noise + shared) / 2**0.5, [f"p{n}" for n in number]
    score = distance * (label - 0.5) + noise
    prob = expit(distance * score + np.log(positives / negatives))
    return predictions_of("binary", label, np.stack([1 - prob, prob], 1), group=group, split=split)


def shares(generator, share, images, patients=0):
    """Predictions of which a share is right, one class being as likely as the other."""
    right = generator.random(images) < share
    group = None
    if patients:
        number = np.arange(images) * patients // images
        level = norm.ppf(share) * 2**0.5 + generator.standard_normal(patients)[number]
        right, group = level + generator.standard_normal(images) > 0, [f"p{n}" for n in number]
    label = generator.integers(0, 2, images)
    decided = np.where(right, label, 1 - label)
    prob = np.where(decided == 1, 0.8, 0.2)
    return predictions_of("binary", label, np.stack([1 - prob, prob], 1), group=group)


def entry(test, val=None):
    """The entry of the test split in `evaluation.json`."""
    predictions = {"test": test} if val is None else {"val": val, "test": test}
    point, drawn, _ = thresholds_of(predictions, 1, CONFIG.specificity, draws=DRAWS)
    return SplitEntry(SplitScores(test, CONFIG.bins, 1, point, drawn=drawn), "test", CONFIG)


def area(distance):
    return float(norm.cdf(distance / 2**0.5))


def accuracy(images, share, patients=0):
    return lambda g: (entry(shares(g, share, images, patients)), "accuracy", share)


def recall(positives, distance):
    """Sensitivity where few images show the finding; a threshold of 0.5 is known."""
    negatives = 200
    cut = -np.log(positives / negatives) / distance
    truth = float(norm.sf(cut - distance / 2))
    return lambda g: (entry(table(g, negatives, positives, distance)), "sensitivity", truth)


def auc(negatives, positives, distance, patients=0):
    truth = area(distance)
    return lambda g: (entry(table(g, negatives, positives, distance, patients)), "auc", truth)


def at_specificity(validation, test, distance, metric):
    """Sensitivity at the threshold that has the wanted specificity in all negatives."""
    wanted = CONFIG.specificity
    cut = norm.ppf(wanted) - distance / 2
    truth = float(norm.sf(cut - distance / 2)) if metric.startswith("sens") else wanted

    def one(generator):
        val = table(generator, *validation, distance, split="val")
        return entry(table(generator, *test, distance), val), metric, truth

    return one


def other(metric, images):
    """Metrics of whole tables, whose truth is that of a very large table."""
    whole = table(np.random.default_rng(1), 400_000, 200_000, 1.5)
    positive = whole.prob[:, 1]
    truth = {
        "macro_f1": f1_score(whole.label, positive > 0.5, average="macro"),
        "brier": float(((positive - whole.label) ** 2).mean()),
        "nll": float(-np.log(np.where(whole.label == 1, positive, 1 - positive)).mean()),
    }[metric]
    return lambda g: (entry(table(g, images * 2 // 3, images // 3, 1.5)), metric, truth)


ROWS = {
    "accuracy 75%, 240 images": accuracy(240, 0.75),
    "accuracy 97%, 100 images": accuracy(100, 0.97),
    "accuracy 99.5%, 60 images": accuracy(60, 0.995),
    "sensitivity, 15 positives": recall(15, 2.0),
    "sensitivity, 40 positives": recall(40, 2.5),
    "AUC 0.98, 30 positives": auc(100, 30, 2.9),
    "AUC 0.92, 10 positives": auc(100, 10, 2.0),
    "AUC 0.76, 80 positives": auc(160, 80, 1.0),
    "sensitivity at 90% specificity, 60 + 200 images": at_specificity(
        (40, 20), (130, 70), 1.5, "sensitivity_at_specificity"
    ),
    "sensitivity at 90% specificity, 240 + 600 images": at_specificity(
        (160, 80), (400, 200), 1.5, "sensitivity_at_specificity"
    ),
    "specificity at that threshold, 240 + 600 images": at_specificity(
        (160, 80), (400, 200), 1.5, "specificity_at_threshold"
    ),
    **{
        f"accuracy 75%, {patients} patients of 20 images": accuracy(20 * patients, 0.75, patients)
        for patients in (3, 5, 10, 20, 50)
    },
    "AUC 0.86, 20 patients of 10 images": auc(100, 100, 1.5, 20),
    "macro F1, 240 images": other("macro_f1", 240),
    "Brier score, 240 images": other("brier", 240),
    "NLL, 240 images": other("nll", 240),
}


def measure(replicates, seed, judge):
    """Print the table row by row; the rows that miss the limit, if they are to be judged."""
    missed = []
    print(f"{'covered in % (standard error)':<52}{'new':>13}{'percentiles':>14}{'none':>7}")
    for place, (title, simulate) in enumerate(ROWS.items()):
        generator = np.random.default_rng([seed, place])
        hits, old, none = [], [], 0
        for _ in range(replicates):
            found, name, truth = simulate(generator)
            number = found.number(name)
            draws = found.draws[name]
            low, high = percentiles(draws[~np.isnan(draws)])
            old.append(low <= truth <= high)
            if number["low"] is None:
                none += 1
            else:
                hits.append(number["low"] <= truth <= number["high"])
        rate = float(np.mean(hits))
        error = (rate * (1 - rate) / len(hits)) ** 0.5
        mark = ""
        if judge and 100 * rate < LEAST:
            missed.append(title)
            mark = "!"
        cells = f"{f'{100 * rate:.1f} ({100 * error:.1f}){mark}':>13}{100 * np.mean(old):>14.1f}"
        print(f"{title:<52}{cells}{none:>7}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few replicates, without a verdict")
    parser.add_argument("--replicates", type=int, default=1000, help="per row")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.quick:
        args.replicates = 3
    print(f"{len(ROWS)} rows of {args.replicates} replicates, {DRAWS} draws, seed {args.seed}")
    print("nominal 95, at least 90; none: no interval was given\n")
    start = time.perf_counter()
    missed = measure(args.replicates, args.seed, judge=not args.quick)
    print(f"{time.perf_counter() - start:.0f} s")
    for title in missed:
        print(f"  below {LEAST:g}: {title}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
