"""What a metric is computed from: labels and probabilities, and the settings of some metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array
from medldr.types import Task

if TYPE_CHECKING:
    from medldr.evaluation.metrics.shots import Shots


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

    @property
    def number(self) -> NDArray[np.int64]:
        """Class numbers; not for multi-label."""
        return self.label.astype(np.int64)

    @property
    def known(self) -> Array:
        """Multi-label entries of 0, 1 and NaN."""
        return self.label.astype(np.float64)
