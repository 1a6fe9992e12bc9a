"""Whether the probabilities can be trusted: log loss, Brier score, calibration error.

Two calibration errors exist and are often confused; each has its own name here:

``ece`` (definition "top-label", all single-label tasks)
    The probability of the predicted class against how often the prediction is correct.
``ece_positive`` (definition "positive-class", binary tasks, in addition to the first)
    The probability of the positive class against how often the item is positive. Multi-label
    tasks have only this one, per label and averaged, under the name ``ece``.

Bins have equal width; each is open below and closed above, the first closed on both sides, so
that probabilities of exactly 0 and 1 count.

Source:
    Guo et al. 2017 (equal-width bins), with the first bin closed; Brier 1950.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, mean_defined, ratio, rows
from medldr.types import Task

SMALLEST = float(np.finfo(np.float64).tiny)
"""Replaces a probability of zero in the log loss, which is then 708 instead of infinite."""
NOISE_OUTCOMES = 20_000_000
"""Outcomes that are drawn for one noise floor, about 0.2 seconds of work."""


def definition(task: Task) -> str:
    """Which calibration error ``ece`` is."""
    return "positive-class" if task == "multi-label" else "top-label"


def bin_of(prob: Array, bins: int) -> NDArray[np.int64]:
    """Number of the bin of each probability.

    Example:
        >>> bin_of(np.array([0.0, 0.1, 0.5, 0.51, 1.0]), 2).tolist()
        [0, 0, 0, 1, 1]
    """
    inner = np.arange(1, bins) / bins
    return np.searchsorted(inner, prob, side="left").astype(np.int64)


def likelihoods(items: Items) -> Sums:
    """``nll`` and ``brier`` of any task."""
    if items.task == "multi-label":
        return label_probability_sums(items.known, items.prob)
    return probability_sums(items.number, items.prob, items.task)


def decided_error(items: Items) -> Sums:
    """``ece`` of any task; see the module for which of the two errors that is."""
    if items.task == "multi-label":
        return label_calibration_error(items.known, items.prob, items.bins)
    confidence, right = top_label(items.number, items.prob, items.task)
    return calibration_error("ece", confidence, right, items.bins)


def positive_error(items: Items) -> Sums:
    """``ece_positive`` of a binary task."""
    truth = (items.number == items.positive).astype(np.float64)
    return calibration_error("ece_positive", items.prob[:, items.positive], truth, items.bins)


def probability_sums(label: NDArray[np.int64], prob: Array, task: Task) -> Sums:
    """``nll`` and ``brier`` of single-label tasks.

    ``nll`` is the mean of ``-ln p(label)``. ``brier`` is the mean over items of the squared error
    summed over classes (0 to 2), for binary tasks that of one class (0 to 1), which are
    scikit-learn's conventions.

    Args:
        label: ``(N,)`` class numbers.
        prob: ``(N, K)`` probabilities.
        task: Anything but multi-label.
    """
    item = np.arange(len(label))
    nll = -np.log(np.maximum(prob[item, label], SMALLEST))
    truth = np.zeros_like(prob)
    truth[item, label] = 1
    squared = (prob - truth) ** 2
    brier = squared[:, -1] if task == "binary" else squared.sum(axis=1)
    return _means(["nll", "brier"], [np.ones(len(label)), nll, brier])


def _means(names: list[str], features: list[Array]) -> Sums:
    def finish(sums: Array) -> dict[str, Array]:
        return {name: ratio(total, sums[0]) for name, total in zip(names, sums[1:], strict=True)}

    return Sums(rows(features), finish)


def top_label(
    label: NDArray[np.int64], prob: Array, task: Task, ranks_by: Array | None = None
) -> tuple[Array, Array]:
    """Confidence ``(N,)`` in the predicted class, and whether it is correct (1 or 0).

    The confidence is its probability, or what else is given to order items by.
    """
    decision = decide(prob, task)
    confidence = prob if ranks_by is None else ranks_by
    return confidence[np.arange(len(prob)), decision], (decision == label).astype(np.float64)


def calibration_error(name: str, confidence: Array, outcome: Array, bins: int) -> Sums:
    """Calibration error: mean distance between confidence and outcome, bin by bin.

    Args:
        name: Name of the metric.
        confidence: ``(N,)`` probabilities; NaN where `outcome` is not known.
        outcome: ``(N,)`` of 1, 0 and NaN (left out).
        bins: Number of equal-width bins.
    """
    n = len(outcome)
    item = np.flatnonzero(~np.isnan(outcome))
    gap = confidence[item] - outcome[item]
    binned = csr_array((gap, (bin_of(confidence[item], bins), item)), shape=(bins, n))
    known = rows([~np.isnan(outcome)])

    def finish(sums: Array) -> dict[str, Array]:
        return {name: ratio(np.abs(sums[:-1]).sum(axis=0), sums[-1])}

    return Sums(csr_array(vstack([binned, known])), finish)


def label_probability_sums(label: Array, prob: Array) -> Sums:
    """``nll`` and ``brier`` of multi-label tasks: per label, then the mean over labels.

    Args:
        label: ``(N, L)`` of 0, 1 and NaN (left out).
        prob: ``(N, L)`` probabilities.
    """
    known = ~np.isnan(label)
    truth = np.where(known, label, 0.0)
    right = np.where(truth == 1, prob, 1 - prob)
    nll = np.where(known, -np.log(np.maximum(right, SMALLEST)), 0.0)
    brier = np.where(known, (prob - truth) ** 2, 0.0)

    def finish(sums: Array) -> dict[str, Array]:
        n, loss, squared = np.split(sums, 3)
        return {"nll": mean_defined(ratio(loss, n)), "brier": mean_defined(ratio(squared, n))}

    return Sums(rows(np.concatenate([known.T.astype(np.float64), nll.T, brier.T])), finish)


def label_calibration_error(label: Array, prob: Array, bins: int) -> Sums:
    """``ece`` of multi-label tasks: per label, then the mean over labels.

    Args:
        label: ``(N, L)`` of 0, 1 and NaN (left out).
        prob: ``(N, L)`` probabilities.
        bins: Number of equal-width bins.
    """
    each = [calibration_error("ece", prob[:, k], label[:, k], bins) for k in range(label.shape[1])]

    def finish(sums: Array) -> dict[str, Array]:
        parts = np.split(sums, len(each))
        found = [one.finish(part)["ece"] for one, part in zip(each, parts, strict=True)]
        return {"ece": mean_defined(np.stack(found))}

    return Sums(csr_array(vstack([one.per_item for one in each])), finish)


def noise_floor(
    confidence: Array, bins: int, samples: int, generator: np.random.Generator
) -> tuple[float, float]:
    """The calibration error of a perfectly calibrated model on as many items: mean and 95% point.

    Outcomes are drawn from the stated probabilities, so whatever error is found is noise.

    Args:
        confidence: ``(N,)`` probabilities, or ``(N, L)`` of labels, whose errors are averaged; NaN
            is left out.
        bins: Number of equal-width bins.
        samples: How often to draw; fewer are drawn from very many items, but at least 100.
        generator: Source of randomness.

    Example:
        >>> mean, most = noise_floor(np.full(240, 0.7), 15, 2000, np.random.default_rng(0))
        >>> 0.02 < mean < 0.03, 0.05 < most < 0.07
        (True, True)
    """
    samples = max(100, min(samples, NOISE_OUTCOMES // max(confidence.size, 1)))
    columns = confidence.reshape(len(confidence), -1).T
    columns = columns[~np.isnan(columns).all(axis=1)]
    errors = np.zeros(samples)
    for column in columns:
        known = column[~np.isnan(column)]
        known = known[np.argsort(bin_of(known, bins), kind="stable")]
        start = np.flatnonzero(np.diff(bin_of(known, bins), prepend=-1))
        for sample in range(samples):
            gap = known - (generator.random(len(known)) < known)
            errors[sample] += np.abs(np.add.reduceat(gap, start)).sum() / len(known)
    errors /= len(columns)
    return float(errors.mean()), float(np.quantile(errors, 0.95))


def reliability(confidence: Array, outcome: Array, bins: int) -> dict[str, list[Any]]:
    """What a reliability plot shows: per bin the count, mean confidence and mean outcome.

    Args:
        confidence: Probabilities, any shape.
        outcome: 1, 0 and NaN (left out), of the same shape.
        bins: Number of equal-width bins.

    Returns:
        ``count``, ``confidence`` and ``accuracy``, one entry per bin; the latter two are None
        in empty bins.
    """
    known = ~np.isnan(outcome)
    conf, hit = confidence[known], outcome[known]
    number = bin_of(conf, bins)
    count = np.bincount(number, minlength=bins)

    def means(values: Array) -> list[float | None]:
        total = np.bincount(number, weights=values, minlength=bins)
        return [float(t / c) if c else None for t, c in zip(total, count, strict=True)]

    return {"count": count.tolist(), "confidence": means(conf), "accuracy": means(hit)}
