"""The threshold of the operating point in every bootstrap draw of the validation split."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from medldr.evaluation import intervals
from medldr.evaluation.metrics.operating_point import OperatingPoint
from medldr.evaluation.metrics.sums import Array
from medldr.types import Predictions


def thresholds_of(
    predictions: Mapping[str, Predictions],
    point: OperatingPoint,
    positive: int,
    draws: int,
    seed: int,
) -> Array | None:
    """The threshold in every bootstrap draw of the validation split.

    These are the draws in which that split itself is scored, and they are independent of those of
    any other split.

    Args:
        predictions: Tables by split.
        point: The threshold.
        positive: Column of the positive class.
        draws: Number of draws.
        seed: Their seed.

    Returns:
        ``(draws,)``, NaN in draws without negatives; None where there is no threshold.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = np.linspace(0.01, 0.5, 50)
        >>> table = predictions_of("binary", [0] * 50, np.stack([1 - prob, prob], 1))
        >>> point = OperatingPoint(0.9, threshold=0.45, split="val")
        >>> drawn = thresholds_of({"val": table}, point, 1, 200, 0)
        >>> bool(0.4 < drawn.mean() < 0.47), bool(0.01 < drawn.std() < 0.05)
        (True, True)
    """
    if point.threshold is None or point.split is None:
        return None
    table = predictions[point.split]
    scores, negative = table.prob[:, positive], table.label.astype(np.int64) != positive
    order = np.flatnonzero(negative)[np.argsort(scores[negative], kind="stable")]
    units, found = intervals.units(table), []
    stream = intervals.stream(seed, point.split)
    for weights in intervals.group_weights(units.count, draws, stream, len(order)):
        below = np.cumsum(weights[units.number[order]], axis=0)
        needed = np.maximum(np.ceil(point.specificity * below[-1] - 1e-9), 1.0)
        threshold = scores[order][np.argmax(below >= needed, axis=0)]
        found.append(np.where(below[-1] > 0, threshold, np.nan))
    return np.concatenate(found)
