"""Which images linear probes see, in which order, and in which folds: groups stay whole."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.frame import Options
from medldr.folders.latents_record import Latents


def not_trained_on(latents: Latents) -> Latents:
    """The images that training has not used; all, where these lack a class or a domain of them.

    A network may know its training images by heart, and then tells them better than new ones.
    """
    new = latents.split != "train"
    for column in (latents.label, latents.domain):
        for name in np.unique(column) if column.ndim == 1 else ():
            if len(np.unique(latents.units[new & (column == name)])) < 2:
                return latents
    return latents.select(new)


def in_order(latents: Latents) -> Latents:
    """By rows of the dataset's table, with groups numbered in that order.

    Runs that hold out other domains keep the same images in another order; they can be compared
    only if the same images are drawn, dealt into folds and drawn again for intervals.
    """
    latents = latents.select(np.argsort(latents.row, kind="stable"))
    known, place, number = np.unique(latents.group, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(place[known >= 0]))
    return replace(latents, group=np.concatenate([np.full((known < 0).sum(), -1), rank])[number])


def sampled(latents: Latents, options: Options) -> Latents:
    """At most ``options.items`` rows, evenly from every class in every domain."""
    if len(latents) <= options.items:
        return latents
    order = np.random.default_rng(options.seed).permutation(len(latents))
    labels = np.zeros(len(order)) if latents.spec.multi_label else latents.label[order]
    order = order[np.lexsort((labels, latents.domain[order]))]
    places = np.arange(options.items) * len(order) // options.items
    return latents.select(np.sort(order[places]))


Rows: TypeAlias = NDArray[np.int64]
Folds: TypeAlias = Sequence[tuple[Rows, Rows]]
MOST_STEPS = 1_000
"""Steps of a fit; more have never been seen to change a prediction."""


def folds_apart(truth: Rows, group: Rows, folds: int, seed: int = 0) -> list[tuple[Rows, Rows]]:
    """Cut rows into folds that keep groups whole and classes even, as many as can be fitted.

    Args:
        truth: ``(N,)`` class numbers from 0, all of which occur.
        group: ``(N,)`` number of each row's group.
        folds: The most; fewer where some class would be missing from the training of a fold.
        seed: Of the order in which groups are dealt out.

    Returns:
        Rows of training and of test of each fold; empty where no two folds can be made.

    Example:
        >>> truth = np.array([0, 0, 1, 1])
        >>> [test.tolist() for _, test in folds_apart(truth, np.array([0, 1, 2, 3]), 5)]
        [[1, 2], [0, 3]]
    """
    from sklearn.model_selection import StratifiedGroupKFold

    classes = len(np.unique(truth))
    for number in range(min(folds, len(np.unique(group))), 1, -1):
        if number > np.bincount(truth).max():
            continue
        splitter = StratifiedGroupKFold(number, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # It warns of a class with fewer rows than folds, which is looked at below.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            found = list(splitter.split(np.zeros(len(truth)), truth, group))
        if all(len(test) and len(np.unique(truth[fit])) == classes for fit, test in found):
            return found
    return []


def predict_apart(x: Array, truth: Rows, folds: Folds, c: float) -> tuple[Rows, int]:
    """Predict every row by a logistic regression on standardised features of the other folds.

    Args:
        x: ``(N, D)`` finite features.
        truth: ``(N,)`` class numbers.
        folds: From `folds_apart`.
        c: Inverse strength of the penalty.

    Returns:
        ``(N,)`` predicted class numbers, and the number of fits that did not converge.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regression = LogisticRegression(C=c, class_weight="balanced", max_iter=MOST_STEPS)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ConvergenceWarning)
        predicted = cross_val_predict(
            make_pipeline(StandardScaler(), regression), x, truth, cv=folds
        )
    unfinished = sum(issubclass(each.category, ConvergenceWarning) for each in heard)
    return predicted.astype(np.int64), unfinished
