"""What a metric is computed from: labels and probabilities, and the settings of some metrics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array
from medldr.types import Task

BUCKETS = ("many", "medium", "few")
"""Names of the groups of classes, the most frequent first."""


@dataclass(frozen=True)
class Shots:
    """How frequent each class is among the training images, and where the limits lie.

    Attributes:
        counts: Training images of each class.
        many: A class with more than this is in ``many``.
        few: A class with fewer than this is in ``few``.
    """

    counts: tuple[int, ...]
    many: int = 100
    few: int = 20

    def bucket(self, count: int) -> str:
        """The group of a class with so many training images.

        Example:
            >>> [Shots(()).bucket(count) for count in (101, 100, 20, 19)]
            ['many', 'medium', 'medium', 'few']
        """
        if count > self.many:
            return "many"
        return "few" if count < self.few else "medium"

    def members(self, bucket: str) -> list[int]:
        """Numbers of the classes of a group.

        Example:
            >>> Shots((500, 60, 5)).members("medium")
            [1]
        """
        return [k for k, count in enumerate(self.counts) if self.bucket(count) == bucket]


@dataclass(frozen=True)
class Items:
    """Items to be scored together, the argument of every function named in `medldr.metrics`.

    Attributes:
        label: ``(N,)`` class numbers, or multi-label ``(N, L)`` of 0, 1 and NaN (missing).
        prob: ``(N, K)`` probabilities, all finite.
        task: Kind of labels.
        bins: Bins of the calibration error.
        positive: Column of the positive class; binary only.
        threshold: Probability above which the positive class is predicted; binary only.
        drawn: That threshold in every bootstrap draw; None: the same in all.
        decision: Whether each item is called positive, in place of a threshold; binary only.
        prevalence: Stated share of positives, for predictive values; binary only.
        shots: How many training images each class has; None where that is not asked for.
        ranks_by: ``(N, K)`` what orders items, such as log-odds; unset: the probabilities.
    """

    label: NDArray[np.int64] | Array
    prob: Array
    task: Task
    bins: int = 15
    positive: int = 1
    threshold: float | None = None
    drawn: Array | None = None
    decision: NDArray[np.bool_] | None = None
    prevalence: float | None = None
    shots: Shots | None = None
    ranks_by: Array | None = None

    @property
    def order(self) -> Array:
        """``(N, K)`` what metrics of ranks compare."""
        return self.prob if self.ranks_by is None else self.ranks_by

    @property
    def number(self) -> NDArray[np.int64]:
        """Class numbers; not for multi-label."""
        return self.label.astype(np.int64)

    @property
    def known(self) -> Array:
        """Multi-label entries of 0, 1 and NaN."""
        return self.label.astype(np.float64)
