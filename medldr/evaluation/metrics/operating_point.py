"""What a binary test achieves at the threshold that reaches a specificity on validation.

Each label of a multi-label task is a test of its own, on the items where it is known.

Another validation split would give another threshold. So each bootstrap draw has its own, from a
draw of the validation split, and the intervals of what is measured at it count both splits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, one_hot, ratio
from medldr.folders.evaluation_parts import OperatingPoint
from medldr.types import Predictions


def find(
    predictions: Mapping[str, Predictions],
    *,
    positive: int,
    specificity: float,
    prevalence: float | None = None,
) -> OperatingPoint:
    """Operating point from ``val``, or from ``id_val`` where there is no ``val``.

    Args:
        predictions: Tables by split; only those of a binary task have a threshold.
        positive: Column of the positive class.
        specificity: Requested specificity.
        prevalence: Stated prevalence, if any.
    """
    if any(table.task != "binary" for table in predictions.values()):
        return OperatingPoint(specificity=specificity)
    point = OperatingPoint(specificity=specificity, prevalence=prevalence)
    split = next((s for s in ("val", "id_val") if s in predictions), None)
    if split is None:
        reason = "no threshold, because no validation split was scored"
        return point.model_copy(update={"reason": reason})
    label, prob = predictions[split].label.astype(np.int64), predictions[split].prob
    threshold, reason = None, f"no threshold, because some outputs on {split} are not finite"
    if np.isfinite(prob).all():
        threshold = threshold_at(label, prob, positive=positive, specificity=specificity)
        reason = f"no threshold, because {split} has no negatives"
    why = reason if threshold is None else None
    return point.model_copy(update={"threshold": threshold, "split": split, "reason": why})


def find_each(
    predictions: Mapping[str, Predictions], specificity: float
) -> dict[str, OperatingPoint]:
    """An operating point for each label of a multi-label task; empty for any other task.

    Args:
        predictions: Tables by split.
        specificity: Requested specificity, of each label.

    Returns:
        By label. One that is never present, or never absent, on validation has no threshold.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> label, prob = [[0, 0], [0, 0], [1, 0]], [[0.1, 0.2], [0.3, 0.2], [0.4, 0.2]]
        >>> table = predictions_of("multi-label", label, prob, class_names=["edema", "nodule"])
        >>> found = find_each({"val": table}, 0.9)
        >>> found["edema"].threshold, found["nodule"].reason
        (0.3, 'no threshold, because val has no positives')
    """
    points: dict[str, OperatingPoint] = {}
    first = next(iter(predictions.values()))
    for column, name in enumerate(first.class_names if first.task == "multi-label" else ()):
        tables = {split: of_label(table, column) for split, table in predictions.items()}
        point = find(tables, positive=1, specificity=specificity)
        if point.threshold is not None and not tables[str(point.split)].label.any():
            reason = f"no threshold, because {point.split} has no positives"
            point = point.model_copy(update={"threshold": None, "reason": reason})
        points[name] = point
    return points


def of_label(table: Predictions, column: int) -> Predictions:
    """One label of a multi-label table as a binary task, of the items where it is known.

    Args:
        table: Several labels per item.
        column: Number of the label, which becomes the second of two classes.
    """
    part = table.select(~np.isnan(table.label[:, column]))
    number, present = part.label[:, column].astype(np.int64), part.prob[:, column]
    prob, names = np.stack([1 - present, present], axis=1), ("absent", "present")
    called = None if part.decision is None else part.decision[:, column]
    odds = None if part.log_odds is None else part.log_odds[:, [column, column]] * [-1.0, 1.0]
    part = replace(part, task="binary", class_names=names, label=number, prob=prob)
    return replace(part, decision=called, log_odds=odds)


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


@dataclass(frozen=True)
class PointSums(Sums):
    """Sums by level of the score, where levels are divided by all thresholds that were drawn.

    Attributes:
        thresholds: ``(T,)`` every threshold, ascending.
        of_draw: ``(draws,)`` number of each draw's threshold; -1 where it has none. Empty: all have
            that of the value.
        fixed: Number of the threshold of the value.
    """

    thresholds: Array
    of_draw: NDArray[np.int64]
    fixed: int

    def draw(self, weights: Array, start: int = 0) -> dict[str, Array]:
        """Metrics ``(b,)``, each draw at its own threshold."""
        count = weights.shape[1]
        own = self.of_draw[start : start + count]
        return self._at(weights, own if len(self.of_draw) else np.full(count, self.fixed))

    def value(self) -> dict[str, float]:
        """Metrics at the threshold that the validation split gave."""
        ones = np.ones((self.per_item.shape[1], 1))
        found = self._at(ones, np.array([self.fixed]))
        return {name: float(value[0]) for name, value in found.items()}

    def _at(self, weights: Array, chosen: NDArray[np.int64]) -> dict[str, Array]:
        levels = np.asarray(self.per_item @ weights).reshape(2, -1, weights.shape[1])
        up_to = np.cumsum(levels, axis=1)  # at or below each threshold, at last all
        draw = np.arange(weights.shape[1])
        below = np.where(chosen >= 0, up_to[:, chosen, draw], np.nan)
        missed, spared = below
        positives, negatives = up_to[:, -1]
        return self.finish(np.stack([positives, positives - missed, negatives, spared]))


def at_point(items: Items) -> Sums:
    """Sensitivity, specificity, predictive values and likelihood ratios at the threshold.

    Raises:
        ValueError: If there is neither a threshold nor decisions that were made at several.
    """
    threshold, drawn, score = items.threshold, items.drawn, items.prob[:, items.positive]
    if items.decision is not None:
        threshold, drawn, score = 0.5, None, items.decision.astype(np.float64)
    if threshold is None:
        raise ValueError("these metrics need a threshold from other items")
    truth = items.number == items.positive
    every = np.array([threshold]) if drawn is None else drawn[~np.isnan(drawn)]
    thresholds = np.unique(np.append(every, threshold))
    level = np.searchsorted(thresholds, score, side="left")  # thresholds that the score is above
    size = len(thresholds) + 1
    per_item = one_hot(np.where(truth, level, size + level).astype(np.int64), 2 * size)
    fixed = int(np.searchsorted(thresholds, threshold))
    of_draw = np.empty(0, np.int64)
    if drawn is not None:
        place = np.searchsorted(thresholds, np.nan_to_num(drawn, nan=threshold))
        of_draw = np.where(np.isnan(drawn), -1, place).astype(np.int64)
    rates = partial(_rates, prevalence=items.prevalence)
    return PointSums(per_item, rates, thresholds, of_draw, fixed)


def _rates(sums: Array, prevalence: float | None) -> dict[str, Array]:
    n_positive, found, n_negative, spared = sums
    missed, alarms = n_positive - found, n_negative - spared
    sensitivity, specificity = ratio(found, n_positive), ratio(spared, n_negative)
    out = {
        "sensitivity_at_specificity": sensitivity,
        "specificity_at_threshold": specificity,
        "ppv": ratio(found, found + alarms),
        "npv": ratio(spared, spared + missed),
        "lr_positive": ratio(found * n_negative, alarms * n_positive),
        "lr_negative": ratio(missed * n_negative, spared * n_positive),
    }
    if prevalence is not None:
        out["ppv_at_prevalence"], out["npv_at_prevalence"] = predictive_values(
            sensitivity, specificity, prevalence
        )
    return out


def predictive_values(
    sensitivity: Array, specificity: Array, prevalence: float
) -> tuple[Array, Array]:
    """PPV and NPV by Bayes' rule; NaN where nothing is called positive, or negative.

    Args:
        sensitivity: Of each draw, ``(b,)``.
        specificity: Of each draw, ``(b,)``.
        prevalence: Share of positives, above 0 and below 1.

    Example:
        >>> ppv, npv = predictive_values(np.array([0.9]), np.array([0.9]), 0.1)
        >>> ppv.round(4).tolist(), npv.round(4).tolist()
        ([0.5], [0.9878])
    """
    found, missed = prevalence * sensitivity, prevalence * (1 - sensitivity)
    spared, alarms = (1 - prevalence) * specificity, (1 - prevalence) * (1 - specificity)
    return ratio(found, found + alarms), ratio(spared, spared + missed)


def decisions(truth: NDArray[np.bool_], called: NDArray[np.bool_]) -> dict[str, int]:
    """Counts of right and wrong decisions.

    Args:
        truth: ``(N,)`` which items are positive.
        called: ``(N,)`` which are called positive.

    Example:
        >>> found = decisions(np.array([False, False, True]), np.array([True, False, True]))
        >>> found["true_positives"], found["false_positives"], found["true_negatives"]
        (1, 1, 1)
    """
    return {
        "true_positives": int((truth & called).sum()),
        "false_negatives": int((truth & ~called).sum()),
        "false_positives": int((~truth & called).sum()),
        "true_negatives": int((~truth & ~called).sum()),
    }
