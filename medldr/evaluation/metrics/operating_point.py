"""Sensitivity at a requested specificity, with the threshold taken from the validation split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, ratio, rows
from medldr.types import Predictions


@dataclass(frozen=True)
class OperatingPoint:
    """The decision threshold of a binary task.

    Attributes:
        specificity: The requested one.
        threshold: Items strictly above it are called positive; None where there is none.
        split: The split it comes from.
        reason: Why there is no threshold.
    """

    specificity: float
    threshold: float | None = None
    split: str | None = None
    reason: str | None = None


def find(
    predictions: Mapping[str, Predictions], *, positive: int, specificity: float
) -> OperatingPoint:
    """Operating point from ``val``, or from ``id_val`` where there is no ``val``.

    Args:
        predictions: Tables by split, of a binary task.
        positive: Column of the positive class.
        specificity: Requested specificity.
    """
    split = next((s for s in ("val", "id_val") if s in predictions), None)
    if split is None:
        absent = "no threshold, because no validation split was scored"
        return OperatingPoint(specificity, reason=absent)
    label, prob = predictions[split].label.astype(np.int64), predictions[split].prob
    if not np.isfinite(prob).all():
        broken = f"no threshold, because some outputs on {split} are not finite"
        return OperatingPoint(specificity, split=split, reason=broken)
    threshold = threshold_at(label, prob, positive=positive, specificity=specificity)
    why = None if threshold is not None else f"no threshold, because {split} has no negatives"
    return OperatingPoint(specificity, threshold, split, why)


def threshold_at(
    label: NDArray[np.int64], prob: Array, *, positive: int, specificity: float
) -> float | None:
    """Lowest threshold at which these items have at least this specificity.

    Args:
        label: ``(N,)`` of 0 and 1.
        prob: ``(N, 2)``.
        positive: Column of the positive class.
        specificity: Requested share of negatives at or below the threshold.

    Returns:
        The threshold, or None without negatives.

    Example:
        >>> p = np.array([0.1, 0.2, 0.3, 0.6, 0.9])
        >>> label = np.array([0, 0, 0, 0, 1])
        >>> threshold_at(label, np.stack([1 - p, p], 1), positive=1, specificity=0.75)
        0.3
    """
    negative = np.sort(prob[label != positive, positive])
    if not len(negative):
        return None
    needed = ceil(specificity * len(negative) - 1e-9)  # 0.7 * 10 is 7.000000000000001
    return float(negative[max(needed, 1) - 1])


def at_point(items: Items) -> Sums:
    """The metrics that need a threshold.

    Raises:
        ValueError: If there is none.
    """
    if items.threshold is None:
        raise ValueError("these metrics need a threshold from other items")
    return at_threshold(
        items.number, items.prob, positive=items.positive, threshold=items.threshold
    )


def at_threshold(label: NDArray[np.int64], prob: Array, *, positive: int, threshold: float) -> Sums:
    """``sensitivity_at_specificity`` and the ``specificity_at_threshold`` reached here.

    The threshold is a constant: draws resample the items being scored, not those it came from.

    Args:
        label: ``(N,)`` of 0 and 1.
        prob: ``(N, 2)``.
        positive: Column of the positive class.
        threshold: From `threshold_at`, on other items.
    """
    truth, called = label == positive, prob[:, positive] > threshold

    def finish(sums: Array) -> dict[str, Array]:
        n_positive, found, n_negative, spared = sums
        return {
            "sensitivity_at_specificity": ratio(found, n_positive),
            "specificity_at_threshold": ratio(spared, n_negative),
        }

    return Sums(rows([truth, truth & called, ~truth, ~truth & ~called]), finish)
