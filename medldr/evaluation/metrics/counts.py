"""Metrics of decisions: how often the predicted class is correct, overall and class by class.

Decisions follow the MedMNIST evaluator: the largest probability (multi-class and ordinal), last
column above 0.5 (binary), each column above 0.5 (multi-label), always strictly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import vstack

from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import (
    Array,
    Sums,
    mean_defined,
    name_each,
    one_hot,
    ratio,
    rows,
)
from medldr.types import Task


def decide(prob: Array, task: Task) -> NDArray[np.int64]:
    """Decisions ``(N,)`` (class numbers) or, for multi-label, ``(N, L)`` (0 or 1).

    Example:
        >>> decide(np.array([[0.5, 0.5], [0.4, 0.6]]), "binary")
        array([0, 1])

    Source:
        MedMNIST's evaluator: a binary probability of exactly 0.5 is class 0; ties between classes
        go to the first.
    """
    if task == "multi-label":
        return (prob > 0.5).astype(np.int64)
    if task == "binary":
        return (prob[:, -1] > 0.5).astype(np.int64)
    largest: NDArray[np.int64] = np.argmax(prob, axis=1).astype(np.int64)
    return largest


def decided(prob: Array, task: Task) -> NDArray[np.bool_]:
    """``(N, K)``: whether an item is decided to be of a class, or to have a label.

    Example:
        >>> decided(np.array([[0.2, 0.8]]), "binary").tolist()
        [[False, True]]
    """
    decision = decide(prob, task)
    if task == "multi-label":
        return np.asarray(decision == 1)
    return np.asarray(decision[:, None] == np.arange(prob.shape[1]))


def decisions(items: Items) -> Sums:
    """Every metric of decisions, of any task."""
    if items.task == "multi-label":
        return label_counts(items.known, items.prob)
    return class_counts(items.number, items.prob, items.task, items.positive)


def class_counts(label: NDArray[np.int64], prob: Array, task: Task, positive: int) -> Sums:
    """Accuracy, balanced accuracy, macro F1, MCC and per-class recall, precision and F1.

    Balanced accuracy is the mean recall of the classes that occur in the labels; macro F1 is the
    mean over the classes that occur in the labels or among the decisions (as in scikit-learn);
    declaring more classes changes neither. For binary tasks also ``sensitivity`` (recall of
    the positive class) and ``specificity`` (recall of the other).

    Args:
        label: ``(N,)`` class numbers.
        prob: ``(N, K)`` probabilities.
        task: Anything but multi-label.
        positive: Column of the positive class; binary only.
    """
    classes = prob.shape[1]
    decision = decide(prob, task)
    hit = np.where(decision == label, label, -1)
    per_item = vstack([one_hot(column, classes) for column in (label, decision, hit)])

    def finish(sums: Array) -> dict[str, Array]:
        true, decided, right = np.split(sums, 3)
        recall, f1 = ratio(right, true), ratio(2 * right, true + decided)
        out = {
            "accuracy": ratio(right.sum(axis=0), true.sum(axis=0)),
            "balanced_accuracy": mean_defined(recall),
            "macro_f1": mean_defined(f1),
            "mcc": _matthews(true, decided, right),
            **name_each("class/{}/recall", recall),
            **name_each("class/{}/precision", ratio(right, decided)),
            **name_each("class/{}/f1", f1),
        }
        if task == "binary":
            out["sensitivity"], out["specificity"] = recall[positive], recall[1 - positive]
        return out

    return Sums(per_item, finish)


def _matthews(true: Array, decided: Array, right: Array) -> Array:
    """Matthews correlation from counts per class ``(K, b)``.

    Source:
        Gorodkin 2004 (``R_K``); equals scikit-learn's ``matthews_corrcoef`` where that is not 0/0.
    """
    n = true.sum(axis=0)
    shared = right.sum(axis=0) * n - (true * decided).sum(axis=0)
    spread = (n**2 - (true**2).sum(axis=0)) * (n**2 - (decided**2).sum(axis=0))
    return ratio(shared, np.sqrt(spread))


def label_counts(label: Array, prob: Array) -> Sums:
    """The same for multi-label tasks: each label by itself, then the mean over labels.

    ``accuracy`` is the mean over labels of the share of correct decisions (MedMNIST's ACC);
    ``exact_match`` is the share of items with every known label decided correctly, among the items
    with at least one known label. Missing labels (NaN) are ignored throughout.

    Args:
        label: ``(N, L)`` of 0, 1 and NaN.
        prob: ``(N, L)`` probabilities.
    """
    known = ~np.isnan(label)
    true = known & (label == 1)
    decided = known & (prob > 0.5)
    right = known & (true == decided)
    any_known: NDArray[np.bool_] = np.any(known, axis=1)
    exact = any_known & (right | ~known).all(axis=1)
    blocks = [known.T, true.T, decided.T, (true & decided).T, right.T]
    per_item = vstack([*(rows(block) for block in blocks), rows([any_known, exact])])

    def finish(sums: Array) -> dict[str, Array]:
        n, positives, flagged, found, correct = np.split(sums[:-2], 5)
        sensitivity = ratio(found, positives)
        specificity = ratio(n - positives - flagged + found, n - positives)
        f1 = ratio(2 * found, positives + flagged)
        return {
            "accuracy": mean_defined(ratio(correct, n)),
            "balanced_accuracy": mean_defined((sensitivity + specificity) / 2),
            "macro_f1": mean_defined(f1),
            "exact_match": ratio(sums[-1], sums[-2]),
            **name_each("class/{}/recall", sensitivity),
            **name_each("class/{}/precision", ratio(found, flagged)),
            **name_each("class/{}/f1", f1),
        }

    return Sums(per_item, finish)


def confusion(label: NDArray[np.int64] | Array, prob: Array, task: Task) -> NDArray[np.int64]:
    """Counts ``(K, K)``, row = truth, column = decision; multi-label ``(L, 2, 2)``.

    Example:
        >>> prob = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
        >>> confusion(np.array([0, 0, 1]), prob, "binary").tolist()
        [[1, 1], [0, 1]]
    """
    decision = decide(prob, task)
    if task != "multi-label":
        return _table(label.astype(np.int64), decision, prob.shape[1])
    known = ~np.isnan(label)
    tables = [
        _table(label[rows, k].astype(np.int64), decision[rows, k], 2)
        for k, rows in enumerate(known.T)
    ]
    return np.stack(tables)


def _table(label: NDArray[np.int64], decision: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    flat = np.bincount(label * n + decision, minlength=n * n)
    return flat.reshape(n, n).astype(np.int64)


class Degenerate(NamedTuple):
    """What is wrong with the predictions of a run on a split.

    Attributes:
        only: The class that is predicted for every item, though others occur; empty if there are
            several.
        lost: Classes (labels) with items of which none is recognised, and how many these are.
    """

    only: str = ""
    lost: tuple[tuple[str, int], ...] = ()


def degenerate(confusion: ArrayLike | None, names: Sequence[str]) -> Degenerate | None:
    """Look at a confusion matrix; None where nothing is wrong, or there is none.

    Args:
        confusion: ``(K, K)`` counts, rows are the truth; ``(L, 2, 2)`` for several labels per item.
        names: Names of the classes, or labels.

    Example:
        >>> degenerate([[5, 0], [3, 0]], ["normal", "tumour"])
        Degenerate(only='normal', lost=(('tumour', 3),))
        >>> degenerate([[5, 0, 0], [0, 4, 0], [1, 2, 0]], ["a", "b", "c"])
        Degenerate(only='', lost=(('c', 3),))
        >>> degenerate([[5, 0], [2, 1]], ["normal", "tumour"])
    """
    if confusion is None:
        return None
    counts = np.asarray(confusion)
    labels = counts.ndim == 3
    items, right = (
        (counts[:, 1].sum(axis=1), counts[:, 1, 1])
        if labels
        else (counts.sum(axis=1), np.diagonal(counts))
    )
    found = zip(names, items.tolist(), right.tolist(), strict=True)
    lost = tuple((name, n) for name, n, hit in found if n and not hit)
    if not lost:
        return None
    predicted = [] if labels else np.flatnonzero(counts.sum(axis=0)).tolist()
    return Degenerate(names[predicted[0]] if len(predicted) == 1 else "", lost)
